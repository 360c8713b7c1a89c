import { MissingRefError, type Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import type { JsonSchema } from "../json.ts";
import { PatternError } from "./pattern.ts";
import { dialectOf, newMeteredAjv, type Dialect } from "./schema-dialect.ts";
import { findPointer, readSchema, schemaError, writeSchema, type SchemaPlace } from "./schema-text.ts";
import { boundViolation, toViolations, type Violation } from "./violation.ts";
import { WorkExceededError, WorkMeter } from "./work-meter.ts";

/** Checks values against a schema that was compiled once. */
export interface Validator {
  /** Whether `check` may write defaults into a value: only then does the caller need a copy of its own. */
  readonly hasDefaults: boolean;
  /** What is wrong with a value, `[]` where nothing is. Defaults of the schema are written INTO the value. */
  check(value: unknown): readonly Violation[];
}

/**
 * Steps that one check may take. The worst there are take a second, most far less, and ordinary arguments of 1 MiB need
 * a fifth of them.
 */
const MAX_STEPS = 10_000_000;
/** Values with more parts get only the first violation: a list of all of them can be far larger than the value. */
const MAX_EXPLAINED_PARTS = 20_000;
const VALID: readonly Violation[] = Object.freeze([]);

/** Schemas that are remembered, and the longest text of one. */
const MAX_REMEMBERED = 500;
const MAX_REMEMBERED_LENGTH = 4 * 1024;

/**
 * Validators in use, by the texts of their schemas and least recently asked for first. Compiling costs this thread more
 * than all else about a small tool, and a tool whose code is replaced keeps its schemas. The references are weak, since
 * a short pattern can take megabytes: a validator goes with the last tool that has it.
 */
const inUse = new Map<string, WeakRef<Validator>>();

/** Meta-schemas are compiled once for each dialect. */
const metaSchemas = new Map<Dialect, Ajv>();
const metaMeter = new WorkMeter();

/**
 * Compiles a schema; its dialect is read from `$schema`, draft-07 where there is none.
 * A short schema that is in use already gets the validator that it has: no validator remembers anything of a value.
 * Each schema has a compiler of its own: `$id`s of different tools never meet, and it goes when its validator goes.
 * Nothing is ever loaded: a `$ref` has to point into the schema itself.
 *
 * Throws a `GloveboxError` with `load_error` that points to what is wrong.
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
  /** Stops at the first error: what every call pays for. */
  readonly #decide: ValidateFunction;
  /** Goes on to find every error: compiled when the first value fails. */
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
      // ajv follows a value's nesting by calling itself.
      if (error instanceof RangeError) return [boundViolation("depth", "less deeply nested")];
      throw error;
    } finally {
      // Errors point to the value, which should not outlive its call.
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
    // Adding the dialect's own schemas takes longer than compiling most: only references and names can meet them.
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

/** The dialect is chosen: ajv need not know every way to write its address. */
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
