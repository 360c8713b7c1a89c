/**
 * Prefixes of all keys in a Redis, which `glovebox redis acl` grants. Each has a hash tag of its own, so that a cluster
 * may place related keys on one node, and the rest on others.
 */

/** Parts of a fleet's keys in addition to its own, under which servers share them. */
type Shared = "ledger" | "calls" | "logins";

/** For the members, jobs and messages of a fleet; or for the data that its servers share. */
export function prefixOf(fleet: string, shared?: Shared): string {
  return shared === undefined ? `{glovebox:${fleet}}` : `{glovebox:${fleet}:${shared}}`;
}

/** Of `kv`, which has no fleet. */
export const KV_PREFIX = "glovebox:kv:";

/** Of the entries of one namespace of `kv`, by its digest. */
export function kvPrefixOf(digest: string): string {
  return `${KV_PREFIX}{${digest}}`;
}
