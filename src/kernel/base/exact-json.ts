/**
 * JSON whose integers keep their digits. A JavaScript number holds integers up to 2^53 − 1; a longer one is a `bigint`
 * in an isolate, a string of its digits for the embedder, and JSON's own digits in JSON.
 *
 * The guest bundles this file: it imports nothing, and captures the functions that it uses before a tool can change
 * them.
 */
const { parse } = JSON;
const { defineProperty, getOwnPropertyDescriptor, keys } = Object;
const { isArray } = Array;
const RealBigInt = BigInt;

/** `JSON.rawJSON` of the proposal "JSON.parse source text access", which TypeScript does not declare yet. */
interface RawJsonApi {
  readonly rawJSON: (text: string) => object;
  readonly isRawJSON: (value: unknown) => boolean;
}

const { rawJSON, isRawJSON } = JSON as typeof JSON & RawJsonApi;

/** The largest integer of a number, as digits. */
const SAFE_MAX = "9007199254740991";
const LONG = SAFE_MAX.length;
/** Maximum length of an integer that is read as a `bigint`, as for all numbers of `JsonScanner`. */
export const DIGITS_MAX = 4_096;
/**
 * Precedes the digits of a long integer while they are a string, and its escape in JSON. It is random, so that no text
 * contains it.
 */
const SALT = Math.random().toString(36).slice(2);
const MARK = `\u0001${SALT}`;
const WRITTEN_MARK = `\\u0001${SALT}`;
const [QUOTE, BACKSLASH, PLUS, MINUS, DOT, ZERO, NINE, CAPITAL_E, LETTER_E] = [34, 92, 43, 45, 46, 48, 57, 69, 101];

function isDigit(code: number): boolean {
  return code >= ZERO && code <= NINE;
}

/**
 * Whether a text may have a long integer: `true` also if its digits are in a string. The search is that of Boyer and
 * Moore: backwards from the last possible character of the next such integer, which reads every sixteenth character of
 * a text without numbers. Takes from a fortieth to a tenth of the time of `JSON.parse`.
 */
export function mayHaveLongInteger(text: string): boolean {
  const { length } = text;
  // The last character outside of any long integer.
  let before = -1;
  for (let at = LONG - 1; at < length; at = before + LONG) {
    let start = at;
    while (start > before && isDigit(text.charCodeAt(start))) start--;
    if (start > before) {
      before = start;
      continue;
    }
    // A fraction is rounded to the digits of a number.
    if (before < 0 || text.charCodeAt(before) !== DOT) return true;
    while (at < length && isDigit(text.charCodeAt(at))) at++;
    before = at;
  }
  return false;
}

/** Whether digits, after an optional minus, are of an integer that a number cannot represent exactly. */
export function isLongInteger(text: string): boolean {
  const start = text.charCodeAt(0) === MINUS ? 1 : 0;
  const count = text.length - start;
  if (count < LONG || (count > LONG && text.charCodeAt(start) === ZERO)) return false;
  for (let at = start; at < text.length; at++) if (!isDigit(text.charCodeAt(at))) return false;
  return count > LONG || text.slice(start) > SAFE_MAX;
}

/** The JSON with every long integer as a string, after `mark`. Returns the text itself if it has no such integer. */
export function quoteLongIntegers(text: string, mark: string): string {
  let quoted = "";
  let from = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = endOfString(text, at);
      continue;
    }
    if (code !== MINUS && !isDigit(code)) continue;
    const start = at;
    while (isOfNumber(text.charCodeAt(at + 1))) at++;
    if (at - start + 1 < LONG) continue;
    const number = text.slice(start, at + 1);
    if (!isLongInteger(number)) continue;
    quoted += `${text.slice(from, start)}"${mark}${number}"`;
    from = at + 1;
  }
  return from === 0 ? text : quoted + text.slice(from);
}

