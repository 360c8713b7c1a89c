import type { GrantKind, Side } from "../capability.ts";

/** What a namespace may hold where no policy says more. */
export const QUOTA_DEFAULT_BYTES = 1024 * 1024;
const QUOTA_MAX_BYTES = 1024 * 1024 * 1024;

/** Grants of `kv`: how many bytes a tool's entries may have together. Infinite where a tool takes what it is given. */
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

/** What a policy says is the operator's own number; more than the ceiling is a slip. A tool may ask for what it likes. */
function readBytes(bytes: unknown, side: Side): number {
  if (typeof bytes === "number" && bytes >= 1) {
    if (side !== "policy") return Math.floor(bytes);
    if (Number.isInteger(bytes) && bytes <= QUOTA_MAX_BYTES) return bytes;
  }
  throw new TypeError(`/maxBytes: is a whole number of bytes, from 1 to ${QUOTA_MAX_BYTES}`);
}
