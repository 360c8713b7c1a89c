import { parseForWriting } from "../../../base/exact-json.ts";
import { OPERATOR } from "../../policy.ts";
import { describeFailure } from "../../../store/sqlite/failure.ts";
import {
  type CapabilityCaller,
  CapabilityRefusal,
  effectName,
  type GrantKind,
  type GrantSource,
  type OpenCall,
} from "../capability.ts";
import type { Condition, KvStore, Page, SetOutcome, StoredEntry } from "./kv-store.ts";

/** Quota of a namespace if the policy sets none. */
const QUOTA_DEFAULT_BYTES = 1024 * 1024;
const QUOTA_MAX_BYTES = 1024 * 1024 * 1024;

/** Grants of `kv`: maximum bytes of a tool's entries in total. Infinity in a request without `maxBytes`. */
export const quotaGrants: GrantKind<number> = {
  read(value, side) {
    const unsaid = side === "policy" ? QUOTA_DEFAULT_BYTES : Number.POSITIVE_INFINITY;
    if (value === true) return unsaid;
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw new TypeError(": is true, or an object with maxBytes");
    }
    const odd = Object.keys(value).find((name) => name !== "maxBytes");
    if (odd !== undefined) throw new TypeError(`/${odd.slice(0, 64)}: is not known; kv has maxBytes and nothing else`);
    const { maxBytes } = value as { readonly maxBytes?: unknown };
    return maxBytes === undefined ? unsaid : readBytes(maxBytes, side);
  },

  meet: (asked, allowed) => Math.min(asked, allowed),

  uncovered(asked, granted) {
    if (granted.length === 0) return [{ pointer: "", asked: quotaGrants.describe(asked) }];
    if (asked === Number.POSITIVE_INFINITY || granted.some((bytes) => bytes >= asked)) return [];
    return [{ pointer: "/maxBytes", asked: quotaGrants.describe(asked) }];
  },

  describe: (bytes) => (bytes === Number.POSITIVE_INFINITY ? "as much as is allowed" : `${bytes} bytes`),
};

/**
 * Reads `maxBytes`. In a policy a value above the ceiling is a mistake of the operator; a tool may request any amount.
 */
function readBytes(bytes: unknown, side: GrantSource): number {
  if (typeof bytes === "number" && bytes >= 1) {
    if (side !== "policy") return Math.floor(bytes);
    if (Number.isInteger(bytes) && bytes <= QUOTA_MAX_BYTES) return bytes;
  }
  throw new TypeError(`/maxBytes: is a whole number of bytes, from 1 to ${QUOTA_MAX_BYTES}`);
}

/** Maximum length of a key, in bytes of UTF-8. */
export const KEY_MAX_BYTES = 512;
/** Maximum length of a value, in bytes of its JSON. */
const VALUE_MAX_BYTES = 256 * 1024;
/** Maximum length of a tenant's name, in characters: the store keeps it with the namespace. */
const TENANT_MAX = 1_024;
const LIST_DEFAULT = 100;
export const LIST_MAX = 1_000;

interface KeyRequest {
  readonly key: string;
}
interface SetRequest extends KeyRequest {
  readonly value: unknown;
  readonly ttlMs?: number;
  readonly ifVersion?: number;
  readonly ifAbsent?: boolean;
}
interface DeleteRequest extends KeyRequest {
  readonly ifVersion?: number;
}
interface ListRequest {
  readonly prefix?: string;
  readonly limit?: number;
  readonly cursor?: string;
}

type NamespaceCaller = CapabilityCaller & Pick<OpenCall, "effectsId">;

/** The namespace of a call's tool and tenant. */
export class KvNamespace {
  readonly #store: KvStore;
  readonly #call: NamespaceCaller;
  readonly #name: string;
  readonly #quotaBytes: number;

  constructor(store: KvStore, call: NamespaceCaller, quotaBytes: number) {
    this.#store = store;
    this.#call = call;
    this.#name = namespaceOf(call);
    this.#quotaBytes = quotaBytes;
  }

