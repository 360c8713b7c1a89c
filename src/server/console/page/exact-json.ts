import type { Json } from "./wire.ts";

/** The proposal "JSON.parse source text access", as browsers have it; those without it show the nearest number. */
interface SourceText {
  readonly rawJSON?: (text: string) => Json;
  readonly isRawJSON?: (value: unknown) => boolean;
  readonly parse: (text: string, read: (key: string, value: Json, at?: { readonly source?: string }) => Json) => Json;
}

const { rawJSON, isRawJSON, parse } = JSON as SourceText;

/** Reads JSON. A long integer becomes an object that `JSON.stringify` writes as its digits. */
export function readJson(text: string): Json {
  return parse(text, (_key, value, at) => (typeof value === "number" ? exactNumber(value, at?.source ?? "") : value));
}

/** A number, or the object with the digits of a long integer. */
export function exactNumber(value: number, source: string): Json {
  const isLong = Number.isInteger(value) && !Number.isSafeInteger(value) && /^-?\d+$/.test(source);
  return isLong && rawJSON !== undefined ? rawJSON(source) : value;
}

/** Whether a value is the object of such an integer. */
export function isDigits(value: Json | undefined): boolean {
  return isRawJSON?.(value) === true;
}
