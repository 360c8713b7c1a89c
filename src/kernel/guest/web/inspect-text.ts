/** Formatting of numbers, strings and keys in inspected values. */

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ["\b", "\\b"],
  ["\t", "\\t"],
  ["\n", "\\n"],
  ["\f", "\\f"],
  ["\r", "\\r"],
  ["\\", "\\\\"],
]);

/** Control characters, quotes, backslashes, and lone surrogates. */
const TO_ESCAPE = /[\p{Cc}\p{Cs}'\\]/gu;

/** A quoted string: with single quotes, or with others that need no escaping if it contains single ones. */
export function quote(text: string): string {
  let mark = "'";
  if (text.includes("'")) {
    if (!text.includes('"')) mark = '"';
    else if (!text.includes("`") && !text.includes("${")) mark = "`";
  }
  return `${mark}${text.replace(TO_ESCAPE, (char) => escapeChar(char, mark))}${mark}`;
}

function escapeChar(char: string, mark: string): string {
  if (char === "'") return mark === "'" ? "\\'" : "'";
  const known = ESCAPES.get(char);
  if (known !== undefined) return known;
  const code = char.charCodeAt(0);
  return code > 0xff ? `\\u${code.toString(16)}` : `\\x${code.toString(16).toUpperCase().padStart(2, "0")}`;
}

/** A number as source text, which distinguishes -0 from 0. */
export function formatNumber(value: number): string {
  return Object.is(value, -0) ? "-0" : `${value}`;
}

/** A property's key, with quotes or brackets if it needs them. */
export function formatKey(key: string | symbol, isEnumerable: boolean, maxLength: number): string {
  if (key === "__proto__") return "['__proto__']";
  const text = String(key).slice(0, maxLength);
  if (typeof key === "symbol" && isEnumerable) return text;
  if (!isEnumerable) return `[${text}]`;
  return /^[a-zA-Z_][a-zA-Z_0-9]*$/.test(text) ? text : quote(text);
}

/** `... 1 more item`, `... 2 more items`. */
export function more(count: number, noun: string): string {
  return `... ${count} more ${noun}${count > 1 ? "s" : ""}`;
}