  invoke(method: string, args: unknown, step: number): unknown {
    const { effectsId } = this.#call;
    const once = effectsId === undefined ? undefined : effectName(effectsId, step);
    switch (method) {
      case "get":
        return this.#read(args as KeyRequest, (entry) => entry && parse(entry));
      case "getEntry":
        return this.#read(
          args as KeyRequest,
          (entry) => entry && { value: parse(entry), version: entry.version, expiresAt: entry.expiresAt },
        );
      case "set":
        return this.#set(args as SetRequest, once);
      case "delete":
        return this.#delete(args as DeleteRequest, once);
      case "list":
        return this.#list(args as ListRequest);
      default:
        throw new TypeError(`kv has no method "${method}"`);
    }
  }

  #read<T>({ key }: KeyRequest, render: (entry: StoredEntry | null) => T): T | Promise<T> {
    checkKey(key, "a key");
    const entry = this.#store.get(this.#call, this.#name, key);
    return entry instanceof Promise ? entry.then(render) : render(entry);
  }

  async #set(
    { key, value, ttlMs, ifVersion, ifAbsent = false }: SetRequest,
    once: string | undefined,
  ): Promise<number | null> {
    checkKey(key, "a key");
    if (ifAbsent && ifVersion !== undefined) throw new TypeError("ifAbsent and ifVersion exclude each other");
    const json = JSON.stringify(value);
    const length = Buffer.byteLength(json);
    if (length > VALUE_MAX_BYTES) {
      throw new RangeError(`a value has at most ${VALUE_MAX_BYTES} bytes of JSON, this one has ${length}`);
    }
    const condition: Condition = ifAbsent ? { kind: "absent" } : onVersion(ifVersion);
    const entry = { key, value: json, ttlMs: ttlMs ?? null, condition, quotaBytes: this.#quotaBytes, once };
    const outcome = await this.#store.set(this.#call, this.#name, entry);
    switch (outcome.kind) {
      case "set":
        return outcome.version;
      case "unmatched":
        return null;
      case "full":
        throw this.#full(outcome);
    }
  }

  #delete({ key, ifVersion }: DeleteRequest, once: string | undefined): boolean | Promise<boolean> {
    checkKey(key, "a key");
    return this.#store.delete(this.#call, this.#name, { key, condition: onVersion(ifVersion), once });
  }

  #list({ prefix = "", limit = LIST_DEFAULT, cursor = "" }: ListRequest): Page | Promise<Page> {
    checkKey(prefix, "a prefix");
    checkKey(cursor, "a cursor");
    return this.#store.list(this.#call, this.#name, { prefix, after: cursor, limit });
  }

  #full({ usedBytes, moreBytes }: Extract<SetOutcome, { kind: "full" }>): CapabilityRefusal {
    const quota = quotaGrants.describe(this.#quotaBytes);
    const message = `the tool's key-value store is full: ${usedBytes} of ${quota} are used, and the entry needs ${moreBytes} more`;
    return new CapabilityRefusal("limit", message, {
      asked: `kv of ${quotaGrants.describe(usedBytes + moreBytes)}`,
      granted: `kv of ${quota}`,
      remedy: "raise maxBytes in allow.kv of a policy rule, and in capabilities.kv of the tool where it has one",
    });
  }
}

/**
 * Name of a namespace, in JSON: names may contain any separator, and JSON's escapes keep different lone surrogates
 * apart. Those of the operator's tools have two parts, others three: no name makes one out of the other.
 */
function namespaceOf({ tool, registrant = OPERATOR, tenant = "" }: CapabilityCaller): string {
  if (tenant.length > TENANT_MAX) throw new RangeError(`the tenant's name has more than ${TENANT_MAX} characters`);
  return JSON.stringify(registrant === OPERATOR ? [tool, tenant] : [registrant, tool, tenant]);
}

function checkKey(key: string, what: string): void {
  if (key.includes("\0")) throw new TypeError(`${what} has no NUL in it`);
  // Lone surrogates would all be stored as the same replacement character.
  if (!key.isWellFormed()) throw new TypeError(`${what} has no half of a surrogate pair in it`);
  const length = Buffer.byteLength(key);
  if (length > KEY_MAX_BYTES) {
    throw new RangeError(`${what} has at most ${KEY_MAX_BYTES} bytes of UTF-8, this one has ${length}`);
  }
}

function onVersion(version: number | undefined): Condition {
  return version === undefined ? { kind: "always" } : { kind: "version", version };
}

function parse({ value }: StoredEntry): unknown {
  try {
    return parseForWriting(value);
  } catch (error) {
    throw describeFailure(error);
  }
}
