import { timingSafeEqual } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { notSet, textOfFile } from "../../kernel/base/os/secret-source.ts";
import { compileSchema, type Validator } from "../../kernel/base/schema/schema.ts";
import { describeViolations, unseen, type Violation } from "../../kernel/base/schema/violation.ts";
import type { Caller } from "./caller.ts";
import { type KeyGrant, type KeyOptions, KEYS_SCHEMA, type KeySource } from "./key-options.ts";
import { digestOf, hideKeys, placeOf, readDigest } from "./secret.ts";

interface Known {
  readonly caller: Caller;
  readonly grant: KeyGrant;
  readonly digest: Buffer;
  /** Environment variable from which the key was read. */
  readonly env: string | null;
}

/** Names of the keys that another list of keys adds, changes and removes. */
export interface ChangedKeys {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
}

/** Digest of the key with which each caller was admitted. */
const digests = new WeakMap<Caller, Buffer>();

/** The server's keys. Only their hashes are stored. */
export class Keys {
  #keys: readonly Known[];
  #grants: ReadonlyMap<string, KeyGrant>;

  /**
   * Reads the options, and the variables and files that they name. Throws a `TypeError` that points at the mistake
   * without quoting the value: it may be a key.
   */
  constructor(options: readonly KeyOptions[], environment: NodeJS.ProcessEnv = process.env) {
    this.#keys = readKeys(options, environment, []);
    this.#grants = grantsOf(this.#keys);
  }

  /**
   * Replaces the keys. A removed key admits no new calls; running calls continue. A variable since deleted from the
   * environment keeps its former key. Throws as the constructor does, and if no key remains, as requests would then
   * need none; in both cases the keys stay unchanged. Returns the changes.
   */
  replace(options: readonly KeyOptions[], environment: NodeJS.ProcessEnv = process.env): ChangedKeys {
    if (options.length === 0 && this.size > 0) throw new TypeError("/keys: a server that asks for keys needs one");
    const former = this.#keys;
    this.#keys = readKeys(options, environment, former);
    this.#grants = grantsOf(this.#keys);
    return changesOf(former, this.#keys);
  }

  get size(): number {
    return this.#keys.length;
  }

  /** Whether the key with which a caller was admitted is still valid. */
  stillKnows(caller: Caller): boolean {
    const digest = digests.get(caller);
    return digest !== undefined && this.#keys.some((key) => timingSafeEqual(key.digest, digest));
  }

  /** Grants by key name, without hashes. A new map after each replacement of the keys. */
  get grants(): ReadonlyMap<string, KeyGrant> {
    return this.#grants;
  }

  /**
   * The caller of a key; `null` if the key is unknown. Constant time, against timing attacks: all digests are compared in
   * full, even after a match.
   */
  find(sent: string): Caller | null {
    const digest = digestOf(sent);
    let found: Caller | null = null;
    for (const key of this.#keys) {
      if (timingSafeEqual(key.digest, digest)) found = key.caller;
    }
    return found;
  }
}

let compiled: Validator | undefined;

function readKeys(
  options: readonly KeyOptions[],
  environment: NodeJS.ProcessEnv,
  former: readonly Known[],
): readonly Known[] {
  compiled ??= compileSchema({ properties: { keys: KEYS_SCHEMA } }, "inputSchema");
  const violations = compiled.check({ keys: options });
  if (violations.length > 0) throw new TypeError(describeViolations(violations.map(describeKeyViolation)));
  const keys = options.map((option, at) => {
    const before =
      "env" in option ? former.find(({ grant, env }) => grant.name === option.name && env === option.env) : undefined;
    return readKey(option, placeOf(option, at), environment, before);
  });
  options.forEach((option, at) => {
    const key = keys[at];
    if (key !== undefined) refuseTwins(key, keys.slice(0, at), placeOf(option, at));
  });
  return keys;
}

function grantsOf(keys: readonly Known[]): ReadonlyMap<string, KeyGrant> {
  return new Map(keys.map(({ grant }) => [grant.name, grant]));
}

function changesOf(former: readonly Known[], keys: readonly Known[]): ChangedKeys {
  const before = new Map(former.map((key) => [key.grant.name, key]));
  const now = new Set(keys.map(({ grant }) => grant.name));
  const namesOf = (some: readonly Known[]): readonly string[] => some.map(({ grant }) => grant.name);
  return {
    added: namesOf(keys.filter(({ grant }) => !before.has(grant.name))),
    changed: namesOf(keys.filter((key) => isOther(before.get(key.grant.name), key))),
    removed: namesOf(former.filter(({ grant }) => !now.has(grant.name))),
  };
}

function isOther(before: Known | undefined, { grant, digest }: Known): boolean {
  return before !== undefined && !(before.digest.equals(digest) && isDeepStrictEqual(before.grant, grant));
}

function readKey(option: KeyOptions, where: string, environment: NodeJS.ProcessEnv, before: Known | undefined): Known {
  const { name, tenant, roles } = option;
  const env = "env" in option ? option.env : null;
  const isTaken = before !== undefined && env !== null && environment[env] === undefined;
  const digest = isTaken ? before.digest : readDigest(readSource(option, where, environment));
  if (digest === null) {
    const what = where.startsWith("/") ? "what it names" : "its value";
    throw new TypeError(`${where}: ${what} is not a key as glovebox keys new makes them, nor the hash of one`);
  }
  const caller = Object.freeze({ key: name, tenant, roles: new Set(roles) });
  digests.set(caller, digest);
  return { caller, grant: grantOf(option), digest, env };
}

/** Copies the options, which their owner may change later. */
function grantOf(option: KeyOptions): KeyGrant {
  const { name, tenant, roles, tools, limits, quota, rate } = structuredClone(option);
  return {
    name,
    tenant,
    roles,
    ...(tools === undefined ? {} : { tools }),
    ...(limits === undefined ? {} : { limits }),
    ...(quota === undefined ? {} : { quota }),
    ...(rate === undefined ? {} : { rate }),
  };
}

function readSource(source: KeySource, where: string, environment: NodeJS.ProcessEnv): string {
  if ("hash" in source) return source.hash;
  if ("env" in source) {
    const value = environment[source.env];
    if (typeof value !== "string") throw notSet(`${where}/env`, source.env);
    return value.trim();
  }
  return textOfFile(`${where}/file`, source.file);
}

/** Rejects duplicates: keys of one name would share metrics; of keys with one hash only the last would be found. */
function refuseTwins({ grant, digest }: Known, others: readonly Known[], where: string): void {
  for (const other of others) {
    if (other.grant.name === grant.name)
      throw new TypeError(
        `${where.startsWith("/") ? `${where}/name` : `the name of ${where}`} is that of another key: ${grant.name}`,
      );
    if (other.digest.equals(digest)) throw new TypeError(`${where} is the same key as ${other.grant.name}`);
  }
}

/** Describes a violation without its value: a key entered in place of its hash must not reach a message. */
export function describeKeyViolation(violation: Violation): Violation {
  const { pointer, keyword } = violation;
  if (keyword === "oneOf") return { ...violation, message: `${pointer} must have one of hash, env and file` };
  if (keyword === "pattern" && pointer.endsWith("/hash")) {
    const message = `${pointer} must be the hash of a key, "sha256:" and 64 hexadecimal digits, and not the key itself`;
    return { ...violation, message };
  }
  const seen = unseen(violation);
  return { ...seen, message: hideKeys(seen.message) };
}
