import { isDeepStrictEqual } from "node:util";
import { Account } from "./account.ts";
import type { KeyGrant } from "./key-options.ts";
import type { Keys } from "./keys.ts";

/** A key's grant and its usage account. */
export interface Holder {
  readonly grant: KeyGrant;
  readonly account: Account;
}

/** The holders of a server's keys, as the keys are now. */
export class Holders {
  readonly #keys: Keys;
  /** Grants from which `#holders` was built; compared by identity to detect a reload of the keys. */
  #grants: ReadonlyMap<string, KeyGrant> | null = null;
  #holders: ReadonlyMap<string, Holder> = new Map();

  constructor(keys: Keys) {
    this.#keys = keys;
  }

  /** The holder of the key with this name; `undefined` if it was removed. */
  of(key: string): Holder | undefined {
    const { grants } = this.#keys;
    if (grants !== this.#grants) {
      const former = this.#holders;
      this.#holders = new Map([...grants].map(([name, grant]) => [name, hold(grant, former.get(name))]));
      this.#grants = grants;
    }
    return this.#holders.get(key);
  }
}

/** Keeps the former usage account if the key's rate and quota are unchanged. */
function hold(grant: KeyGrant, former: Holder | undefined): Holder {
  const isSame = isDeepStrictEqual([grant.rate, grant.quota], [former?.grant.rate, former?.grant.quota]);
  return { grant, account: former !== undefined && isSame ? former.account : new Account(grant) };
}
