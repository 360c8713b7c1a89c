import { type Config, CONFIG_SCHEMA, PATHS } from "./schema.ts";
import type { Part } from "./schema-parts.ts";
import path from "node:path";
import { describeKeyViolation } from "../access/keys.ts";
import { hideKeys } from "../access/secret.ts";
import { isObject, nameOfSegment } from "../../kernel/base/json.ts";
import type { Position } from "../../kernel/base/yaml-text.ts";
import { isUrl } from "../../kernel/tool/package/location.ts";
import { compileSchema, type Validator } from "../../kernel/base/schema/schema.ts";
import { describeViolations, unseen, type Violation } from "../../kernel/base/schema/violation.ts";
import { ConfigError, type ConfigFinding } from "./config-error.ts";
import { type ConfigFile, readConfigFile } from "./config-file.ts";
import { fixFor, meantBy, partAt, pathOf, withoutEchoes } from "./repair.ts";

/** Origin of a value. */
export type Source =
  | { readonly kind: "file"; readonly file: string; readonly line: number; readonly column: number }
  | { readonly kind: "variable"; readonly name: string }
  | { readonly kind: "flag"; readonly name: string }
  | { readonly kind: "default" };

/** A value that takes precedence over the file's value at its path. */
export interface Override {
  readonly path: readonly string[];
  readonly value: unknown;
  readonly source: Extract<Source, { readonly kind: "variable" | "flag" }>;
}

/** A validated configuration that records the source of each value. */
export interface Configuration {
  readonly values: Config;
  /** Path of the configuration file, if one was read. */
  readonly file: string | undefined;
  readonly sourceOf: (path: readonly string[]) => Source;
}

/**
 * Checks by the names of their settings: compiling all takes 100 ms of a start, and most configurations have a few.
 * They are cached, as each reload reads a configuration.
 */
const checks = new Map<string, Validator>();
const CHECKS_MAX = 8;

/**
 * Reads the file, if any, applies the overrides in order (the last one wins) and validates the result. Paths in the file
 * are relative to its folder. Rejects with a `ConfigError`.
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
 * Like `readConfiguration`, but returns invalid values as an error beside the configuration without the invalid
 * settings. `tolerates`: repeated names in an object are such an error, too. Rejects with a `ConfigError` if the file
 * cannot be read at all.
 */
export async function readLeniently(
  file: string | undefined,
  overrides: readonly Override[] = [],
  tolerates = false,
): Promise<{ readonly configuration: Configuration; readonly error: ConfigError | null }> {
  const read = file === undefined ? null : await readConfigFile(file, tolerates);
  const own = read === null ? {} : withPaths(read.value, read.folder);
  const said = isObject(own) ? overrides : [];
  const whole = said.reduce((value, over) => named(lay(value, over.path, over.value)), named(own));
  const origin = new Origin(read, overrides);
  const violations = withoutTwins(withoutEchoes(checkOf(whole).check(whole)));
  const sourceOf = (at: readonly string[]): Source => origin.of(at);
  const repeated = read?.repeated ?? [];
  const [first] = violations;
  if (first === undefined && repeated.length === 0) {
    return { configuration: { values: whole as Config, file, sourceOf }, error: null };
  }
  const shown = violations.map(discreet).map(helpful);
  const findings = violations.map((violation, at): ConfigFinding => {
    const rule = violation.keyword === "additionalProperties" ? "config/unknown-key" : "config/value";
    const position = origin.positionOf(violation);
    // A possible secret is not read again.
    const fix = position === null || discreet(violation) !== violation ? null : fixFor(violation, whole);
    return {
      rule,
      place: origin.placeOf(violation),
      ...(position === null ? {} : { position }),
      pointer: hideKeys(shown[at]?.pointer ?? ""),
      message: hideKeys(shown[at]?.message ?? ""),
      ...(fix === null ? {} : { fix }),
    };
  });
  const message =
    first === undefined
      ? `${repeated[0]?.place}: ${repeated[0]?.message}`
      : hideKeys(origin.pointOut(first, describeViolations(shown)));
  return {
    configuration: { values: withoutWrong(whole, violations), file, sourceOf },
    error: new ConfigError(message, [...repeated, ...findings]),
  };
}

/** One violation for each text: a rule of several parts may produce the same text for each of them. */
function withoutTwins(violations: readonly Violation[]): readonly Violation[] {
  const said = new Set<string>();
  return violations.filter((violation) => {
    const { message } = discreet(violation);
    const isNew = !said.has(message);
    said.add(message);
    return isNew;
  });
}

/** The check of these settings, or of all if one is unknown. */
function checkOf(whole: unknown): Validator {
  const { properties: all = {} } = CONFIG_SCHEMA;
  const isKnown = isObject(whole) && Object.keys(whole).every((name) => Object.hasOwn(all, name));
  const given = isKnown ? Object.entries(all).filter(([name]) => Object.hasOwn(whole, name)) : Object.entries(all);
  const key = given.map(([name]) => name).join();
  const kept = checks.get(key);
  if (kept !== undefined) return kept;
  const check = compileSchema({ ...CONFIG_SCHEMA, properties: Object.fromEntries(given) }, "inputSchema");
  const [oldest] = checks.keys();
  if (checks.size === CHECKS_MAX && oldest !== undefined) checks.delete(oldest);
  checks.set(key, check);
  return check;
}

/**
 * The settings without the invalid ones. An invalid rule is replaced by one that allows nothing, and the others keep
 * their indices.
 */
