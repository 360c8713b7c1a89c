import { fullFormats } from "ajv-formats/dist/formats.js";
import { GloveboxError } from "../errors.ts";
import { parseWithBigInts } from "../exact-json.ts";
import { isObject, type JsonSchema, pointerSegment } from "../json.ts";
import { writeJson } from "../json-writer.ts";
import { NO_CHECKS, type ToolChecks } from "../protocol/script.ts";
import { standaloneCode } from "./ajv.ts";
import { type Dialect, newCompiler } from "./schema-dialect.ts";
import { schemaNodes } from "./schema-nodes.ts";
import { compileError, compileSchema, readPattern, readValid } from "./schema.ts";
import { findPointer, schemaError, type SchemaPlace, writeSchema } from "./schema-text.ts";
import type { Violation } from "./violation.ts";

/** Maximum length of a schema's code, in characters: every isolate of its tool holds it. */
const CODE_MAX = 256 * 1024;
/** Keywords that only describe. */
const NOTES: ReadonlySet<string> = new Set(["$schema", "$comment", "title", "description", "examples"]);

/**
 * Generates the code that checks a tool's arguments and output, as text: it runs in the tool's isolate, never here.
 * Throws a `GloveboxError` with `load_error` that points to the mistake.
 */
export function compileChecks(inputSchema: JsonSchema, outputSchema: JsonSchema | null): ToolChecks {
  const input = compileCheck(inputSchema, "inputSchema");
  const output = outputSchema === null ? NO_CHECKS.output : compileCheck(outputSchema, "outputSchema");
  return { input, output };
}

/**
 * The same for the schemas of a tool. Also throws if a property has a default that its own schema refuses: each call
 * without the property would fail. The time of a pattern is unbounded, so untrusted schemas are compiled in build
 * processes.
 */
export function compileToolChecks(inputSchema: JsonSchema, outputSchema: JsonSchema | null): ToolChecks {
  const checks = compileChecks(inputSchema, outputSchema);
  requireDefaults(parseWithBigInts(writeSchema(inputSchema, "inputSchema")) as JsonSchema);
  return checks;
}

function compileCheck(schema: JsonSchema, where: SchemaPlace): string {
  const text = writeSchema(schema, where);
  const { plain, dialect } = readValid(text, where);
  if (allowsAll(plain, where)) return "";
  const decide = generate(plain, dialect, false, where);
  if (decide.length > CODE_MAX) {
    const problem = `is too large: the code that checks it has ${decide.length} characters, and may have ${CODE_MAX}`;
    throw schemaError(where, "", `${problem}; split it with definitions and $ref, or make it smaller`);
  }
  const explain = generate(plain, dialect, true, where);
  const isShort = decide.length + explain.length <= CODE_MAX;
  return `{${method("decide", decide)}${isShort ? `,${method("explain", explain)}` : ""}}`;
}

function requireDefaults(schema: JsonSchema): void {
  const found = [...schemaNodes(schema)].flatMap(({ node: { properties }, pointer }) =>
    (isObject(properties) ? Object.entries(properties) : []).flatMap(([name, property]) =>
      isObject(property) && property["default"] !== undefined
        ? [{ property, value: property["default"], place: `${pointer}/properties${pointerSegment(name)}/default` }]
        : [],
    ),
  );
  if (typeof schema === "boolean" || found.length === 0) return;
  // References lead to definitions, and to other properties.
  const { $schema, $defs, definitions, properties } = schema;
  const nameOf = (at: number): string => `default ${at}`;
  const own = Object.fromEntries(found.map(({ property }, at) => [nameOf(at), property]));
  const violations = violationsOf(
    { $schema, $defs, definitions, properties: isObject(properties) ? { ...properties, ...own } : own },
    Object.fromEntries(found.map(({ value }, at) => [nameOf(at), value])),
  );
  for (const { pointer, message } of violations) {
    const [place = "", at = "", rest = ""] = /^\/default (\d+)(.*)$/s.exec(pointer) ?? [];
    const refused = found[Number(at)];
    if (place === "" || refused === undefined) continue;
    const shown = (writeJson(refused.value) ?? "").slice(0, SHOWN_MAX);
    const why = message.replace(place, rest === "" ? "it" : rest);
    const problem = `has the default ${shown}, which its own schema refuses: ${why}; leave it out, or allow it`;
    throw schemaError("inputSchema", refused.place, problem);
  }
}

/** Violations of a schema by a value; an empty list if the schema alone cannot be used. */
function violationsOf(schema: JsonSchema, value: unknown): readonly Violation[] {
  try {
    return compileSchema(schema, "inputSchema").check(value);
  } catch (error) {
    if (error instanceof GloveboxError) return [];
    throw error;
  }
}

const SHOWN_MAX = 60;

/** Whether a schema refuses nothing. Arguments are always objects. */
function allowsAll(schema: JsonSchema, where: SchemaPlace): boolean {
  if (typeof schema === "boolean") return schema;
  return Object.entries(schema).every(([key, value]) => {
    if (NOTES.has(key) || (key === "additionalProperties" && value === true)) return true;
    if (key === "type") return where === "inputSchema" && value === "object";
    return key === "properties" && isObject(value) && Object.keys(value).length === 0;
  });
}

function method(name: string, code: string): string {
  return `${name}(require){const module={exports:{}};\n${code}\nreturn module.exports;}`;
}

function generate(schema: JsonSchema, dialect: Dialect, allErrors: boolean, where: SchemaPlace): string {
  // Adding the dialect's meta-schemas takes longer than compiling most schemas; only references and ids need them.
  const meta = findPointer(schema, (key) => key.startsWith("$")) !== "";
  try {
    const code = { allErrors, meta, source: true, pattern: readPattern, formats: fullFormats };
    const ajv = newCompiler(dialect, code);
    return standaloneCode(ajv, ajv.compile(schema));
  } catch (error) {
    throw compileError(error, schema, where);
  }
}
