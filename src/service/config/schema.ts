import { type KeyOptions, KEYS_SCHEMA } from "../access/key-options.ts";
import type { FetchOptions } from "../../broker/capabilities/fetch/connections.ts";
import { type EngineOptions, EXECUTOR_KINDS, SANDBOX_MODES } from "../../engine/options.ts";
import { NAMES } from "../../base/limits.ts";
import { MODULE_CONTRACT_NAMES } from "../../base/protocol/script.ts";
import { SECRET_LEAST, SECRET_MOST } from "../../store/redis/seal.ts";
import type { ToolLocation } from "../../tool/definition.ts";

/** What a configuration says: an engine's options, as far as they are data, and those of the service around it. */
export interface Config extends Omit<EngineOptions, "capabilities" | "registry" | "logger" | "tools" | "fetch"> {
  readonly tools?: readonly (string | Omit<ToolLocation, "record">)[];
  readonly fetch?: Omit<FetchOptions, "lookup">;
  readonly host?: string;
  readonly port?: number;
  /** Who may use the server. */
  readonly keys?: readonly KeyOptions[];
  /** `open`: where there are no keys, anybody on this machine may register and remove tools. */
  readonly admin?: "open";
  /** Names by which clients find the server. */
  readonly hosts?: readonly string[];
  readonly publicUrl?: string;
  /** Origins of pages that may use the server. */
  readonly origins?: readonly string[];
  /** Whether other processes may listen on the same port beside this one. */
  readonly reusePort?: boolean;
  /** The largest body of a request, in bytes. */
  readonly bodyBytes?: number;
  /** How long calls may go on when the service stops. */
  readonly drainMs?: number;
  /** How long the service says that it will stop before it does. */
  readonly drainDelayMs?: number;
  /** Where uploaded packages are kept. */
  readonly assets?: {
    readonly path: string;
    readonly publicUrl?: string;
    readonly maxBytes?: number;
    readonly maxTotalBytes?: number;
  };
  readonly logLevel?: LogLevel;
  /** What `glovebox worker` does with this configuration; servers may have the same one. */
  readonly machine?: {
    /** Jobs that it has at once. */
    readonly slots?: number;
    /** Where it says how it does. */
    readonly host?: string;
    readonly port?: number;
    /** How long calls may go on when it stops. */
    readonly drainMs?: number;
  };
}

/** What may be logged, from the most to nothing. */
export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** A part of the schema, as far as names, texts of help and values of the environment are derived from it. */
export interface Part {
  readonly type?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly properties?: { readonly [name: string]: Part };
  readonly [keyword: string]: unknown;
}

const OBJECT = { type: "object" };
const PATH = { type: "string", minLength: 1 };
const SEALED_WITH = { type: "string", minLength: SECRET_LEAST, maxLength: SECRET_MOST };
const TEXTS = { type: "array", items: { type: "string" } };
const COUNT = { type: "integer", minimum: 1 };
const DURATION = { type: "number", exclusiveMinimum: 0 };
const PORT = { type: "integer", minimum: 0, maximum: 65_535 };
/** Milliseconds that a service may take to stop: an hour at most. */
const PATIENCE = { type: "integer", minimum: 0, maximum: 3_600_000 };
const LIMITS = section(Object.fromEntries(NAMES.map((name) => [name, DURATION])));
/** Its origins, and one of the places where its value can be. */
const SECRET = {
  ...section({
    value: { type: "string" },
    env: { type: "string", minLength: 1 },
    file: PATH,
    origins: { type: "array", items: { type: "string" }, minItems: 1 },
  }),
  required: ["origins"],
  minProperties: 2,
  maxProperties: 2,
};

/** A place of tools, with what their modules do not say. */
const LOCATION = {
  ...section({
    path: PATH,
    contract: { enum: MODULE_CONTRACT_NAMES },
    config: true,
    limits: OBJECT,
    isolation: { type: "string" },
    capabilities: OBJECT,
    tags: true,
    names: TEXTS,
  }),
  required: ["path"],
};

const RULE = {
  ...section({ tools: true, tags: true, tenants: true, allow: OBJECT }),
  required: ["allow"],
};

/**
 * What a configuration may say, as a JSON Schema. What its values mean, the engine checks. The names of variables in the
 * environment, the flags of `serve`, their help and `config print` are derived from it.
 */
