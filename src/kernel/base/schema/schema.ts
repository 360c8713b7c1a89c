import type { Ajv, ErrorObject, Format, ValidateFunction } from "ajv";
import { fullFormats } from "ajv-formats/dist/formats.js";
import { BoundedCache } from "../bounded-cache.ts";
import { mayHaveLongInteger, parseWithBigInts } from "../exact-json.ts";
import type { JsonSchema } from "../json.ts";
import { ajv as library } from "./ajv.ts";
import { patternOf, violationsIn } from "./check-runtime.ts";
import { spellNumbers } from "./exact-numbers.ts";
import { spellProtoProperties } from "./proto-property.ts";
import { schemaNodes } from "./schema-nodes.ts";
import { dialectOf, type Dialect, newCompiler, type TextTest } from "./schema-dialect.ts";
import { findPointer, readSchema, schemaError, writeSchema, type SchemaPlace } from "./schema-text.ts";
import type { Violation } from "./violation.ts";

/** Checks values against a schema that was compiled once. */
export interface Validator {
  /** Whether `check` may write defaults into a value: only then must the caller pass a copy. */
  readonly hasDefaults: boolean;
  /** The violations of a value; `[]` if it is valid. Writes the schema's defaults INTO the value. */
  check(value: unknown): readonly Violation[];
}

/** Maximum length of a URL: the format's expression takes quadratic time. */
const URL_MAX = 4_096;
/** Maximum length of a string that is matched for the list of all violations, in characters. */
const EXPLAINED_MAX = 1_000;
/** Maximum number of violations in that list. */
const VIOLATIONS_MAX = 50;
const VALID: readonly Violation[] = Object.freeze([]);

/** Maximum number of cached schemas, and maximum text length of one. */
const MAX_REMEMBERED = 500;
const MAX_REMEMBERED_LENGTH = 4 * 1024;

/**
 * Validators in use by the texts of their schemas, least recently used first: compiling takes milliseconds, and engines
 * that are opened again have the same capabilities and configuration. The references are weak: a validator is freed
 * with its last user.
 */
const inUse = new BoundedCache<WeakRef<Validator>>(MAX_REMEMBERED);

/** Compiled meta-schemas, one per dialect. */
const metaSchemas = new Map<Dialect, Ajv>();

/**
 * Compiles a schema. `$schema` selects the dialect, else its keywords do. Short schemas in use share a validator, which
 * keeps no state of a value. Each schema has a compiler of its own: `$id`s of different schemas never collide, and it
 * is freed with its validator. Remote schemas are never loaded: a `$ref` must point into the schema itself.
 *
 * Only for schemas of Glovebox, the operator and the embedder: the time of a check is unbounded. Values for schemas of
 * tools are checked in isolates.
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
  inUse.set(key, new WeakRef(validator));
  return validator;
}

function compileText(text: string, where: SchemaPlace): Validator {
  const { plain, dialect } = readValid(text, where);
  return new CompiledSchema(plain, dialect, where);
}

/** A private copy of a schema that its dialect's meta-schema allows. Throws a `GloveboxError` with `load_error`. */
export function readValid(text: string, where: SchemaPlace): { readonly plain: JsonSchema; readonly dialect: Dialect } {
  const copy = readSchema(text, where);
  const dialect = dialectOf(copy);
  if (dialect === undefined) {
    const problem = "names a dialect that is not supported; use draft-07, 2019-09 or 2020-12, or leave it out";
    throw schemaError(where, "/$schema", problem);
  }
  const plain = withoutDialect(copy);
  const exact = mayHaveLongInteger(text) ? withoutDialect(parseWithBigInts(text) as JsonSchema) : plain;
  if (exact !== plain) takeEnums(plain, exact);
  checkAgainstMetaSchema(plain, dialect, where);
  if (typeof plain === "object" && plain["$async"] === true) {
    throw schemaError(where, "/$async", "is not JSON Schema; leave it out");
  }
  spellProtoProperties(exact, text);
  spellNumbers(exact);
  return { plain: exact, dialect };
}

/** Gives a schema the lists of values of its exact copy: other numbers may differ in the digits that rounding loses. */
function takeEnums(plain: JsonSchema, exact: JsonSchema): void {
  const others = schemaNodes(exact);
  for (const { node } of schemaNodes(plain)) {
    const other = others.next().value?.node;
    if (Array.isArray(node["enum"])) node["enum"] = other?.["enum"];
  }
}

class CompiledSchema implements Validator {
  readonly hasDefaults: boolean;
  readonly #schema: JsonSchema;
  readonly #dialect: Dialect;
  readonly #where: SchemaPlace;
  readonly #violationsIn: (value: unknown) => readonly Violation[] | null;

