import standaloneCode from "ajv/dist/standalone/index.js";
import { fullFormats } from "ajv-formats/dist/formats.js";
import { isObject, type JsonSchema } from "../json.ts";
import { NO_CHECKS, type ToolChecks } from "../protocol/script.ts";
import { type Dialect, newCompiler } from "./schema-dialect.ts";
import { compileError, readPattern, readValid } from "./schema.ts";
import { findPointer, schemaError, type SchemaPlace, writeSchema } from "./schema-text.ts";

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
    return standaloneCode.default(ajv, ajv.compile(schema));
  } catch (error) {
    throw compileError(error, schema, where);
  }
}
