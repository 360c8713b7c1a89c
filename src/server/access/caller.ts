/**
 * Roles of keys: calling tools, administering them, monitoring, reading kept calls, and deciding calls that wait for an
 * approval. No role implies another.
 */
export const ROLES = ["execute", "admin", "metrics", "calls", "approve"] as const;

export type Role = (typeof ROLES)[number];

/** The sender of a request to a surface. */
export interface Caller {
  /** Name of its key; `null` if no keys are required. */
  readonly key: string | null;
  /** Tenant of its calls; `null` if the caller may choose it. */
  readonly tenant: string | null;
  readonly roles: ReadonlySet<Role>;
}

/** Any caller of a surface that requires no keys. */
export const ANYBODY: Caller = Object.freeze({ key: null, tenant: null, roles: new Set(ROLES) });

/** A caller without a key on a public route of a surface with keys; it has no roles. */
export const NOBODY: Caller = Object.freeze({ key: null, tenant: "", roles: new Set<Role>() });