  constructor(schema: JsonSchema, dialect: Dialect, where: SchemaPlace) {
    this.#schema = schema;
    this.#dialect = dialect;
    this.#where = where;
    this.hasDefaults = findPointer(schema, (key) => key === "default") !== "";
    const decide = this.#compile(false);
    // Most values are valid, so that which collects all errors is compiled when the first one is not.
    const code = { decide: () => decide, explain: () => this.#compile(true) };
    const violations = violationsIn(code, { max: VIOLATIONS_MAX });
    this.#violationsIn = (value) => violations({ value });
  }

  check(value: unknown): readonly Violation[] {
    return this.#violationsIn(value) ?? VALID;
  }

  #compile(allErrors: boolean): ValidateFunction {
    // Adding the dialect's meta-schemas takes longer than compiling most schemas; only references and ids need them.
    const meta = findPointer(this.#schema, (key) => key.startsWith("$")) !== "";
    const pattern = allErrors ? readShortPattern : readPattern;
    try {
      return newCompiler(this.#dialect, { allErrors, meta, takesDigits: true, pattern, formats: FORMATS }).compile(
        this.#schema,
      );
    } catch (error) {
      throw compileError(error, this.#schema, this.#where);
    }
  }
}

/** A `pattern` that cannot be used; the message has the reason. */
export class PatternError extends Error {
  override readonly name = "PatternError";
  readonly pattern: string;

  constructor(pattern: string, cause: unknown) {
    const reason = cause instanceof Error ? cause.message.replace(/^.*: /s, "") : "";
    super(`is not a regular expression: ${reason.slice(0, 200)}`);
    this.pattern = pattern;
  }
}

/** Reads a `pattern`. Throws a `PatternError`. */
export function readPattern(pattern: string, flags: string): RegExp {
  try {
    return patternOf(pattern, flags);
  } catch (error) {
    throw new PatternError(pattern, error);
  }
}

/**
 * A pattern that ignores a long string. The list of all violations also checks strings that exceed their `maxLength`,
 * which is there to bound the time of the pattern.
 */
function readShortPattern(pattern: string, flags: string): TextTest {
  const expression = readPattern(pattern, flags);
  return {
    test: (text) => text.length > EXPLAINED_MAX || expression.test(text),
    toString: () => String(expression),
  };
}

const { url: URL_FORMAT } = fullFormats;
const FORMATS: Record<string, Format> = {
  ...fullFormats,
  url: (text: string) => text.length <= URL_MAX && URL_FORMAT instanceof RegExp && URL_FORMAT.test(text),
};

function checkAgainstMetaSchema(schema: JsonSchema, dialect: Dialect, where: SchemaPlace): void {
  let ajv = metaSchemas.get(dialect);
  if (ajv === undefined) {
    ajv = newCompiler(dialect, { pattern: readPattern, formats: FORMATS });
    metaSchemas.set(dialect, ajv);
  }
  if (ajv.validateSchema(schema) === true) return;
  const error = ajv.errors?.[0];
  throw schemaError(where, error?.instancePath ?? "", `is not valid JSON Schema ${dialect}: ${metaProblem(error)}`);
}

function metaProblem(error: ErrorObject | undefined): string {
  const allowed: unknown = error?.params["allowedValues"];
  const values = Array.isArray(allowed) ? `: ${allowed.map(String).join(", ")}` : "";
  return `it ${error?.message ?? "does not fit the meta-schema"}${values}`;
}

/** The error of a schema that ajv does not compile. */
export function compileError(error: unknown, schema: JsonSchema, where: SchemaPlace): Error {
  if (error instanceof PatternError) {
    const { pattern } = error;
    const pointer = findPointer(schema, (key, value) => key === pattern || (key === "pattern" && value === pattern));
    return schemaError(where, pointer, `has a pattern that cannot be used: it ${error.message}`);
  }
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof library().MissingRefError) {
    const fragment = error.missingRef.replace(/^[^#]*/, "");
    const isIt = (key: string, value: unknown): boolean =>
      /^\$(?:ref|dynamicRef|recursiveRef)$/.test(key) &&
      typeof value === "string" &&
      (value === error.missingRef || error.missingRef.endsWith(value) || (fragment !== "" && value.endsWith(fragment)));
    const problem = "refers to a schema that is not there; nothing is loaded, so put it into this schema's definitions";
    return schemaError(where, findPointer(schema, isIt), problem);
  }
  if (error instanceof RangeError)
    return schemaError(
      where,
      "",
      "is too large to be compiled in one piece, or its $id and $ref lead to each other without end; split it with definitions and $ref",
    );
  return schemaError(where, "", `cannot be compiled: ${message.slice(0, 500)}`);
}

/** Removes `$schema`: the dialect is already known, and ajv rejects some spellings of its URI. */
function withoutDialect(schema: JsonSchema): JsonSchema {
  if (typeof schema === "boolean") return schema;
  const { $schema: _dialect, ...rest } = schema;
  return rest;
}
