export type JsonValue = string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue };

/** A JSON Schema; its dialect is read from `$schema` (draft-07 where there is none). */
export type JsonSchema = boolean | { readonly [key: string]: unknown };
