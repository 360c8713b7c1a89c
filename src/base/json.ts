export type JsonValue = string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue };

/** A JSON Schema; its dialect is read from `$schema` (draft-07 where there is none). */
export type JsonSchema = boolean | { readonly [key: string]: unknown };

/** Whether a value is an object, and no list. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** One key of a JSON pointer. */
export function pointerSegment(key: string | number): string {
  return `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

/** Values nested deeper are refused: what reads JSON may follow it step by step, what writes it follows by recursion. */
export const NESTING_MAX = 1_000;

const QUOTE = 34;
const COMMA = 44;
const BACKSLASH = 92;
const [OPEN_LIST, OPEN_OBJECT] = [91, 123];
const [CLOSE_LIST, CLOSE_OBJECT] = [93, 125];
const OPENING = ["[", "{"] as const;

/** Values that one JSON text may hold: reading many small ones takes far longer, and far more memory, than their length tells. */
export const VALUES_MAX = 1_000_000;

/** What about JSON text is too much to read it, or `null`. Texts too short for either are not looked at. */
export function describeExcess(text: string): string | null {
  if (text.length < 2 * NESTING_MAX || isSimple(text)) return null;
  let depth = 0;
  let values = 1;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === COMMA) values++;
    else if (code === OPEN_LIST || code === OPEN_OBJECT) {
      values++;
      if (++depth > NESTING_MAX) return `nested deeper than ${NESTING_MAX} levels`;
    } else if (code === CLOSE_LIST || code === CLOSE_OBJECT) depth--;
  }
  return values > VALUES_MAX ? `made of more than ${VALUES_MAX} values` : null;
}

/** Whether a text is too short for too many values, and opens too few for deep ones: that is known several times sooner. */
function isSimple(text: string): boolean {
  if (text.length > VALUES_MAX) return false;
  let opened = 0;
  for (const bracket of OPENING) {
    for (let at = text.indexOf(bracket); at >= 0; at = text.indexOf(bracket, at + 1)) {
      if (++opened > NESTING_MAX) return false;
    }
  }
  return true;
}

/** Where the string that begins at `start` ends. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return end;
  }
  return text.length;
}

/** UTF-8 bytes of a text; not counted where even the worst case is within the limit. */
export function byteLength(text: string, limit: number): number {
  return text.length * 3 <= limit ? text.length : Buffer.byteLength(text);
}
