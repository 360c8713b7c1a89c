import { readFile, stat } from "node:fs/promises";
import path from "node:path";
import type { FetchOptions } from "./capabilities/fetch/connections.ts";
import type { EngineOptions } from "./options.ts";
import { isUrl } from "./package/location.ts";
import { MODULE_CONTRACT_NAMES } from "./protocol/script.ts";
import { compileSchema } from "./tool/schema.ts";
import type { ToolLocation } from "./tool/definition.ts";
import { describeViolations, type Violation } from "./tool/violation.ts";

/** What a configuration file says: an engine's options, as far as they are data, and where a server listens. */
export interface Config extends Omit<EngineOptions, "capabilities" | "registry" | "logger" | "tools" | "fetch"> {
  readonly tools?: readonly (string | Omit<ToolLocation, "record">)[];
  readonly fetch?: Omit<FetchOptions, "lookup">;
  readonly host?: string;
  readonly port?: number;
}

/** The names under which a configuration is looked for, in this order. */
export const CONFIG_NAMES: readonly string[] = ["glovebox.config.yaml", "glovebox.config.yml", "glovebox.config.json"];

const FILE_MAX_BYTES = 1024 * 1024;
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

const CONFIG = {
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

/** Thrown where a configuration cannot be used; the message names the file and the place. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

/**
 * Reads `glovebox.config.yaml` or `.json`. Paths in it are meant from where it lies. Rejects with a `ConfigError`
 * where it is not one; what its values mean, `createEngine` checks.
 */
export async function loadConfig(file: string): Promise<Config> {
  const shown = path.basename(file);
  const config = await parse(file, shown);
  const violations = compileSchema(CONFIG, "inputSchema").check(config);
  if (violations.length > 0) throw new ConfigError(`${shown}: ${describeViolations(violations.map(discreet))}`);
  const folder = path.dirname(path.resolve(file));
  return PATHS.reduce((resolved, place) => resolvePaths(resolved, place.split("/"), folder), config) as Config;
}

/** What stands among the secrets may be one, and is not shown. */
function discreet(violation: Violation): Violation {
  const { pointer, keyword, message, received } = violation;
  if (!pointer.startsWith("/secrets")) return violation;
  const isCount = keyword === "minProperties" || keyword === "maxProperties";
  const said = isCount
    ? `${pointer} must have origins, and one of value, env and file`
    : message.replace(`, but got ${received}`, "");
  return { ...violation, message: said };
}

/** The configuration of a folder, where there is one. */
export async function findConfig(folder: string): Promise<string | undefined> {
  for (const name of CONFIG_NAMES) {
    const file = path.join(folder, name);
    if ((await stat(file).catch(() => null))?.isFile() === true) return file;
  }
  return undefined;
}

async function parse(file: string, shown: string): Promise<unknown> {
  const { size } = await stat(file).catch(() => {
    throw new ConfigError(`${shown}: there is no such file`);
  });
  if (size > FILE_MAX_BYTES) throw new ConfigError(`${shown}: it has more than ${FILE_MAX_BYTES} bytes`);
  const text = await readFile(file, "utf8");
  const { readYaml, YamlError } = await import("./yaml-text.ts");
  try {
    return readYaml(text) ?? {};
  } catch (error) {
    throw error instanceof YamlError ? new ConfigError(`${shown}: ${error.message}`) : error;
  }
}

/** Where a configuration has paths; `*` stands for every name. */
const PATHS = [
  "tools/*",
  "tools/*/path",
  "audit",
  "kv/path",
  "packages/modules",
  "secrets/*/file",
  "policy/rules/*/allow/fs/*/path",
  "policy/rules/*/allow/exec/mounts/*/path",
];
/** A name of SQLite's, and no file. */
const NO_FILE = ":memory:";

/** Makes the paths at a place absolute. */
function resolvePaths(value: unknown, place: readonly string[], folder: string): unknown {
  const [name, ...rest] = place;
  if (name === undefined) {
    const isPath = typeof value === "string" && value !== NO_FILE && !isUrl(value);
    return isPath ? path.resolve(folder, value) : value;
  }
  if (typeof value !== "object" || value === null) return value;
  const resolve = (one: unknown): unknown => resolvePaths(one, rest, folder);
  if (Array.isArray(value)) return value.map(resolve);
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, name === "*" || name === key ? resolve(one) : one]),
  );
}