export const CONFIG_SCHEMA: Part = section({
  tools: {
    description: "places of tools: modules, packages, folders of them",
    type: "array",
    items: { anyOf: [PATH, LOCATION] },
  },
  host: { description: "address to listen on", ...PATH },
  keys: { description: "who may use the service, and for what", ...KEYS_SCHEMA },
  admin: {
    description: "open: without keys, let anybody on this machine register and remove tools over HTTP",
    enum: ["open"],
  },
  hosts: { description: "names by which clients find the service", ...TEXTS },
  publicUrl: { description: "where clients find the service from outside", ...PATH },
  origins: { description: "origins of pages that may use the service from a browser", ...TEXTS },
  port: { description: "port to listen on, 0 for any that is free", ...PORT },
  reusePort: { description: "let other processes listen on the same port", type: "boolean" },
  bodyBytes: { description: "largest body of a request", ...COUNT },
  drainMs: { description: "how long calls may go on after a signal", ...PATIENCE },
  drainDelayMs: { description: "how long the service says that it will stop before it does", ...PATIENCE },
  assets: {
    ...section({
      path: { description: "take uploads of AgentSpace's packages, and keep them in this folder", ...PATH },
      publicUrl: PATH,
      maxBytes: COUNT,
      maxTotalBytes: COUNT,
    }),
    required: ["path"],
  },
  logLevel: { description: "what is logged, as JSON lines on stderr", enum: LOG_LEVELS },
  stateDir: { description: "folder of what outlives the process", ...PATH },
  workers: { description: "isolate threads", type: "integer", minimum: 1, maximum: 64 },
  executor: section({
    kind: { description: "where isolates live", enum: EXECUTOR_KINDS },
    sandbox: { description: "the system's walls around executors", enum: SANDBOX_MODES },
    warmIsolates: COUNT,
    rssMb: { type: "integer", minimum: 256 },
    spare: { type: "boolean" },
    recycle: section({ ageMs: { type: "integer", minimum: 1_000 }, calls: COUNT, rssMb: COUNT }),
    url: {
      description: "where the fleet's Redis is, as redis://, rediss://, redis+sentinel:// or redis+cluster://",
      ...PATH,
    },
    fleet: { description: "which fleet: servers and worker machines of one name", ...PATH },
    secret: SEALED_WITH,
    lostMs: COUNT,
    store: PATH,
    codeMaxBytes: COUNT,
  }),
  machine: section({
    slots: { description: "jobs that the machine has at once", type: "integer", minimum: 1, maximum: 10_000 },
    host: { description: "address of its metrics and probes", ...PATH },
    port: { description: "port of its metrics and probes, 0 for any that is free", ...PORT },
    drainMs: { description: "how long its jobs may go on after a signal", ...PATIENCE },
  }),
  limits: { description: "limits of tools that ask for none", ...LIMITS },
  maxLimits: { description: "the ceiling that no tool and no call may exceed", ...LIMITS },
  queue: section({
    maxQueued: { type: "integer", minimum: 0 },
    concurrency: COUNT,
    perTool: COUNT,
    perTenant: COUNT,
  }),
  policy: {
    description: "what tools may be granted",
    ...section({ rules: { type: "array", items: RULE } }),
    required: ["rules"],
  },
  secrets: { type: "object", additionalProperties: SECRET },
  kv: section({ url: { type: "string" }, path: PATH, maxBytes: COUNT }),
  idempotency: section({
    path: PATH,
    url: { description: "Redis that keeps results, for several machines", ...PATH },
    fleet: { description: "which engines have results in common", ...PATH },
    secret: { description: "what results are sealed with in Redis", ...SEALED_WITH },
    ttlMs: COUNT,
    maxEntries: COUNT,
    maxBytes: COUNT,
  }),
  fetch: section({ connectMs: DURATION, headersMs: DURATION, idleMs: DURATION }),
  packages: section({
    origins: TEXTS,
    privateOrigins: TEXTS,
    modules: PATH,
    allow: TEXTS,
    wheels: PATH,
    maxBytes: COUNT,
  }),
  audit: PATH,
});

/** Where a configuration has paths; `*` stands for every name. */
export const PATHS = [
  "tools/*",
  "tools/*/path",
  "audit",
  "kv/path",
  "stateDir",
  "assets/path",
  "idempotency/path",
  "executor/store",
  "packages/modules",
  "packages/wheels",
  "secrets/*/file",
  "keys/*/file",
  "policy/rules/*/allow/fs/*/path",
  "policy/rules/*/allow/exec/mounts/*/path",
];

/** What is never shown: it may be a secret, or stand for one. */
export const HIDDEN: readonly string[] = [
  "secrets/*/value",
  "keys/*/hash",
  "tools/*/config",
  "executor/secret",
  "idempotency/secret",
];

/** What is shown without the user and the password in it. */
export const URLS: readonly string[] = ["executor/url", "executor/store", "kv/url", "idempotency/url"];

function section(properties: { readonly [name: string]: unknown }): Part {
  return { type: "object", properties: properties as { readonly [name: string]: Part }, additionalProperties: false };
}
