import { DEFAULT_LIMITS, type Limits } from "../../base/limits.ts";
import { ROLES, type Role } from "./caller.ts";

/** Where a key, or its hash, is: in the open only as a hash. */
export type KeySource = { readonly hash: string } | { readonly env: string } | { readonly file: string };

/** A key that a server knows, and what may be done with it. */
export type KeyOptions = KeyGrant & KeySource;

export interface KeyGrant {
  /** What the key is called in metrics, events and log lines. */
  readonly name: string;
  /** The tenant of its calls; `null` for a key whose calls name their own, in `options.tenant`. */
  readonly tenant: string | null;
  /** What it may be used for. None of them implies another. */
  readonly roles: readonly Role[];
  /** The tools that it may call, see and administer: names, each of which may end in `*`. Default: all. */
  readonly tools?: readonly string[];
  /** The ceiling of its calls' limits. The heap's is the tool's: it belongs to its isolate. */
  readonly limits?: Partial<Omit<Limits, "memoryMb">>;
  /** What it may use within a time. */
  readonly quota?: KeyQuota;
  /** How fast it may call. */
  readonly rate?: { readonly calls: number; readonly perMs: number };
}

export interface KeyQuota {
  /** Calls within the window, whether they run or not. Default: as many as it likes. */
  readonly calls?: number;
  /**
   * Processor time of its calls, and of those on their behalf. It is known when a call has ended: what is used beyond
   * has the calls after it wait for the next window. Default: as much as it likes.
   */
  readonly cpuSeconds?: number;
  /** How long a window is, in milliseconds: at most 24 days. The first begins with the first call. */
  readonly windowMs: number;
}

/** The most that the timers of windows can wait for. */
const WINDOW_MAX_MS = 24 * 24 * 60 * 60 * 1_000;
const COUNT_MAX = 1_000_000_000;
const KEYS_MAX = 1_000;
const PATTERNS_MAX = 1_000;

const WINDOW = { type: "integer", minimum: 1, maximum: WINDOW_MAX_MS };
const CALLS = { type: "integer", minimum: 1, maximum: COUNT_MAX };
const CEILINGS = Object.keys(DEFAULT_LIMITS).filter((name) => name !== "memoryMb");

/** A list of keys, as a JSON Schema: of the places of a key, one. */
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
    },
    required: ["name", "tenant", "roles"],
    oneOf: [{ required: ["hash"] }, { required: ["env"] }, { required: ["file"] }],
    additionalProperties: false,
  },
};
