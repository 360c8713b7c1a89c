import { DEFAULT_LIMITS, type Limits } from "../../kernel/base/limits.ts";
import { ROLES, type Role } from "./caller.ts";

/** Source of a key: its hash in the configuration, or a variable or file with the key or its hash. */
export type KeySource = { readonly hash: string } | { readonly env: string } | { readonly file: string };

/** A key of the server, and its grants. */
export type KeyOptions = KeyGrant & KeySource;

export interface KeyGrant {
  /** Name of the key in metrics, events and log lines. */
  readonly name: string;
  /** The tenant of its calls; `null` for a key whose calls name their tenant in `options.tenant`. */
  readonly tenant: string | null;
  /** Roles of the key. No role implies another. */
  readonly roles: readonly Role[];
  /** The tools that it may call, see and administer: names, each of which may end in `*`. Default: all. */
  readonly tools?: readonly string[];
  /** Upper bounds of its calls' limits. `memoryMb` is excluded: the heap limit belongs to the tool's isolate. */
  readonly limits?: Partial<Omit<Limits, "memoryMb">>;
  /** Maximum use per time window. */
  readonly quota?: KeyQuota;
  /** Maximum call rate: `calls` per `perMs` milliseconds. */
  readonly rate?: { readonly calls: number; readonly perMs: number };
}

/** A caller that an application has authenticated itself. */
export type CallerGrant = Partial<Pick<KeyGrant, "name" | "tools" | "limits" | "quota" | "rate">> &
  Pick<KeyGrant, "roles"> & { readonly tenant?: string };

export interface KeyQuota {
  /** Maximum number of calls per window, whether they run or not. Default: unlimited. */
  readonly calls?: number;
  /**
   * Maximum CPU time of its calls and their child calls per window, in seconds. It is measured when a call ends: after an
   * overrun, later calls are refused until the next window. Default: unlimited.
   */
  readonly cpuSeconds?: number;
  /** Length of a window, in milliseconds; at most 24 days. The first window begins with the first call. */
  readonly windowMs: number;
}

/** Maximum delay of the windows' timers. */
const WINDOW_MAX_MS = 24 * 24 * 60 * 60 * 1_000;
const COUNT_MAX = 1_000_000_000;
const KEYS_MAX = 1_000;
const PATTERNS_MAX = 1_000;

const WINDOW = { type: "integer", minimum: 1, maximum: WINDOW_MAX_MS };
const CALLS = { type: "integer", minimum: 1, maximum: COUNT_MAX };
const CEILINGS = Object.keys(DEFAULT_LIMITS).filter((name) => name !== "memoryMb");

/** Permissions that keys, callers and holders of tokens may have alike. */
export const GRANT = {
  tools: { type: "array", items: { type: "string", minLength: 1, maxLength: 256 }, maxItems: PATTERNS_MAX },
  limits: {
    type: "object",
    properties: Object.fromEntries(CEILINGS.map((name) => [name, { type: "number", exclusiveMinimum: 0 }])),
    additionalProperties: false,
  },
  quota: {
    type: "object",
    properties: {
      calls: CALLS,
      cpuSeconds: { type: "number", exclusiveMinimum: 0, maximum: COUNT_MAX },
      windowMs: WINDOW,
    },
    required: ["windowMs"],
    additionalProperties: false,
  },
  rate: {
    type: "object",
    properties: { calls: CALLS, perMs: WINDOW },
    required: ["calls", "perMs"],
    additionalProperties: false,
  },
};

/** JSON Schema of a caller that an application has authenticated. */
export const CALLER_SCHEMA = {
  type: "object",
  properties: {
    name: { type: "string", minLength: 1, maxLength: 256 },
    tenant: { type: "string", maxLength: 256 },
    roles: { type: "array", items: { enum: ROLES }, uniqueItems: true },
    ...GRANT,
  },
  required: ["roles"],
  additionalProperties: false,
};

/** JSON Schema of a list of keys; each has exactly one source. */
export const KEYS_SCHEMA = {
  type: "array",
  maxItems: KEYS_MAX,
  items: {
    type: "object",
    properties: {
      // Names become labels of metrics.
      name: { type: "string", pattern: "^[A-Za-z0-9_.-]{1,64}$" },
      hash: { type: "string", pattern: "^sha256:[0-9a-f]{64}$" },
      env: { type: "string", minLength: 1 },
      file: { type: "string", minLength: 1 },
      tenant: { type: ["string", "null"], maxLength: 256 },
      roles: { type: "array", items: { enum: ROLES }, minItems: 1, uniqueItems: true },
      ...GRANT,
    },
    required: ["name", "tenant", "roles"],
    oneOf: [{ required: ["hash"] }, { required: ["env"] }, { required: ["file"] }],
    additionalProperties: false,
  },
};
