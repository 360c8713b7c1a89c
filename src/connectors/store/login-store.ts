import { StoreError } from "../../kernel/base/errors.ts";
import type { Seal } from "../../kernel/store/seal.ts";
import type { LoginClaim, LoginHolder, LoginStoreOptions, LoginTable, StoredLogin } from "./login-table.ts";

/** Texts of a table, sealed for their keys. */
export class LoginStore {
  readonly #table: LoginTable;
  readonly #seal: Seal;

  constructor(table: LoginTable, seal: Seal) {
    this.#table = table;
    this.#seal = seal;
  }

  async read(key: string): Promise<StoredLogin | null> {
    return this.#open(key, await this.#table.read(key));
  }

  async claim(key: string, owner: string, leaseMs: number): Promise<LoginClaim> {
    const { isHeld, version, login } = await this.#table.claim(key, owner, leaseMs);
    try {
      return { isHeld, version, login: this.#open(key, login) };
    } catch (error) {
      if (isHeld) await this.#table.release(key, owner);
      throw error;
    }
  }

  extend(key: string, owner: string, leaseMs: number): Promise<boolean> {
    return this.#table.extend(key, owner, leaseMs);
  }

  write(key: string, holder: LoginHolder | null, text: string): Promise<number | null> {
    return this.#table.write(key, holder, this.#seal.close(text, aboutOf(key)));
  }

  remove(key: string): Promise<boolean> {
    return this.#table.remove(key);
  }

  release(key: string, owner: string): Promise<void> {
    return this.#table.release(key, owner);
  }

  close(): Promise<void> {
    return this.#table.close();
  }

  #open(key: string, login: StoredLogin | null): StoredLogin | null {
    if (login === null) return null;
    try {
      return { ...login, text: this.#seal.open(login.text, aboutOf(key)) };
    } catch (error) {
      throw new StoreError("the stored login was sealed with another secret, or was changed", { cause: error });
    }
  }
}

function aboutOf(key: string): string {
  return `glovebox login ${key}`;
}

/** Opens a store when it is first used: most engines have none. */
export async function openLoginStore(options: LoginStoreOptions): Promise<LoginStore> {
  const { Seal: Sealing } = await import("../../kernel/store/seal.ts");
  if (options.kind === "redis") {
    const { RedisLogins } = await import("./redis-logins.ts");
    return new LoginStore(await RedisLogins.open(options), Sealing.of(options.secret));
  }
  const { SqliteLogins } = await import("./sqlite-logins.ts");
  const { path, secret } = options;
  if (secret !== null) return new LoginStore(new SqliteLogins(path), Sealing.of(secret));
  const { readKey } = await import("./seal-key.ts");
  return new LoginStore(new SqliteLogins(path), Sealing.keyed(readKey(path)));
}
