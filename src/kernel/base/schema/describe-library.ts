import type { JsonSchema } from "../json.ts";
import { describeSchema, type SchemaDescription } from "./describe-schema.ts";
import { describeZod, isBareZod } from "./describe-zod.ts";
import type { SchemaSide } from "./from-json-schema.ts";

/** The symbol by which the AI SDK recognises its own schemas. */
const AI_SCHEMA = Symbol.for("vercel.ai.schema");

/**
 * Describes a schema of any kind that libraries of tools accept: those of `describeSchema`, zod without a JSON Schema
 * of its own, the AI SDK's `jsonSchema()`, and functions that make one. This runs in the isolate of the described
 * module.
 */
export async function describeLibrarySchema(given: unknown, side: SchemaSide): Promise<SchemaDescription> {
  const schema = isMaker(given) ? (Reflect.apply(given, undefined, []) as unknown) : given;
  if ((typeof schema !== "object" || schema === null) && typeof schema !== "function")
    throw new TypeError(`it is ${schema === null ? "null" : `a ${typeof schema}`}, and no schema`);
  if (typeof Reflect.get(schema, "then") === "function") throw new TypeError("it is a promise, and no schema");
  if (Reflect.get(schema, AI_SCHEMA) === true) {
    const json = (await Reflect.get(schema, "jsonSchema")) as JsonSchema;
    const checks = typeof Reflect.get(schema, "validate") === "function";
    return inDialect({ schema: json, check: json, more: checks ? "its own validate" : null });
  }
  if (isBareZod(schema)) {
    const json = describeZod(schema);
    return inDialect({ schema: json, check: json, more: "zod applies it" });
  }
  return inDialect(describeSchema(schema, side));
}

function isMaker(schema: unknown): schema is () => unknown {
  return typeof schema === "function" && Reflect.get(schema, "~standard") === undefined && !isBareZod(schema);
}

const DIALECT = "https://json-schema.org/draft/2020-12/schema";

/** A JSON Schema that names no dialect is one of draft 2020-12. */
function inDialect({ schema, check, more }: SchemaDescription): SchemaDescription {
  return { schema: dialectOf(schema), check: dialectOf(check), more };
}

function dialectOf(schema: JsonSchema): JsonSchema {
  const isRecord = typeof schema === "object" && schema !== null && !Array.isArray(schema);
  if (!isRecord && typeof schema !== "boolean") throw new TypeError("it is no JSON Schema");
  return isRecord ? { $schema: DIALECT, ...schema } : schema;
}
