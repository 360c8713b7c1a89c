import { fullFormats } from "ajv-formats/dist/formats.js";
import { isObject, type JsonSchema, pointerSegment } from "../json.ts";
import { NO_CHECKS, type ToolChecks } from "../protocol/script.ts";
import { standaloneCode } from "./ajv.ts";
import { type Dialect, newCompiler } from "./schema-dialect.ts";
import { schemaNodes } from "./schema-nodes.ts";
import { compileError, readPattern, readValid } from "./schema.ts";
import { findPointer, readSchema, schemaError, type SchemaPlace, writeSchema } from "./schema-text.ts";

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

function compileCheck(schema: JsonSchema, where: SchemaPlace): string {
  const text = writeSchema(schema, where);
  if (where === "inputSchema") requireDefaults(readSchema(text, where), where);
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

const TYPES: ReadonlyMap<unknown, (value: unknown) => boolean> = new Map([
  ["string", (value: unknown) => typeof value === "string"],
  ["number", (value: unknown) => typeof value === "number"],
  ["integer", (value: unknown) => Number.isInteger(value)],
  ["boolean", (value: unknown) => typeof value === "boolean"],
  ["null", (value: unknown) => value === null],
  ["array", Array.isArray],
  ["object", isObject],
]);

/** Throws where a property has a default that its own type refuses: each call without the property would fail. */
function requireDefaults(schema: JsonSchema, where: SchemaPlace): void {
  for (const { node, pointer } of schemaNodes(schema)) {
    const properties = node["properties"];
    for (const [name, property] of isObject(properties) ? Object.entries(properties) : []) {
      if (!isObject(property) || property["default"] === undefined) continue;
      const tests = [property["type"]].flat().map((type) => TYPES.get(type));
      if (tests.some((test) => test === undefined || test(property["default"])) || property["nullable"] === true)
        continue;
      const shown = (JSON.stringify(property["default"]) ?? "").slice(0, SHOWN_MAX);
      const problem = `has the default ${shown}, which its type ${String(property["type"])} refuses; leave it out, or allow it`;
      throw schemaError(where, `${pointer}/properties${pointerSegment(name)}/default`, problem);
    }
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
