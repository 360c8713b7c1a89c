import { MissingRefError, type Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import type { JsonSchema } from "../json.ts";
import { PatternError } from "./pattern.ts";
import { dialectOf, newMeteredAjv, type Dialect } from "./schema-dialect.ts";
import { findPointer, readSchema, schemaError, writeSchema, type SchemaPlace } from "./schema-text.ts";
import { boundViolation, toViolations, type Violation } from "./violation.ts";
import { WorkExceededError, WorkMeter } from "./work-meter.ts";

/** Checks values against a schema that was compiled once. */
export interface Validator {
  /** Whether `check` may write defaults into a value: only then must the caller pass a copy. */
  readonly hasDefaults: boolean;
  /** The violations of a value; `[]` if it is valid. Writes the schema's defaults INTO the value. */
  check(value: unknown): readonly Violation[];
}

/**
 * Maximum steps of one check. The worst checks with this many take a second; ordinary arguments of 1 MiB need a fifth
 * of it.
 */
const MAX_STEPS = 10_000_000;
/** Values with more parts get only their first violation: the list of all can be far larger than the value. */
const MAX_EXPLAINED_PARTS = 20_000;
const VALID: readonly Violation[] = Object.freeze([]);

/** Maximum number of cached schemas, and maximum text length of one. */
const MAX_REMEMBERED = 500;
const MAX_REMEMBERED_LENGTH = 4 * 1024;

/**
 * Validators in use by the texts of their schemas, least recently used first. Compiling is the most expensive part of
 * registering a small tool on this thread, and a tool whose code is replaced keeps its schemas. The references are
 * weak, because a short pattern can take megabytes: a validator is freed with its last tool.
 */
const inUse = new Map<string, WeakRef<Validator>>();

/** Compiled meta-schemas, one per dialect. */
const metaSchemas = new Map<Dialect, Ajv>();
const metaMeter = new WorkMeter();

/**
 * Compiles a schema. `$schema` selects the dialect; default: draft-07. Short schemas in use share a validator, which
 * keeps no state of a value. Each schema has a compiler of its own: `$id`s of different tools never collide, and it is
 * freed with its validator. Nothing is ever loaded: a `$ref` must point into the schema itself.
 *
 * Throws a `GloveboxError` with `load_error` that points to the mistake.
 */
export function compileSchema(schema: JsonSchema, where: SchemaPlace): Validator {
  const text = writeSchema(schema, where);
  return text.length > MAX_REMEMBERED_LENGTH ? compileText(text, where) : remembered(text, where);
}

function remembered(text: string, where: SchemaPlace): Validator {
  const key = `${where} ${text}`;
  const validator = inUse.get(key)?.deref() ?? compileText(text, where);
  inUse.delete(key);
  inUse.set(key, new WeakRef(validator));
  const [oldest] = inUse.keys();
  if (inUse.size > MAX_REMEMBERED && oldest !== undefined) inUse.delete(oldest);
  return validator;
}

function compileText(text: string, where: SchemaPlace): Validator {
  const copy = readSchema(text, where);
  const dialect = dialectOf(copy);
  if (dialect === undefined) {
    const problem = "names a dialect that is not supported; use draft-07, 2019-09 or 2020-12, or leave it out";
    throw schemaError(where, "/$schema", problem);
  }
  const plain = withoutDialect(copy);
  checkAgainstMetaSchema(plain, dialect, where);
  if (typeof plain === "object" && plain["$async"] === true) {
    throw schemaError(where, "/$async", "is not JSON Schema; leave it out");
  }
  return new CompiledSchema(plain, dialect, where);
}

class CompiledSchema implements Validator {
  readonly hasDefaults: boolean;
  readonly #schema: JsonSchema;
  readonly #dialect: Dialect;
  readonly #where: SchemaPlace;
  readonly #meter = new WorkMeter();
  /** Stops at the first error: run for every call. */
  readonly #decide: ValidateFunction;
  /** Collects all errors: compiled when the first value fails. */
  #explain: ValidateFunction | undefined;

  constructor(schema: JsonSchema, dialect: Dialect, where: SchemaPlace) {
    this.#schema = schema;
    this.#dialect = dialect;
    this.#where = where;
    this.hasDefaults = findPointer(schema, (key) => key === "default") !== "";
    this.#decide = this.#compile(false);
  }

  check(value: unknown): readonly Violation[] {
    try {
      this.#meter.refill(MAX_STEPS);
      if (this.#decide(value) === true) return VALID;
      return toViolations(this.#explained(value) ?? this.#decide.errors ?? []);
    } catch (error) {
      if (error instanceof WorkExceededError) {
        return [boundViolation("work", `simple enough to be checked in ${MAX_STEPS} steps; send less`)];
      }
      // ajv recurses into nested values.
      if (error instanceof RangeError) return [boundViolation("depth", "less deeply nested")];
      throw error;
    } finally {
      // Errors hold the value, which must not outlive its call.
      this.#decide.errors = null;
      if (this.#explain !== undefined) this.#explain.errors = null;
    }
  }

  #explained(value: unknown): ErrorObject[] | undefined {
    if (hasMoreParts(value, MAX_EXPLAINED_PARTS)) return undefined;
    this.#explain ??= this.#compile(true);
    this.#meter.refill(MAX_EXPLAINED_PARTS * 50);
    try {
      return this.#explain(value) === true ? undefined : (this.#explain.errors ?? undefined);
    } catch (error) {
      if (error instanceof WorkExceededError || error instanceof RangeError) return undefined;
      throw error;
    }
  }

  #compile(allErrors: boolean): ValidateFunction {
    // Adding the dialect's meta-schemas takes longer than compiling most schemas; only references and ids need them.
    const meta = findPointer(this.#schema, (key) => key.startsWith("$")) !== "";
    try {
      return newMeteredAjv(this.#dialect, this.#meter, { allErrors, verbose: true, meta }).compile(this.#schema);
    } catch (error) {
      throw compileError(error, this.#schema, this.#where);
    }
  }
}

function checkAgainstMetaSchema(schema: JsonSchema, dialect: Dialect, where: SchemaPlace): void {
  let ajv = metaSchemas.get(dialect);
  if (ajv === undefined) {
    ajv = newMeteredAjv(dialect, metaMeter, {});
    metaSchemas.set(dialect, ajv);
  }
  try {
    metaMeter.refill(MAX_STEPS);
    if (ajv.validateSchema(schema) === true) return;
  } catch (error) {
    if (error instanceof WorkExceededError) throw schemaError(where, "", "is too large to be checked; make it smaller");
    throw error;
  }
  const error = ajv.errors?.[0];
  throw schemaError(where, error?.instancePath ?? "", `is not valid JSON Schema ${dialect}: ${metaProblem(error)}`);
}

function metaProblem(error: ErrorObject | undefined): string {
  const allowed: unknown = error?.params["allowedValues"];
  const values = Array.isArray(allowed) ? `: ${allowed.map(String).join(", ")}` : "";
  return `it ${error?.message ?? "does not fit the meta-schema"}${values}`;
}

function compileError(error: unknown, schema: JsonSchema, where: SchemaPlace): Error {
  if (error instanceof PatternError) {
    const { pattern } = error;
    const pointer = findPointer(schema, (key, value) => key === pattern || (key === "pattern" && value === pattern));
    return schemaError(where, pointer, `has a pattern that cannot be used: it ${error.message}`);
  }
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof MissingRefError) {
    const fragment = error.missingRef.replace(/^[^#]*/, "");
    const isIt = (key: string, value: unknown): boolean =>
      /^\$(?:ref|dynamicRef|recursiveRef)$/.test(key) &&
      typeof value === "string" &&
      (value === error.missingRef || error.missingRef.endsWith(value) || (fragment !== "" && value.endsWith(fragment)));
    const problem = "refers to a schema that is not there; nothing is loaded, so put it into this schema's definitions";
    return schemaError(where, findPointer(schema, isIt), problem);
  }
  if (error instanceof RangeError)
    return schemaError(where, "", "is too large to be compiled in one piece; split it with definitions and $ref");
  return schemaError(where, "", `cannot be compiled: ${message.slice(0, 500)}`);
}

/** Removes `$schema`: the dialect is already known, and ajv does not know all spellings of its URI. */
function withoutDialect(schema: JsonSchema): JsonSchema {
  if (typeof schema === "boolean") return schema;
  const { $schema: _dialect, ...rest } = schema;
  return rest;
}

function hasMoreParts(value: unknown, limit: number): boolean {
  const open: unknown[] = [value];
  for (let parts = 0; open.length > 0; parts++) {
    if (parts + open.length > limit) return true;
    const part = open.pop();
    if (typeof part !== "object" || part === null) continue;
    if (Array.isArray(part) && part.length > limit) return true;
    for (const child of Object.values(part)) open.push(child);
  }
  return false;
}