function withoutWrong(whole: unknown, violations: readonly Violation[]): Config {
  if (!isObject(whole)) return {};
  const paths = violations.map(({ pointer }) => pathOf(pointer));
  const rules = new Set(paths.flatMap(([part, list, at]) => (part === "policy" && list === "rules" && at ? [at] : [])));
  const isOfRule = (path: readonly string[]): boolean => path[0] === "policy" && rules.has(path[2] ?? "");
  const wrong = new Set<string | undefined>(paths.filter((path) => !isOfRule(path)).map(([name]) => name));
  const kept = wrong.has("") || wrong.has(undefined) ? [] : Object.entries(whole).filter(([name]) => !wrong.has(name));
  const values = Object.fromEntries(kept) as Config;
  if (rules.size === 0 || values.policy === undefined) return values;
  const policy = { rules: values.policy.rules.map((rule, at) => (rules.has(`${at}`) ? { allow: {} } : rule)) };
  return { ...values, policy };
}

/** Expands an executor given by its kind alone: `executor: KIND` becomes `executor: { kind: KIND }`. */
function named(value: unknown): unknown {
  if (!isObject(value) || typeof value["executor"] !== "string") return value;
  return { ...value, executor: { kind: value["executor"] } };
}

/** A copy of the value with another value set at a path. */
function lay(value: unknown, [name, ...rest]: readonly string[], said: unknown): unknown {
  if (name === undefined) return said;
  const around = isObject(value) ? value : {};
  return { ...around, [name]: lay(Object.hasOwn(around, name) ? around[name] : undefined, rest, said) };
}

/** Finds the source of each value. */
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

  /** Formats the problem of a value, prefixed with its place. */
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
    const position = this.positionOf(violation);
    return position === null ? "" : `${this.#file?.shown}:${position.line}:${position.column}`;
  }

  /** `null` for a value that is not the file's. */
  positionOf(violation: Violation): Position | null {
    if (this.#file === null || this.#overrideOf(violation) !== undefined) return null;
    return this.#positionOf(this.#file, violation);
  }

  #overrideOf({ pointer }: Violation): Override | undefined {
    const at = pathOf(pointer);
    // A missing value is attributed to the source of its parent.
    return this.#overrides.findLast(({ path: over }) => isWithin(at, over) || isWithin(over, at));
  }

  #positionOf(file: ConfigFile, { pointer, keyword }: Violation): Position {
    return file.positionOf(pathOf(pointer), NAMED.has(keyword) ? "key" : "value");
  }
}

/** Schema keywords that check a property's name, not its value. */
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

/** Removes values from violations of secrets, keys, tool configuration, executor options and Redis addresses. */
function discreet(violation: Violation): Violation {
  const { pointer, keyword } = violation;
  if (pointer.startsWith("/keys")) return describeKeyViolation(violation);
  if (pointer.startsWith("/oauth/introspection")) return unseen(violation);
  if (pointer.startsWith("/executor/")) return keyword === "additionalProperties" ? violation : unseen(violation);
  if (pointer === "/kv" || pointer === "/kv/url") return unseen(violation);
  if (pointer.startsWith("/idempotency")) return discreetOfRedis(violation);
  if (pointer === "/calls/url" || pointer === "/calls/secret") return unseen(violation);
  if (pointer.startsWith("/calls/notify/") && keyword !== "additionalProperties") return unseen(violation);
  if (!/^\/(?:secrets|tools\/\d+\/config)(?:\/|$)/.test(pointer)) return violation;
  if (keyword === "additionalProperties") {
    // In a malformed file, a secret may be parsed as a property name.
    const around = pointer.slice(0, pointer.lastIndexOf("/"));
    const message = `${around} has a property that is not one of ${knownNames(around).join(", ")}`;
    return { ...violation, pointer: around, keyword: "propertyNames", message };
  }
  if (keyword !== "oneOf") return unseen(violation);
  return { ...violation, message: `${pointer} must have bind, and one of value, env and file` };
}

/** Names of the properties that a secret, or one of its bindings, may have. */
function knownNames(pointer: string): readonly string[] {
  const secret = CONFIG_SCHEMA.properties?.["secrets"]?.["additionalProperties"] as Part;
  const binding = secret.properties?.["bind"]?.["items"] as Part;
  return Object.keys((/\/bind\/\d+$/.test(pointer) ? binding : secret).properties ?? {});
}

/** Hides the Redis URL's password and the secret beside it; a malformed file may parse either as a property name. */
function discreetOfRedis(violation: Violation): Violation {
  const { pointer, keyword } = violation;
  if (keyword !== "additionalProperties") return unseen(violation);
  const around = pointer.slice(0, pointer.lastIndexOf("/"));
  const known = Object.keys(CONFIG_SCHEMA.properties?.["idempotency"]?.properties ?? {});
  const message = `${around} has a property that is not one of ${known.join(", ")}`;
  return { ...violation, pointer: around, keyword: "propertyNames", message };
}

/** Suggests the nearest known setting name, if one is close, instead of listing all names. */
function helpful(violation: Violation): Violation {
  if (violation.keyword !== "additionalProperties") return violation;
  const [name = "", ...around] = violation.pointer.split("/").slice(1).reverse();
  const known = Object.keys(partAt(around.toReversed().map(nameOfSegment))?.properties ?? {});
  const meant = meantBy(violation.pointer);
  const shown = around.length === 0 ? name : violation.pointer;
  if (meant !== undefined) return { ...violation, message: `there is no setting ${shown}; is ${meant} meant?` };
  // In a malformed file, a secret may be parsed as a name.
  if (around.at(-1) !== "executor") return violation;
  return {
    ...violation,
    message: `/${around.toReversed().join("/")} has a property that is not one of ${known.join(", ")}`,
  };
}

/** SQLite's name of an in-memory database, not a path. */
const NO_FILE = ":memory:";

/** A copy of the value with all its paths absolute. */
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
