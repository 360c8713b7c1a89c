import { readFile, stat } from "node:fs/promises";
import path from "node:path";
import { isUrl } from "../package/location.ts";
import { type Config, PATHS, CONFIG_SCHEMA } from "./schema.ts";
import { compileSchema } from "../tool/schema.ts";
import { describeKeyViolation } from "../access/keys.ts";
import { hideKeys } from "../access/secret.ts";
import { describeViolations, unseen, type Violation } from "../tool/violation.ts";

/** The names under which a configuration is looked for, in this order. */
export const CONFIG_NAMES: readonly string[] = ["glovebox.config.yaml", "glovebox.config.yml", "glovebox.config.json"];

const FILE_MAX_BYTES = 1024 * 1024;
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
  const violations = compileSchema(CONFIG_SCHEMA, "inputSchema").check(config);
  if (violations.length > 0)
    throw new ConfigError(`${shown}: ${hideKeys(describeViolations(violations.map(discreet)))}`);
  const folder = path.dirname(path.resolve(file));
  return PATHS.reduce((resolved, place) => resolvePaths(resolved, place.split("/"), folder), config) as Config;
}

/** What stands among the secrets and keys may be one, and is not shown. */
function discreet(violation: Violation): Violation {
  const { pointer, keyword } = violation;
  if (pointer.startsWith("/keys")) return describeKeyViolation(violation);
  if (!pointer.startsWith("/secrets")) return violation;
  const isCount = keyword === "minProperties" || keyword === "maxProperties";
  if (!isCount) return unseen(violation);
  return { ...violation, message: `${pointer} must have origins, and one of value, env and file` };
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
  const { readYaml, YamlError } = await import("../yaml-text.ts");
  try {
    return readYaml(text) ?? {};
  } catch (error) {
    throw error instanceof YamlError ? new ConfigError(`${shown}: ${error.message}`) : error;
  }
}

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