/** Whether a character may be one of a number, after its first. */
function isOfNumber(code: number): boolean {
  return isDigit(code) || code === DOT || code === LETTER_E || code === CAPITAL_E || code === MINUS || code === PLUS;
}

/** Index of the closing quote of the string that opens at `start`; the text's length if it has none. */
export function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); ; end = text.indexOf('"', end + 1)) {
    if (end < 0) return text.length;
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return end;
  }
}

/** Parses JSON. Long integers become strings of their digits, as the embedder gets them. */
export function parseWithDigits(text: string): unknown {
  return parse(mayHaveLongInteger(text) ? quoteLongIntegers(text, "") : text);
}

/** Parses JSON. Long integers become `bigint`s. Throws a `RangeError` for one of more than 4,096 characters. */
export function parseWithBigInts(text: string): unknown {
  return mayHaveLongInteger(text) ? parseMarked(text, readBigInt) : parse(text);
}

function readBigInt(digits: string): bigint {
  if (digits.length > DIGITS_MAX) throw new RangeError(`an integer has more than ${DIGITS_MAX} digits`);
  return RealBigInt(digits);
}

/** Parses JSON. Long integers become objects that `JSON.stringify` writes as their digits. */
export function parseForWriting(text: string): unknown {
  return mayHaveLongInteger(text) ? parseMarked(text, rawJSON) : parse(text);
}

/**
 * The same for JSON that programs write: a long integer stays a number if JSON writes that number with these digits. So
 * a copy has the numbers of its original.
 */
export function parseWritten(text: string): unknown {
  return mayHaveLongInteger(text) ? parseMarked(text, readWritten) : parse(text);
}

function readWritten(digits: string): number | object {
  const value = Number(digits);
  return String(value) === digits ? value : rawJSON(digits);
}

/** Makes `JSON.stringify` of an isolate's realm write a `bigint` as its digits. */
export function installBigInts(realm: typeof globalThis): void {
  const method = {
    toJSON(this: bigint): object {
      const digits = `${this}`;
      if (digits.length > DIGITS_MAX) throw new RangeError(`an integer has more than ${DIGITS_MAX} digits`);
      return rawJSON(digits);
    },
  };
  const property = getOwnPropertyDescriptor(method, "toJSON");
  defineProperty(realm.BigInt.prototype, "toJSON", { ...property, enumerable: false });
}

/** Digits that `JSON.stringify` writes as a number. */
export function rawDigits(digits: string): object {
  return rawJSON(digits);
}

/** The digits of a value of `rawDigits` or `parseForWriting`; `null` of any other. */
export function digitsOf(value: object): string | null {
  return isRawJSON(value) ? (value as { readonly rawJSON: string }).rawJSON : null;
}

function parseMarked(text: string, read: Read): unknown {
  const marked = quoteLongIntegers(text, WRITTEN_MARK);
  const whole: unknown[] = [parse(marked)];
  if (marked !== text) readMarked(whole, read);
  return whole[0];
}

type Read = (digits: string) => unknown;

/** Reads the marked strings in a value, in their places. Without recursion: text may be nested deeper than the stack. */
function readMarked(whole: object, read: Read): void {
  const open: object[] = [whole];
  // Without iterators, which a tool may have replaced.
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    const names = isArray(value) ? null : keys(value);
    const count = names === null ? (value as readonly unknown[]).length : names.length;
    for (let at = 0; at < count; at++) {
      const name = names === null ? at : (names[at] ?? "");
      const member: unknown = (value as Readonly<Record<string | number, unknown>>)[name];
      if (typeof member === "object" && member !== null) open.push(member);
      else if (typeof member === "string" && member.charCodeAt(0) === 1 && member.startsWith(MARK)) {
        // An assignment would set the prototype for `__proto__`.
        defineProperty(value, name, { ...MEMBER, value: read(member.slice(MARK.length)) });
      }
    }
  }
}

const MEMBER = { writable: true, enumerable: true, configurable: true } as const;
