import type { FetchOptions } from "../capabilities/fetch/connections.ts";
import type { EngineOptions } from "../options.ts";
import { MODULE_CONTRACT_NAMES } from "../protocol/script.ts";
import type { ToolLocation } from "../tool/definition.ts";

/** What a configuration file says: an engine's options, as far as they are data, and where a server listens. */
export interface Config extends Omit<EngineOptions, "capabilities" | "registry" | "logger" | "tools" | "fetch"> {
  readonly tools?: readonly (string | Omit<ToolLocation, "record">)[];
  readonly fetch?: Omit<FetchOptions, "lookup">;
  readonly host?: string;
  readonly port?: number;
}

const OBJECT = { type: "object" };
const PATH = { type: "string", minLength: 1 };
const TEXTS = { type: "array", items: { type: "string" } };
const COUNT = { type: "integer", minimum: 1 };
const DURATION = { type: "number", exclusiveMinimum: 0 };
/** Its origins, and one of the places where its value can be. */
const SECRET = {
  type: "object",
  properties: {
    value: { type: "string" },
    env: { type: "string", minLength: 1 },
    file: PATH,
    origins: { type: "array", items: { type: "string" }, minItems: 1 },
  },
  required: ["origins"],
  minProperties: 2,
  maxProperties: 2,
  additionalProperties: false,
};

/** A place of tools, with what their modules do not say. */
const LOCATION = {
  type: "object",
  properties: {
    path: PATH,
    contract: { enum: MODULE_CONTRACT_NAMES },
    config: true,
    limits: OBJECT,
    isolation: { type: "string" },
    capabilities: OBJECT,
    tags: true,
  },
  required: ["path"],
  additionalProperties: false,
};

/** What a configuration may say, as a JSON Schema. What its values mean, the engine checks. */
export const CONFIG_SCHEMA = {
  type: "object",
  properties: {
    tools: { type: "array", items: { anyOf: [PATH, LOCATION] } },
    host: PATH,
    port: { type: "integer", minimum: 0, maximum: 65_535 },
    executor: { anyOf: [{ type: "string" }, OBJECT] },
    workers: { type: "integer", minimum: 1 },
    limits: OBJECT,
    maxLimits: OBJECT,
    queue: OBJECT,
    policy: {
      type: "object",
      properties: {
        rules: {
          type: "array",
          items: {
            type: "object",
            properties: { tools: true, tags: true, tenants: true, allow: OBJECT },
            required: ["allow"],
            additionalProperties: false,
          },
        },
      },
      required: ["rules"],
      additionalProperties: false,
    },
    secrets: { type: "object", additionalProperties: SECRET },
    kv: {
      type: "object",
      properties: { path: PATH, maxBytes: { type: "integer", minimum: 1 } },
      additionalProperties: false,
    },
    idempotency: {
      type: "object",
      properties: { path: PATH, ttlMs: COUNT, maxEntries: COUNT, maxBytes: COUNT },
      additionalProperties: false,
    },
    fetch: {
      type: "object",
      properties: { connectMs: DURATION, headersMs: DURATION, idleMs: DURATION },
      additionalProperties: false,
    },
    packages: {
      type: "object",
      properties: { origins: TEXTS, privateOrigins: TEXTS, modules: PATH, allow: TEXTS, maxBytes: COUNT },
      additionalProperties: false,
    },
    audit: PATH,
  },
  additionalProperties: false,
};

/** Where a configuration has paths; `*` stands for every name. */
export const PATHS = [
  "tools/*",
  "tools/*/path",
  "audit",
  "kv/path",
  "idempotency/path",
  "packages/modules",
  "secrets/*/file",
  "policy/rules/*/allow/fs/*/path",
  "policy/rules/*/allow/exec/mounts/*/path",
];
