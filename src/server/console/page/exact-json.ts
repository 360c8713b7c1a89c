import type { Json } from "./wire.ts";

/** The proposal "JSON.parse source text access", as browsers have it; those without it show the nearest number. */
interface SourceText {
  readonly rawJSON?: (text: string) => Json;
  readonly isRawJSON?: (value: unknown) => boolean;
  readonly parse: (text: string, read: (key: string, value: Json, at?: { readonly source?: string }) => Json) => Json;
}

const { rawJSON, isRawJSON, parse } = JSON as SourceText;

/** Reads JSON. An integer that no number holds becomes an object that `JSON.stringify` writes as its digits. */
export function readJson(text: string): Json {
  return parse(text, (_key, value, at) => (typeof value === "number" ? exactNumber(value, at?.source ?? "") : value));
}

/** A number, or the object that stands for the digits of an integer that none holds. */
export function exactNumber(value: number, source: string): Json {
  const isLong = Number.isInteger(value) && !Number.isSafeInteger(value) && /^-?\d+$/.test(source);
  return isLong && rawJSON !== undefined ? rawJSON(source) : value;
}

/** Whether a value stands for the digits of such an integer. */
export function isDigits(value: Json | undefined): boolean {
  return isRawJSON?.(value) === true;
}
