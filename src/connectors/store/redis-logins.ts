import { prefixOf } from "../../fleet/redis/keys.ts";
import type { RedisConnection } from "../../fleet/redis/connection.ts";
import { Script, ScriptRunner } from "../../fleet/redis/script.ts";
import { importOptional } from "../../kernel/base/optional-package.ts";
import type { LoginClaim, LoginHolder, LoginStoreOptions, LoginTable, StoredLogin } from "./login-table.ts";

/** A login is a hash: `version`, `text`; its claim a separate key, which expires by the clock of Redis. */
const CLAIM = new Script(`
  local owner = redis.call("GET", KEYS[2])
  local held = (not owner or owner == ARGV[1]) and 1 or 0
  if held == 1 then redis.call("SET", KEYS[2], ARGV[1], "PX", ARGV[2]) end
  local login = redis.call("HMGET", KEYS[1], "version", "text")
  return { held, login[1], login[2] }
`);
const EXTEND = new Script(`
  if redis.call("GET", KEYS[1]) ~= ARGV[1] then return 0 end
  return redis.call("PEXPIRE", KEYS[1], ARGV[2])
`);
const READ = new Script(`return redis.call("HMGET", KEYS[1], "version", "text")`);
const WRITE = new Script(`
  if ARGV[1] ~= "" and (redis.call("HGET", KEYS[1], "version") or "0") ~= ARGV[1] then
    -- A script that was sent again, because its reply was lost.
    if redis.call("HGET", KEYS[1], "text") ~= ARGV[2] then return 0 end
    return tonumber(redis.call("HGET", KEYS[1], "version"))
  end
  redis.call("HSET", KEYS[1], "text", ARGV[2])
  redis.call("DEL", KEYS[2])
  return redis.call("HINCRBY", KEYS[1], "version", 1)
`);
const REMOVE = new Script(`
  if redis.call("HDEL", KEYS[1], "text") == 0 then return 0 end
  return redis.call("HINCRBY", KEYS[1], "version", 1)
`);
const RELEASE = new Script(`
  if redis.call("GET", KEYS[1]) ~= ARGV[1] then return 0 end
  return redis.call("DEL", KEYS[1])
`);

/** Logins in Redis, which engines on several machines share. */
export class RedisLogins implements LoginTable {
  readonly #connection: RedisConnection;
  readonly #runner: ScriptRunner;
  readonly #prefix: string;

  private constructor(connection: RedisConnection, fleet: string) {
    this.#connection = connection;
    this.#runner = new ScriptRunner(connection);
    this.#prefix = prefixOf(fleet, "logins");
  }

  /** Begins to connect. Rejects if the optional package is missing. */
  static async open({ url, fleet }: Extract<LoginStoreOptions, { readonly kind: "redis" }>): Promise<RedisLogins> {
    const { RedisConnection: Connection } = await importOptional(
      "a store of logins in Redis",
      ["ioredis"],
      () => import("../../fleet/redis/connection.ts"),
    );
    return new RedisLogins(Connection.open(url, "glovebox-logins"), fleet);
  }

  async read(key: string): Promise<StoredLogin | null> {
    return readLogin(await this.#run(READ, [this.#login(key)], []));
  }

  async claim(key: string, owner: string, leaseMs: number): Promise<LoginClaim> {
    const [held, ...login] = (await this.#run(CLAIM, this.#both(key), [owner, leaseMs])) as readonly unknown[];
    return { isHeld: held === 1, version: Number(login[0] ?? 0), login: readLogin(login) };
  }

  async extend(key: string, owner: string, leaseMs: number): Promise<boolean> {
    return (await this.#run(EXTEND, [this.#lease(key)], [owner, leaseMs])) === 1;
  }

  async write(key: string, holder: LoginHolder | null, text: string): Promise<number | null> {
    // It is sent over the next connection, if this one is lost: no other process has the new refresh token.
    const args = [holder === null ? "" : String(holder.version), text];
    return Number(await this.#runner.run({ script: WRITE, keys: this.#both(key), args, urgency: "later" })) || null;
  }

  async remove(key: string): Promise<boolean> {
    return (await this.#run(REMOVE, [this.#login(key)], [])) !== 0;
  }

  async release(key: string, owner: string): Promise<void> {
    await this.#run(RELEASE, [this.#lease(key)], [owner]);
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  #run(script: Script, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    return this.#runner.run({ script, keys, args, urgency: "again" });
  }

  #both(key: string): readonly string[] {
    return [this.#login(key), this.#lease(key)];
  }

  #login(key: string): string {
    return `${this.#prefix}:${key}`;
  }

  #lease(key: string): string {
    return `${this.#prefix}:lease:${key}`;
  }
}

function readLogin(reply: unknown): StoredLogin | null {
  const [version, text] = reply as readonly unknown[];
  return typeof text === "string" ? { version: Number(version), text } : null;
}
