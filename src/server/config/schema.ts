import { type KeyOptions, KEYS_SCHEMA } from "../access/key-options.ts";
import { OAUTH_SCHEMA, type OAuthOptions } from "../access/oauth-options.ts";
import type { FetchOptions } from "../../kernel/broker/capabilities/fetch/connections.ts";
import {
  BROKER_PLACES,
  type EngineOptions,
  EXECUTOR_KINDS,
  LATENCIES,
  MODEL_CHARS_MIN,
  SANDBOX_MODES,
} from "../../kernel/engine/options.ts";
import type { CallOptions } from "../../kernel/engine/call-options.ts";
import { NAMES } from "../../kernel/base/limits.ts";
import { LIBRARY_NAMES } from "../../standard/plugins.ts";
import { TYPE_CHECKS } from "../../kernel/engine/code-mode-options.ts";
import { NOTE_EVENTS } from "../../kernel/store/calls/durable/durable-step.ts";
import { KEEPS } from "../../kernel/store/calls/call-record.ts";
import { SECRET_LEAST, SECRET_MOST } from "../../kernel/store/seal.ts";
import { CONNECTOR } from "./connector-schema.ts";
import { COUNT, DURATION, exactlyOne, type Part, PATH, section, TEXTS } from "./schema-parts.ts";
import type { ToolLocation } from "../../kernel/tool/definition.ts";

/** Configuration: the engine's options that are plain data, and the options of the service around it. */
export interface Config extends Omit<
  EngineOptions,
  "capabilities" | "plugins" | "registry" | "logger" | "tools" | "fetch" | "calls"
> {
  readonly tools?: readonly (string | Omit<ToolLocation, "record">)[];
  readonly fetch?: Omit<FetchOptions, "lookup">;
  /** Keeps ended calls. `glovebox serve` keeps `failures` by default. */
  readonly calls?: Omit<CallOptions, "redact">;
  readonly host?: string;
  readonly port?: number;
  /** Keys of the server's clients. */
  readonly keys?: readonly KeyOptions[];
  /** An authorization server whose tokens the server accepts. */
  readonly oauth?: OAuthOptions;
  /** `open`: without keys, every user of this machine may register and remove tools. */
  readonly admin?: "open";
  /** Host names by which clients reach the server. */
  readonly hosts?: readonly string[];
  readonly publicUrl?: string;
  /** Origins of web pages that may call the server. */
  readonly origins?: readonly string[];
  /** Whether other processes may listen on the same port. */
  readonly reusePort?: boolean;
  /** The maximum size of a request body, in bytes. */
  readonly bodyBytes?: number;
  /** Maximum time to finish running calls after a stop signal, in milliseconds. */
  readonly drainMs?: number;
  /** Delay between failing `/readyz` and closing the listener, in milliseconds. */
  readonly drainDelayMs?: number;
  /** Storage of uploaded packages. */
  readonly assets?: {
    readonly path: string;
    readonly publicUrl?: string;
    readonly maxBytes?: number;
    readonly maxTotalBytes?: number;
  };
  /** AgentSpace's registry of tools. */
  readonly agentspace?: {
    readonly path: string;
    readonly folder?: string;
    readonly maxRecords?: number;
    readonly maxBytes?: number;
  };
  readonly logLevel?: LogLevel;
  /** Options of `glovebox worker`; servers may use the same file. */
  readonly machine?: {
    /** Maximum number of jobs at once. */
    readonly slots?: number;
    /** Address of the machine's metrics and probes. */
    readonly host?: string;
    readonly port?: number;
    /** Maximum time to finish running jobs after a stop signal, in milliseconds. */
    readonly drainMs?: number;
  };
}

/** Log levels, from the most verbose to none. */
export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

const OBJECT = { type: "object" };
const SEALED_WITH = { type: "string", minLength: SECRET_LEAST, maxLength: SECRET_MOST };
const PORT = { type: "integer", minimum: 0, maximum: 65_535 };
/** Time to stop a service, in milliseconds; at most one hour. */
const PATIENCE = { type: "integer", minimum: 0, maximum: 3_600_000 };
const LIMITS = section(Object.fromEntries(NAMES.map((name) => [name, DURATION])));
/** Requests that may carry a secret; the engine checks the meaning of the values. */
const BINDING = {
  ...section({
    origin: PATH,
    in: PATH,
    as: PATH,
    methods: { ...TEXTS, minItems: 1 },
    path: PATH,
  }),
  required: ["origin"],
};
/** A secret: its bindings, or its origins in the old form, and exactly one source of its value. */
const SECRET = {
  ...section({
    value: { type: "string" },
    env: { type: "string", minLength: 1 },
    file: PATH,
    bind: { type: "array", items: BINDING, minItems: 1 },
    inject: { type: "boolean" },
    echoes: { type: "boolean" },
    origins: { ...TEXTS, minItems: 1 },
  }),
  allOf: [exactlyOne("value", "env", "file"), exactlyOne("bind", "origins")],
};

