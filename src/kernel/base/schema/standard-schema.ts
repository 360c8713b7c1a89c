import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import type { JsonSchema } from "../json.ts";
import type { FromJsonSchema } from "./from-json-schema.ts";

/**
 * A schema of a library, by Standard Schema (https://standardschema.dev): it validates, and it can write itself as JSON
 * Schema. Zod from 4.2, ArkType from 2.1.28, and Valibot from 1.2 with `toStandardJsonSchema` have such schemas.
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": StandardSchemaV1.Props<Input, Output> & StandardJSONSchemaV1.Props<Input, Output>;
}

/** A JSON Schema, or a schema of a library. */
export type Schema = JsonSchema | StandardSchema;

/** The values that callers write for a schema. `unknown` if the schema's literal type is not known. */
export type SchemaInput<S> = [Schema] extends [S]
  ? unknown
  : S extends { readonly "~standard": { readonly types?: { readonly input: infer I } | undefined } }
    ? I
    : FromJsonSchema<S, "input">;

/** The values that a schema returns after it has accepted them. `unknown` if the schema's literal type is not known. */
export type SchemaOutput<S> = [Schema] extends [S]
  ? unknown
  : S extends { readonly "~standard": { readonly types?: { readonly output: infer O } | undefined } }
    ? O
    : FromJsonSchema<S, "output">;
