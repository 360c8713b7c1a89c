import { DIGITS_MAX, isLongInteger, parseWithBigInts, rawDigits } from "../../kernel/base/exact-json.ts";

/** Floats from 2^53 on without a fraction, as Python writes them: to `1e21`, JavaScript would write them as integers. */
const WHOLE_FLOAT = /\d{16}\.0(?!\d)|\de\+(?:1[6-9]|20)(?!\d)/;
const DIGITS_FROM = 1e21;

/** As of the proposal "JSON.parse source text access", which TypeScript does not declare yet. */
type Reviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown;
const parse = JSON.parse as (text: string, reviver: Reviver) => unknown;

/** JSON of Python as `parseWithBigInts` reads it, with whole floats as objects that `JSON.stringify` writes as floats. */
export function parseWithFloats(text: string): unknown {
  return WHOLE_FLOAT.test(text) ? parse(text, readNumber) : parseWithBigInts(text);
}

function readNumber(_key: string, value: unknown, { source = "" }: Parameters<Reviver>[2]): unknown {
  if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
  if (isLongInteger(source)) {
    if (source.length > DIGITS_MAX) throw new RangeError(`an integer has more than ${DIGITS_MAX} digits`);
    return BigInt(source);
  }
  return Number.isInteger(value) && Math.abs(value) < DIGITS_FROM ? rawDigits(value.toExponential()) : value;
}
