/** A part of the schema, with the keywords from which setting names, help texts and variables are derived. */
export interface Part {
  readonly type?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly properties?: { readonly [name: string]: Part };
  readonly [keyword: string]: unknown;
}

export const PATH = { type: "string", minLength: 1 };
export const TEXTS = { type: "array", items: { type: "string" } };
export const COUNT = { type: "integer", minimum: 1 };
export const DURATION = { type: "number", exclusiveMinimum: 0 };

/** Requires exactly one of some properties. */
export function exactlyOne(...names: readonly string[]): object {
  return { oneOf: names.map((name) => ({ required: [name] })) };
}

/** An object with these properties only. */
export function section(properties: { readonly [name: string]: unknown }): Part {
  return { type: "object", properties: properties as { readonly [name: string]: Part }, additionalProperties: false };
}
