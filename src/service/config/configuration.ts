import { type Config, CONFIG_SCHEMA, type Part, PATHS } from "./schema.ts";
import path from "node:path";
import { describeKeyViolation } from "../access/keys.ts";
import { hideKeys } from "../access/secret.ts";
import { isObject } from "../../base/json.ts";
import type { Position } from "../../base/yaml-text.ts";
import { isUrl } from "../../tool/package/location.ts";
import { compileSchema, type Validator } from "../../base/schema/schema.ts";
import { describeViolations, unseen, type Violation } from "../../base/schema/violation.ts";
import { ConfigError, type ConfigFinding } from "./config-error.ts";
import { type ConfigFile, readConfigFile } from "./config-file.ts";
import { nearest } from "./names.ts";

/** Where a value comes from. */
export type Source =
  | { readonly kind: "file"; readonly file: string; readonly line: number; readonly column: number }
  | { readonly kind: "variable"; readonly name: string }
  | { readonly kind: "flag"; readonly name: string }
  | { readonly kind: "default" };

/** A value that goes before what the file says at its path. */
export interface Override {
  readonly path: readonly string[];
  readonly value: unknown;
  readonly source: Extract<Source, { readonly kind: "variable" | "flag" }>;
}

/** A configuration that has been read and checked, and knows where each of its values comes from. */
export interface Configuration {
  readonly values: Config;
  /** The file, where there is one. */
  readonly file: string | undefined;
  readonly sourceOf: (path: readonly string[]) => Source;
}

/** Compiling the configuration's schema takes a tenth of a second, and each reload reads a configuration. */
let compiled: Validator | undefined;

/**
 * Reads a file, where there is one, lays over it what goes before it, the last one last, and checks the whole. Paths in the
 * file are relative to its folder. Rejects with a `ConfigError`.
 */
export async function readConfiguration(
  file: string | undefined,
  overrides: readonly Override[] = [],
): Promise<Configuration> {
  const { configuration, error } = await readLeniently(file, overrides);
  if (error !== null) throw error;
  return configuration;
}

/**
 * The same, but where values are wrong it gives the error, and the configuration without the settings that are wrong.
 * Rejects with a `ConfigError` where the file cannot be read at all.
 */
export async function readLeniently(
  file: string | undefined,
  overrides: readonly Override[] = [],
): Promise<{ readonly configuration: Configuration; readonly error: ConfigError | null }> {
  const read = file === undefined ? null : await readConfigFile(file);
  const own = read === null ? {} : withPaths(read.value, read.folder);
  const said = isObject(own) ? overrides : [];
  const whole = said.reduce((value, over) => named(lay(value, over.path, over.value)), named(own));
  const origin = new Origin(read, overrides);
  compiled ??= compileSchema(CONFIG_SCHEMA, "inputSchema");
  const violations = compiled.check(whole);
  const [first] = violations;
  const shown = violations.map(discreet).map(helpful);
  const sourceOf = (at: readonly string[]): Source => origin.of(at);
  if (first === undefined) return { configuration: { values: whole as Config, file, sourceOf }, error: null };
  const findings = violations.map((violation, at): ConfigFinding => {
    const rule = violation.keyword === "additionalProperties" ? "config/unknown-key" : "config/value";
    return { rule, place: origin.placeOf(violation), message: hideKeys(shown[at]?.message ?? "") };
  });
  const wrong = new Set(violations.map(({ pointer }) => unescape(pointer.split("/")[1] ?? "")));
  const kept = isObject(whole) && !wrong.has("") ? Object.entries(whole).filter(([name]) => !wrong.has(name)) : [];
  return {
    configuration: { values: Object.fromEntries(kept), file, sourceOf },
    error: new ConfigError(hideKeys(origin.pointOut(first, describeViolations(shown))), findings),
  };
}

/** An executor may be said by its kind alone. */
function named(value: unknown): unknown {
  if (!isObject(value) || typeof value["executor"] !== "string") return value;
  return { ...value, executor: { kind: value["executor"] } };
}

/** The value with another one at a path. */
function lay(value: unknown, [name, ...rest]: readonly string[], said: unknown): unknown {
  if (name === undefined) return said;
  const around = isObject(value) ? value : {};
  return { ...around, [name]: lay(Object.hasOwn(around, name) ? around[name] : undefined, rest, said) };
}

/** Whose word each value is. */
class Origin {
  readonly #file: ConfigFile | null;
  readonly #overrides: readonly Override[];

  constructor(file: ConfigFile | null, overrides: readonly Override[]) {
    this.#file = file;
    this.#overrides = overrides;
  }

