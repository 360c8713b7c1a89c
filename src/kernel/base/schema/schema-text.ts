import { GloveboxError } from "../errors.ts";
import { writeJson } from "../json-writer.ts";
import { isObject, type JsonSchema, pointerSegment } from "../json.ts";

/** The schema of a tool that an error is about. */
export type SchemaPlace = "inputSchema" | "outputSchema";

const MAX_BYTES = 1024 * 1024;
const MAX_DEPTH = 200;
/** Each object may be a schema of its own, and compiling takes about 0.1 ms for each. */
const MAX_OBJECTS = 5_000;
/** Values of any kind: the host reads and writes each several times, which takes about a microsecond. */
const MAX_VALUES = 50_000;

/** The error of a schema that cannot be used. */
export function schemaError(where: SchemaPlace, pointer: string, problem: string): GloveboxError {
  const at = pointer === "" ? "" : ` at ${pointer.length > 500 ? `${pointer.slice(0, 500)}…` : pointer}`;
  return new GloveboxError("load_error", `${where}${at} ${problem}`, { pointer, where });
}

/**
 * A schema's text, for `readSchema`: JSON of bounded size and depth. Both can be hostile, so they are checked without
 * recursion and before anything is serialized.
 */
export function writeSchema(schema: unknown, where: SchemaPlace): string {
  if (typeof schema === "boolean") return String(schema);
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) {
    throw schemaError(where, "", "must be a JSON Schema: an object, true or false");
  }
  checkShape(schema, where);
  let text: string | undefined;
  try {
    text = writeJson(schema);
  } catch (error) {
    throw schemaError(where, "", `must be JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (text === undefined || Buffer.byteLength(text) > MAX_BYTES) {
    throw schemaError(where, "", `is larger than ${MAX_BYTES} bytes as JSON; make it smaller`);
  }
  return text;
}

/** Parses a private copy of the schema. */
export function readSchema(text: string, where: SchemaPlace): JsonSchema {
  const copy: unknown = JSON.parse(text);
  if (!isSchema(copy)) throw schemaError(where, "", "must be a JSON Schema: an object, true or false");
  return copy;
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === "boolean" || isObject(value);
}

function checkShape(schema: object, where: SchemaPlace): void {
  interface Visit {
    readonly value: object;
    readonly pointer: string;
    readonly depth: number;
    readonly left: boolean;
  }
  const above = new Set<object>();
  const open: Visit[] = [{ value: schema, pointer: "", depth: 1, left: false }];
  let values = 0;
  let objects = 1;
  for (let visit = open.pop(); visit !== undefined; visit = open.pop()) {
    const { value, pointer, depth, left } = visit;
    if (left) {
      above.delete(value);
      continue;
    }
    if (above.has(value)) throw schemaError(where, pointer, "refers to itself as an object; use $ref instead");
    if (depth > MAX_DEPTH) {
      throw schemaError(
        where,
        pointer,
        `is nested deeper than ${MAX_DEPTH} levels; flatten it with definitions and $ref`,
      );
    }
    above.add(value);
    open.push({ value, pointer, depth, left: true });
    // Counted before they are listed: a list of half a million entries takes about 100 ms.
    values += Array.isArray(value) ? value.length : Object.keys(value).length;
    if (values > MAX_VALUES) throw schemaError(where, "", `has more than ${MAX_VALUES} values; make it smaller`);
    for (const [key, child] of Object.entries(value)) {
      if (typeof child !== "object" || child === null) continue;
      if (!Array.isArray(child) && ++objects > MAX_OBJECTS) {
        throw schemaError(where, "", `has more than ${MAX_OBJECTS} objects; make it smaller`);
      }
      open.push({ value: child, pointer: pointer + pointerSegment(key), depth: depth + 1, left: false });
    }
  }
}

/** Pointer of the first entry of a schema that `matches`; the root's if none does. */
export function findPointer(schema: JsonSchema, matches: (key: string, value: unknown) => boolean): string {
  const open: { value: unknown; pointer: string }[] = [{ value: schema, pointer: "" }];
  for (let visit = open.pop(); visit !== undefined; visit = open.pop()) {
    if (typeof visit.value !== "object" || visit.value === null) continue;
    for (const [key, child] of Object.entries(visit.value)) {
      const pointer = visit.pointer + pointerSegment(key);
      if (matches(key, child)) return pointer;
      open.push({ value: child, pointer });
    }
  }
  return "";
}
