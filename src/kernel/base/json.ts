import { endOfString, mayHaveLongInteger } from "./exact-json.ts";

export type JsonValue = string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue };

/** A JSON Schema. `$schema` selects its dialect; default: draft-07. */
export type JsonSchema = boolean | { readonly [key: string]: unknown };

/** Whether a value is an object and not a list. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** An object's own member; `undefined` of anything else. */
export function memberOf(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

/** Characters without a glyph: controls, formats, surrogates, line and paragraph ends. */
export const INVISIBLE = /[\p{C}\p{Zl}\p{Zp}]/gu;

/** These, and what fonts leave out, such as selectors of variants, which can hold a text of their own. */
export const UNSEEN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/**
 * A text for a person who decides by it: characters that change the order of reading, or are invisible, are escaped as
 * in JSON, so that JSON keeps its meaning. Line feeds and tabs stay.
 */
export function seen(text: string): string {
  return text.replaceAll(UNSEEN, (sign) => {
    if (sign === "\n" || sign === "\t") return sign;
    return Array.from({ length: sign.length }, (_, at) => escapeUnit(sign.charCodeAt(at))).join("");
  });
}

/**
 * JSON for a file that people read and parsers of other languages accept, such as YAML: invisible characters are
 * escaped.
 */
export function visibleJson(value: JsonValue): string {
  return seen(JSON.stringify(value));
}

function escapeUnit(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, "0")}`;
}

/** One segment of a JSON pointer (RFC 6901), escaped. */
export function pointerSegment(key: string | number): string {
  return `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

/** The name encoded in a segment of a JSON pointer, without its slash. */
export function nameOfSegment(segment: string): string {
  return segment.replaceAll("~1", "/").replaceAll("~0", "~");
}

/** Freezes all parts of a JSON value: a reviver of `JSON.parse` takes several times as long. */
export function frozen<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null) return value;
  Object.freeze(value);
  for (const part of Object.values(value)) frozen(part);
  return value;
}

/** Maximum nesting depth of JSON text: readers may be iterative, but writers recurse. */
export const NESTING_MAX = 1_000;

const QUOTE = 34;
const COMMA = 44;
const [OPEN_LIST, OPEN_OBJECT] = [91, 123];
const [CLOSE_LIST, CLOSE_OBJECT] = [93, 125];
const OPENING = ["[", "{"] as const;
const TOO_DEEP = `nested deeper than ${NESTING_MAX} levels`;
/** Up to this number of opening brackets, to count them costs less than a walk through the parsed value. */
const FEW_OPENED = 100;

/**
 * Maximum number of values in one JSON text: many small values cost far more time and memory than the text's length
 * suggests.
 */
export const VALUES_MAX = 1_000_000;

/** The limit that JSON text exceeds, or `null`. Texts too short to exceed either limit are not scanned. */
export function describeExcess(text: string, valuesMax = VALUES_MAX, nestingMax = NESTING_MAX): string | null {
  if (text.length < 2 * nestingMax || isSimple(text, valuesMax, nestingMax)) return null;
  let depth = 0;
  let values = 1;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === COMMA) values++;
    else if (code === OPEN_LIST || code === OPEN_OBJECT) {
      values++;
      if (++depth > nestingMax) return TOO_DEEP;
    } else if (code === CLOSE_LIST || code === CLOSE_OBJECT) depth--;
  }
  return values > valuesMax ? `made of more than ${valuesMax} values` : null;
}

/**
 * Parses JSON text, or returns the limit that it exceeds. A text that has long integers is parsed by `parseLong`: by
 * default, they are rounded. Throws the errors of both, such as that it is not JSON.
 *
 * A text too short to have too many values is parsed first, which does not recurse. The depth of many small values, and
 * their long integers, are found in a quarter of the time that scans of their text take.
 */
export function parseWithin(
  text: string,
  parseLong: (text: string) => unknown = JSON.parse,
): { readonly value: unknown; readonly hasLongIntegers: boolean } | { readonly excess: string } {
  const isLong = text.length > VALUES_MAX;
  const excess = isLong ? describeExcess(text) : null;
  if (excess !== null) return { excess };
  const value: unknown = JSON.parse(text);
  const isScanned = isLong || isSimple(text, VALUES_MAX, FEW_OPENED);
  const found = isScanned ? PLAIN : survey(value, NESTING_MAX);
  if (found & DEEP) return { excess: TOO_DEEP };
  const hasLongIntegers = (isScanned || (found & LARGE) > 0) && mayHaveLongInteger(text);
  return { value: hasLongIntegers && parseLong !== JSON.parse ? parseLong(text) : value, hasLongIntegers };
}

/** What a walk through a parsed value finds, as bits: a number as large as a long integer, and too many levels. */
const [PLAIN, LARGE, DEEP] = [0, 1, 2];

/** Walks through a parsed value, and ends once it is nested deeper than a number of levels. */
function survey(value: unknown, levels: number): number {
  if (typeof value === "number") return Math.abs(value) > Number.MAX_SAFE_INTEGER ? LARGE : PLAIN;
  if (typeof value !== "object" || value === null) return PLAIN;
  if (levels === 0) return DEEP;
  let found = PLAIN;
  if (Array.isArray(value)) {
    for (const item of value) if ((found |= survey(item, levels - 1)) & DEEP) return found;
    return found;
  }
  const members = value as Readonly<Record<string, unknown>>;
  // To list the members first would take as long as to parse them.
  for (const name in members) if ((found |= survey(members[name], levels - 1)) & DEEP) return found;
  return found;
}

/**
 * Fast path: whether a text is too short to exceed `valuesMax` and has at most `openedMax` opening brackets: no more
 * than that many levels.
 */
function isSimple(text: string, valuesMax: number, openedMax: number): boolean {
  if (text.length > valuesMax) return false;
  let opened = 0;
  for (const bracket of OPENING) {
    for (let at = text.indexOf(bracket); at >= 0; at = text.indexOf(bracket, at + 1)) {
      if (++opened > openedMax) return false;
    }
  }
  return true;
}

/**
 * Length of a text in UTF-8 bytes; the cheaper `text.length` if even the worst case (3 bytes per unit) fits the limit.
 */
export function byteLength(text: string, limit: number): number {
  return text.length * 3 <= limit ? text.length : Buffer.byteLength(text);
}

/** Whether a UTF-16 unit begins a pair, which must not be cut apart. */
export function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

/** Compact JSON text has none of them unescaped, and they end a line or a field. */
// oxlint-disable-next-line no-control-regex -- the search is for these
const CONTROL = /[\u0000-\u001f]/;

/** Whether JSON text can be a field of a line. */
export function isLine(value: unknown): value is string {
  return typeof value === "string" && !CONTROL.test(value);
}