  of(at: readonly string[]): Source {
    const override = this.#overrides.findLast(({ path: over }) => isWithin(at, over));
    if (override !== undefined) return override.source;
    if (this.#file === null || !has(named(this.#file.value), at)) return { kind: "default" };
    return { kind: "file", file: this.#file.shown, ...this.#file.positionOf(at) };
  }

  /** The problem with a value, after its place. */
  pointOut(violation: Violation, problem: string): string {
    if (this.#file !== null && this.#overrideOf(violation) === undefined) {
      return this.#file.pointOut(this.#positionOf(this.#file, violation), problem);
    }
    const place = this.placeOf(violation);
    return place === "" ? problem : `${place}: ${problem}`;
  }

  /** The place of a wrong value: a position in the file, or the name of a variable or a flag. */
  placeOf(violation: Violation): string {
    const override = this.#overrideOf(violation);
    if (override !== undefined) return override.source.name;
    if (this.#file === null) return "";
    const { line, column } = this.#positionOf(this.#file, violation);
    return `${this.#file.shown}:${line}:${column}`;
  }

  #overrideOf({ pointer }: Violation): Override | undefined {
    const at = pathOf(pointer);
    // A value is missing where the value around it comes from.
    return this.#overrides.findLast(({ path: over }) => isWithin(at, over) || isWithin(over, at));
  }

  #positionOf(file: ConfigFile, { pointer, keyword }: Violation): Position {
    return file.positionOf(pathOf(pointer), NAMED.has(keyword) ? "key" : "value");
  }
}

/** Keywords that are about a name, and not about its value. */
const NAMED: ReadonlySet<string> = new Set(["additionalProperties", "propertyNames"]);

function isWithin(inner: readonly string[], outer: readonly string[]): boolean {
  return outer.every((name, at) => inner[at] === name);
}

function has(value: unknown, [name, ...rest]: readonly string[]): boolean {
  if (name === undefined) return true;
  return (
    typeof value === "object" && value !== null && Object.hasOwn(value, name) && has(Reflect.get(value, name), rest)
  );
}

function pathOf(pointer: string): readonly string[] {
  return pointer.split("/").slice(1).map(unescape);
}

/** A key of a JSON pointer as it was. */
function unescape(key: string): string {
  return key.replaceAll("~1", "/").replaceAll("~0", "~");
}

/** What stands among the secrets, the keys, what tools are given, what reaches a fleet or says where a Redis is, is not shown. */
function discreet(violation: Violation): Violation {
  const { pointer, keyword } = violation;
  if (pointer.startsWith("/keys")) return describeKeyViolation(violation);
  if (pointer.startsWith("/executor/")) return keyword === "additionalProperties" ? violation : unseen(violation);
  if (pointer === "/kv" || pointer === "/kv/url") return unseen(violation);
  if (pointer.startsWith("/idempotency")) return discreetOfRedis(violation);
  if (!/^\/(?:secrets|tools\/\d+\/config)(?:\/|$)/.test(pointer)) return violation;
  if (keyword === "additionalProperties") {
    // A text that is broken may have made a name of it.
    const around = pointer.slice(0, pointer.lastIndexOf("/"));
    const message = `${around} has a property that is not one of value, env, file and origins`;
    return { ...violation, pointer: around, keyword: "propertyNames", message };
  }
  if (keyword !== "minProperties" && keyword !== "maxProperties") return unseen(violation);
  return { ...violation, message: `${pointer} must have origins, and one of value, env and file` };
}

/** The place of a Redis has a password, and a secret beside it; a text that is broken may have made a name of either. */
function discreetOfRedis(violation: Violation): Violation {
  const { pointer, keyword } = violation;
  if (keyword !== "additionalProperties") return unseen(violation);
  const around = pointer.slice(0, pointer.lastIndexOf("/"));
  const known = Object.keys(CONFIG_SCHEMA.properties?.["idempotency"]?.properties ?? {});
  const message = `${around} has a property that is not one of ${known.join(", ")}`;
  return { ...violation, pointer: around, keyword: "propertyNames", message };
}

/** Says which name may be meant, where that can be told, instead of all that there are. */
function helpful(violation: Violation): Violation {
  if (violation.keyword !== "additionalProperties") return violation;
  const [name = "", ...around] = violation.pointer.split("/").slice(1).reverse();
  const part = around.reduceRight<Part | undefined>((outer, one) => outer?.properties?.[one], CONFIG_SCHEMA);
  const known = Object.keys(part?.properties ?? {});
  const meant = nearest(name, known);
  if (meant !== undefined) return { ...violation, message: `there is no setting ${name}; is ${meant} meant?` };
  // A text that is broken may have made a name of a secret.
  if (around.at(-1) !== "executor") return violation;
  return {
    ...violation,
    message: `/${around.toReversed().join("/")} has a property that is not one of ${known.join(", ")}`,
  };
}

/** A name of SQLite's, and no file. */
const NO_FILE = ":memory:";

/** The value with all its paths absolute. */
function withPaths(value: unknown, folder: string): unknown {
  return PATHS.reduce((resolved, place) => resolvePaths(resolved, place.split("/"), folder), value);
}

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
