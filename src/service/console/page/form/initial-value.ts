import { isRecord, type Json, type Schema } from "../wire.ts";

const DEPTH_MAX = 6;

/** What a form begins with: the defaults that a schema names, and its examples where they are asked for. */
export function initialValue(schema: Schema, withExamples: boolean): Json {
  return valueFor(schema, withExamples) ?? {};
}

/** The same for any value; nothing where nothing is said of it. */
export function valueFor(schema: Schema, withExamples: boolean, depth = 0): Json | undefined {
  const { examples, properties } = schema;
  if (withExamples && Array.isArray(examples)) return (examples as readonly Json[])[0];
  if (schema["default"] !== undefined) return schema["default"];
  if (!isRecord(properties) || depth > DEPTH_MAX) return undefined;
  const entries = Object.entries(properties).flatMap(([name, property]): [string, Json][] => {
    const value = isRecord(property) ? valueFor(property as Schema, withExamples, depth + 1) : undefined;
    return value === undefined ? [] : [[name, value]];
  });
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}