/** A location of tools, with settings that their modules do not declare. */
const LOCATION = {
  ...section({
    path: PATH,
    contract: { enum: ["glovebox", "amplifier", "agentspace", "strands", "xaibo", ...LIBRARY_NAMES] },
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
  ...section({ registrants: TEXTS, digests: TEXTS, tools: true, tags: true, tenants: true, allow: OBJECT }),
  required: ["allow"],
};

/** An address that is notified of waiting calls. */
const NOTIFIED = {
  ...section({
    url: PATH,
    secret: { ...section({ env: { type: "string", minLength: 1 }, file: PATH }), ...exactlyOne("env", "file") },
    events: { type: "array", items: { enum: NOTE_EVENTS }, minItems: 1 },
    links: PATH,
    values: { type: "boolean" },
  }),
  required: ["url", "secret"],
};

/** The engine checks the values. */
const APPROVAL = section({
  tools: TEXTS,
  tags: TEXTS,
  tenants: TEXTS,
  writes: { const: true },
  when: { type: ["object", "boolean"] },
  approval: { enum: ["always", "never"] },
  by: TEXTS,
  self: { type: "boolean" },
  expiresMs: COUNT,
  message: { type: "string" },
});

/**
 * JSON Schema of a configuration; the engine checks the meaning of the values. The names of environment variables, the
 * flags of `serve`, their help and `config print` are derived from it.
 */
export const CONFIG_SCHEMA: Part = section({
  tools: {
    description:
      "paths of tools: modules, packages, or folders of them, where names with _ or . at the start are left out",
    type: "array",
    items: { anyOf: [PATH, LOCATION] },
  },
  host: { description: "address to listen on", ...PATH },
  keys: { description: "keys of the service's clients, with their roles, tenants and quotas", ...KEYS_SCHEMA },
  oauth: { description: "authorization server whose tokens are accepted besides the keys", ...OAUTH_SCHEMA } as Part,
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
  agentspace: {
    ...section({
      path: { description: "file of AgentSpace's registry of tools; enables the registry", ...PATH },
      folder: PATH,
      maxRecords: { ...COUNT, maximum: 100_000 },
      maxBytes: COUNT,
    }),
    required: ["path"],
  },
  logLevel: {
    description: "lowest level that is logged, on stderr (JSON lines; text on a terminal)",
    enum: LOG_LEVELS,
  },
  root: { description: "folder of the project whose files the tools may import", ...PATH },
  stateDir: { description: "folder for state that outlives the process", ...PATH },
  workers: { description: "number of isolate threads", type: "integer", minimum: 1, maximum: 64 },
  executor: section({
    kind: { description: "where isolates run", enum: [...EXECUTOR_KINDS, "queue"] },
    sandbox: { description: "operating system sandbox around executors", enum: SANDBOX_MODES },
    warmIsolates: COUNT,
    latency: { description: "whether idle threads look for the next call before they sleep", enum: LATENCIES },
    rssMb: { type: "integer", minimum: 256 },
    spare: { type: "boolean" },
    trust: {
      description: "groups of calls that share processes with no others",
      type: "array",
      maxItems: 16,
      items: { ...section({ name: { type: "string" }, tenants: TEXTS, registrants: TEXTS }), required: ["name"] },
    },
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
  limits: { description: "limits of tools that set none of their own", ...LIMITS },
  maxLimits: { description: "upper bound of every tool's and call's limits", ...LIMITS },
  queue: section({
    maxQueued: { type: "integer", minimum: 0 },
    concurrency: COUNT,
    perTool: COUNT,
    perTenant: COUNT,
  }),
  policy: {
    description: "capabilities that tools may be granted",
    ...section({ rules: { type: "array", items: RULE }, approvals: { type: "array", items: APPROVAL } }),
    required: ["rules"],
  },
  broker: {
    description: "where the broker runs, which decides and carries out what tools ask of the host",
    enum: BROKER_PLACES,
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
  calls: section({
    path: { description: "file of kept calls", ...PATH },
    url: { description: "Redis that has kept calls, shared by several machines", ...PATH },
    fleet: { description: "name shared by the engines that share kept calls", ...PATH },
    secret: { description: "secret that seals kept calls, in their file or in Redis", ...SEALED_WITH },
    keep: { description: "parts of ended calls that are kept", enum: KEEPS },
    maxAgeMs: COUNT,
    detailAgeMs: COUNT,
    maxBytes: COUNT,
    expiresMs: { description: "time after which a call that waits is cancelled", ...COUNT },
    keepMs: { description: "time for which the result of a call that has waited is kept", ...COUNT },
    lingerMs: { description: "a timer of a call that is due sooner is waited for", type: "integer", minimum: 0 },
    callBytes: { description: "size of a call that waits", ...COUNT },
    perTenant: { description: "calls of a tenant that wait at once", ...COUNT },
    tenantBytes: { description: "size of the calls of a tenant that wait", ...COUNT },
    resumeAtOnce: { description: "calls that go on at once after they have waited", ...COUNT },
    notify: {
      description: "addresses that are told of calls that wait for a person, are in doubt, or have ended",
      type: "array",
      maxItems: 8,
      items: NOTIFIED,
    },
  }),
  modelChars: {
    description: "characters of an output beyond which a model reads its beginning, its end and its shape",
    type: "integer",
    minimum: MODEL_CHARS_MIN,
  },
  fetch: section({ connectMs: DURATION, headersMs: DURATION, idleMs: DURATION }),
  packages: section({
    origins: TEXTS,
    privateOrigins: TEXTS,
    modules: PATH,
    allow: TEXTS,
    wheels: PATH,
    maxBytes: COUNT,
  }),
  connectors: {
    description: "MCP servers, and servers with an OpenAPI document, whose operations are tools: by name",
    type: "object",
    additionalProperties: CONNECTOR,
  },
  logins: section({
    path: { description: "file of the logins of connectors", ...PATH },
    url: { description: "Redis that stores logins, shared by several machines", ...PATH },
    fleet: { description: "name shared by the engines that share logins", ...PATH },
    secret: { description: "secret that seals logins; without one, a key in a file beside the file", ...SEALED_WITH },
  }),
  codeMode: {
    description: "code mode: run_code and search_tools, and the routes /mcp/code and /v1/code",
    ...section({
      tools: { description: "names of the tools that programs may call, which may end in *", ...TEXTS },
      snippets: { description: "whether snippets are among them", type: "boolean" },
      pinned: { description: "names of tools that are declared before others, which may end in *", ...TEXTS },
      tokens: { description: "size of the declarations that models read", type: "integer", minimum: 100 },
      typeCheck: { description: "whether programs are checked before they run", enum: TYPE_CHECKS },
      tenant: { type: "string" },
      resultChars: { type: "integer", minimum: 100 },
      codeChars: COUNT,
      limits: LIMITS,
    }),
  },
  audit: PATH,
});

/** Settings that are file paths; `*` matches any name. */
export const PATHS = [
  "tools/*",
  "tools/*/path",
  "audit",
  "kv/path",
  "root",
  "stateDir",
  "assets/path",
  "agentspace/path",
  "agentspace/folder",
  "idempotency/path",
  "calls/path",
  "calls/notify/*/secret/file",
  "logins/path",
  "executor/store",
  "packages/modules",
  "packages/wheels",
  "secrets/*/file",
  "connectors/*/openapi/document",
  "connectors/*/mcp/folders/*/path",
  "keys/*/file",
  "oauth/introspection/clientSecret/file",
  "policy/rules/*/allow/fs/*/path",
  "policy/rules/*/allow/exec/mounts/*/path",
];

/** Settings never shown, because they are or may contain secrets. */
export const HIDDEN: readonly string[] = [
  "secrets/*/value",
  "connectors/*/headers/*",
  "connectors/*/query/*",
  "connectors/*/mcp/headers/*",
  "connectors/*/mcp/env/*",
  "keys/*/hash",
  "tools/*/config",
  "executor/secret",
  "idempotency/secret",
  "calls/secret",
  "calls/notify/*/secret",
  "logins/secret",
];

/** URLs shown without their user and password. */
export const URLS: readonly string[] = [
  "executor/url",
  "executor/store",
  "kv/url",
  "idempotency/url",
  "calls/url",
  "calls/notify/*/url",
  "logins/url",
];
