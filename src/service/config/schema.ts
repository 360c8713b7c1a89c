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
  /** The maximum size of a request body, in bytes, in bytes. */
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
    description: "paths of tools: modules, packages, or folders of them",
    type: "array",
    items: { anyOf: [PATH, LOCATION] },
  },
  host: { description: "address to listen on", ...PATH },
  keys: { description: "keys of the service's clients, with their roles, tenants and quotas", ...KEYS_SCHEMA },
  admin: {
    description: "open: without keys, let anybody on this machine register and remove tools over HTTP",
    enum: ["open"],
  },
  hosts: { description: "host names by which clients reach the service", ...TEXTS },
  publicUrl: { description: "URL at which clients reach the service from outside", ...PATH },
  origins: { description: "origins of web pages that may call the service", ...TEXTS },
  port: { description: "port to listen on; 0 picks a free one", ...PORT },
  reusePort: { description: "let other processes listen on the same port", type: "boolean" },
  bodyBytes: { description: "maximum size of a request body, in bytes", ...COUNT },
  drainMs: { description: "maximum time to finish running calls after a stop signal, in milliseconds", ...PATIENCE },
  drainDelayMs: { description: "delay between failing /readyz and closing the listener, in milliseconds", ...PATIENCE },
  assets: {
    ...section({
      path: { description: "folder for uploaded AgentSpace packages; enables uploads", ...PATH },
      publicUrl: PATH,
      maxBytes: COUNT,
      maxTotalBytes: COUNT,
    }),
    required: ["path"],
  },
  logLevel: {
    description: "lowest level that is logged, on stderr (JSON lines; text on a terminal)",
    enum: LOG_LEVELS,
  },
  stateDir: { description: "folder for state that outlives the process", ...PATH },
  workers: { description: "number of isolate threads", type: "integer", minimum: 1, maximum: 64 },
  executor: section({
    kind: { description: "where isolates run", enum: EXECUTOR_KINDS },
    sandbox: { description: "operating system sandbox around executors", enum: SANDBOX_MODES },
    warmIsolates: COUNT,
    rssMb: { type: "integer", minimum: 256 },
    spare: { type: "boolean" },
    recycle: section({ ageMs: { type: "integer", minimum: 1_000 }, calls: COUNT, rssMb: COUNT }),
    url: {
      description: "URL of the fleet's Redis: redis://, rediss://, redis+sentinel:// or redis+cluster://",
      ...PATH,
    },
    fleet: { description: "name of the fleet that servers and worker machines share", ...PATH },
    secret: SEALED_WITH,
    lostMs: COUNT,
    store: PATH,
    codeMaxBytes: COUNT,
  }),
  machine: section({
    slots: {
      description: "maximum number of jobs at once on the machine",
      type: "integer",
      minimum: 1,
      maximum: 10_000,
    },
    host: { description: "address of the machine's metrics and probes", ...PATH },
    port: { description: "port of the machine's metrics and probes; 0 picks a free one", ...PORT },
    drainMs: { description: "maximum time to finish running jobs after a stop signal, in milliseconds", ...PATIENCE },
  }),
  limits: { description: "default limits, for tools that set none", ...LIMITS },
  maxLimits: { description: "upper bound of every tool's and call's limits", ...LIMITS },
  queue: section({
    maxQueued: { type: "integer", minimum: 0 },
    concurrency: COUNT,
    perTool: COUNT,
    perTenant: COUNT,
  }),
  policy: {
    description: "capabilities that tools may be granted",
    ...section({ rules: { type: "array", items: RULE } }),
    required: ["rules"],
  },
  secrets: { type: "object", additionalProperties: SECRET },
  kv: section({ url: { type: "string" }, path: PATH, maxBytes: COUNT }),
  idempotency: section({
    path: PATH,
    url: { description: "URL of the Redis that stores results, shared by several machines", ...PATH },
    fleet: { description: "name shared by the engines that share results", ...PATH },
    secret: { description: "secret that encrypts results in Redis", ...SEALED_WITH },
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
