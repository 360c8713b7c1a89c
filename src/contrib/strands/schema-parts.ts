/** Maximum number of parts of each kind in a workflow. */
export const PARTS_MAX = 100;
export const ID = "^[A-Za-z0-9._:-]{1,64}$";
export const NAME = { type: "string", minLength: 1, maxLength: 256 };
export const TEXT = { type: "string", minLength: 1, maxLength: 100_000 };
export const HINT = { type: "string", maxLength: 10_000 };
export const URL_TEXT = { type: "string", format: "uri", maxLength: 2_000 };
export const COUNT = { type: "integer", minimum: 1 };
export const WAIT = { type: "integer", minimum: 0 };
export const SCALAR = { type: ["string", "number", "boolean"], maxLength: 100_000 };

/** Schema of an object with these properties only. */
export function record(properties: { readonly [name: string]: object }, required: readonly string[] = []): object {
  return { type: "object", properties, required, additionalProperties: false };
}

export function listOf(items: object, bounds: { readonly [keyword: string]: number | boolean } = {}): object {
  return { type: "array", maxItems: PARTS_MAX, items, ...bounds };
}

export function mapOf(values: object, bounds: { readonly [keyword: string]: number } = {}): object {
  return {
    type: "object",
    maxProperties: PARTS_MAX,
    propertyNames: { pattern: ID },
    additionalProperties: values,
    ...bounds,
  };
}
