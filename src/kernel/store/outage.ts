/** Faults of a Redis, or of the way to it. */
export type RedisProblemKind =
  | "unreachable"
  | "silent"
  | "busy"
  | "login"
  | "permission"
  | "database"
  | "tls"
  | "full"
  | "replica"
  | "disk"
  | "cluster"
  | "sentinel"
  | "other";

/** A problem with Redis, in words for an operator, without an address, a password or a key. */
export interface RedisProblem {
  readonly kind: RedisProblemKind;
  /** Code of the system, of TLS or of Redis, such as `ECONNREFUSED` or `WRONGPASS`. */
  readonly code: string;
  /** What happens, as a clause about Redis: `refuses the login`. */
  readonly what: string;
  /** What to do. */
  readonly remedy: string;
  /** Whether it stays until somebody changes the configuration or Redis: trying again does not help. */
  readonly isLasting: boolean;
}

/** Stores that may be in Redis, by the option with their address. */
export type StoreUse = "kv" | "idempotency" | "calls";

/** Uses of Redis. */
export type RedisUse = "fleet" | StoreUse;

/** Redis cannot be used: told at once, and then again and again while it lasts. */
export interface RedisDown extends Pick<RedisProblem, "kind" | "code" | "isLasting"> {
  readonly uses: readonly RedisUse[];
  /** What happens, what it means for calls, and what to do. Without addresses or secrets. */
  readonly message: string;
  readonly downMs: number;
}

export interface RedisUp {
  readonly uses: readonly RedisUse[];
  /** For how long it could not be used. */
  readonly downMs: number;
}

export interface RedisListener {
  readonly onDown: (event: RedisDown) => void;
  readonly onUp: (event: RedisUp) => void;
}
