/** A schema of the API. An object, so that the OpenAPI document can recognize it by identity. */
export type ApiSchema = Readonly<Record<string, unknown>>;

/** An object without additional properties, so that other values are not exposed by mistake. */
export const exactly = (properties: ApiSchema, optional: readonly string[] = []): ApiSchema => ({
  type: "object",
  properties,
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
  additionalProperties: false,
});

export const text = (description: string): ApiSchema => ({ type: "string", description });

export const number = (description: string): ApiSchema => ({ type: "number", description });

export const orNull = (schema: ApiSchema): ApiSchema => ({ anyOf: [schema, { type: "null" }] });

export const listOf = (items: ApiSchema): ApiSchema => ({ type: "array", items });
