export type JsonValue = string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue };

/** A JSON Schema; its dialect is read from `$schema` (draft-07 where there is none). */
export type JsonSchema = boolean | { readonly [key: string]: unknown };

/** Values nested deeper are refused: what reads JSON may follow it step by step, what writes it follows by recursion. */
export const NESTING_MAX = 1_000;

const QUOTE = 34;
const BACKSLASH = 92;
const OPENING: ReadonlySet<number> = new Set([91, 123]);
const CLOSING: ReadonlySet<number> = new Set([93, 125]);

/** Whether JSON text is nested deeper than `NESTING_MAX`. Texts too short for it are not looked at. */
export function isNestedTooDeeply(text: string): boolean {
  if (text.length < 2 * NESTING_MAX) return false;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (OPENING.has(code)) {
      if (++depth > NESTING_MAX) return true;
    } else if (CLOSING.has(code)) depth--;
  }
  return false;
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
