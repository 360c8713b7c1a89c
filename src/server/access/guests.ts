import { BoundedCache } from "../../kernel/base/bounded-cache.ts";
import { compileSchema, type Validator } from "../../kernel/base/schema/schema.ts";
import { describeViolations } from "../../kernel/base/schema/violation.ts";
import { Account } from "./account.ts";
import type { Caller, Role } from "./caller.ts";
import { CALLER_SCHEMA, type CallerGrant, type KeyGrant } from "./key-options.ts";

/** Maximum number of usage accounts; beyond it, the one not used for the longest time restarts. */
const ACCOUNTS_MAX = 10_000;
/** Maximum number of names in metrics and the log: the same as that of keys. */
const NAMES_MAX = 1_000;
const NAME_SHOWN_MAX = 64;
const UNNAMED = "unnamed";
const OTHERS = "other";

/** A caller that an application has authenticated itself, or the holder of a token, with its grant and its usage account. */
export class Guest implements Caller {
  readonly key: string;
  readonly tenant: string | null;
  readonly roles: ReadonlySet<Role>;
  readonly grant: KeyGrant;
  readonly account: Account;
  /** Registrant of the tools that it registers. */
  readonly registrant: string;
  /** Expiry of its admission. */
  readonly expiresMs: number;

  constructor(grant: KeyGrant, account: Account, registrant: string, expiresMs: number) {
    this.key = grant.name;
    this.tenant = grant.tenant;
    this.roles = new Set(grant.roles);
    this.grant = grant;
    this.account = account;
    this.registrant = registrant;
    this.expiresMs = expiresMs;
  }

  /** Identifies the users of an opened resource: the same caller with the same grant. */
  get identity(): string {
    return JSON.stringify([this.registrant, this.grant]);
  }
}

/** The registrant of tools from callers without a key, if administration is open. */
const LOCAL = "local";

/** Registrant of a caller's tools. */
export function registrantOf(caller: Caller): string {
  if (caller instanceof Guest) return caller.registrant;
  const { key } = caller;
  return key === null ? LOCAL : `key:${key}`;
}

let compiled: Validator | undefined;

/** The callers of an application, as it describes them, and holders of tokens. */
export class Guests {
  /** Least recently used first. */
  readonly #accounts = new BoundedCache<Account>(ACCOUNTS_MAX);
  readonly #names = new Set<string>();

  /** Throws a `TypeError` that describes the mistake in a grant. */
  admit(said: unknown, expiresMs = Number.POSITIVE_INFINITY): Guest {
    compiled ??= compileSchema({ properties: { caller: CALLER_SCHEMA }, required: ["caller"] }, "inputSchema");
    const violations = compiled.check({ caller: said });
    if (violations.length > 0) throw new TypeError(`authenticate: ${describeViolations(violations)}`);
    const { name = UNNAMED, tenant = null, ...rest } = structuredClone(said as CallerGrant);
    const grant = { ...rest, name: this.#shown(name), tenant };
    return new Guest(grant, this.#accountOf(name, grant), `caller:${JSON.stringify([tenant, name])}`, expiresMs);
  }

  #accountOf(name: string, grant: KeyGrant): Account {
    const { tenant, rate, quota } = grant;
    const id = JSON.stringify([tenant, name, rate, quota]);
    const account = this.#accounts.get(id) ?? new Account(grant);
    if (rate === undefined && quota === undefined) return account;
    this.#accounts.set(id, account);
    return account;
  }

  /** A name as metrics and the log have it: an application's callers may be any number, labels may not. */
  #shown(name: string): string {
    const shown = name.slice(0, NAME_SHOWN_MAX);
    if (this.#names.has(shown)) return shown;
    if (this.#names.size >= NAMES_MAX) return OTHERS;
    this.#names.add(shown);
    return shown;
  }
}
