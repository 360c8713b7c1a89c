/** What a key may be used for: calls of tools, their administration, and watching. None of them implies another. */
export const ROLES = ["execute", "admin", "metrics"] as const;

export type Role = (typeof ROLES)[number];

/** Who asks a door for something. */
export interface Caller {
  /** The name of its key; `null` where no keys are asked for. */
  readonly key: string | null;
  /** Whose calls it makes; `null` where it may say so itself. */
  readonly tenant: string | null;
  readonly roles: ReadonlySet<Role>;
}

/** Whoever reaches a door that asks for no keys. */
export const ANYBODY: Caller = Object.freeze({ key: null, tenant: null, roles: new Set(ROLES) });

/** Whoever reaches what is for anybody, where there are keys: it may do nothing that needs one. */
export const NOBODY: Caller = Object.freeze({ key: null, tenant: "", roles: new Set<Role>() });
