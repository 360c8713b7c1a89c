/** The forms of a text in which a server or a tool may write it: a redactor searches for these only. */

/** Writes one character. */
type Writer = (char: string) => string;

const HTML = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };
const QUOTED = { ...HTML, '"': "&quot;" };
/** Texts that template engines and standard libraries write in place of a character. */
const HTML_TABLES: readonly Readonly<Record<string, string>>[] = [
  HTML,
  QUOTED,
  { ...QUOTED, "'": "&#39;" },
  { ...QUOTED, "'": "&#x27;" },
  { ...QUOTED, "'": "&#039;" },
  { ...HTML, '"': "&#34;", "'": "&#39;" },
  { ...QUOTED, "'": "&#39;", "/": "&#x2F;", "`": "&#x60;", "=": "&#x3D;" },
  { ...QUOTED, "'": "&#x27;", "`": "&#x60;", "=": "&#x3D;" },
];

const json: Writer = (char) => JSON.stringify(char).slice(1, -1);
const slashed: Writer = (char) => (char === "/" ? "\\/" : json(char));

/** Characters that writers of JSON escape beyond need: slashes, those outside of ASCII, and those with a meaning in HTML. */
const JSON_WRITERS: readonly Writer[] = [
  json,
  slashed,
  escaping(/[^\0-\x7f]/, json),
  escaping(/[^\0-\x7f]/, slashed),
  escaping(/[<>&\u2028\u2029]/, json),
  escaping(/[<>&='\u2028\u2029]/, json),
  escaping(/[^ -~]|["&'+<>`]/, json, (hex) => hex.toUpperCase()),
];

/**
 * The distinct forms of a value, as bytes: plain; percent-encoded for a path, a query and a form, in both cases; in
 * JSON, once and twice; in HTML; in hex, in both cases; in Base64 and Base64url at the three offsets, without the digits that depend on
 * the bytes beside the value.
 */
export function formsOf(value: string): readonly Buffer[] {
  const text = value.toWellFormed();
  const bytes = Buffer.from(text);
  const hex = bytes.toString("hex");
  const percents = [percentOf(text), encodeURIComponent(text), encodeURI(text), formFieldOf(text)];
  const forms = [
    text,
    ...percents,
    ...percents.map((form) => form.replaceAll(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())),
    ...JSON_WRITERS.map((write) => rewrite(text, write)),
    // A body that a server echoes as a string of JSON is itself JSON.
    ...JSON_WRITERS.map((write) => rewrite(rewrite(text, write), json)),
    ...HTML_TABLES.map((table) => rewrite(text, (char) => table[char] ?? char)),
    hex,
    hex.toUpperCase(),
    ...[0, 1, 2].flatMap((offset) => base64At(bytes, offset)),
  ];
  return [...new Set(forms)].filter((form) => form !== "").map((form) => Buffer.from(form));
}

/** Encodes a value for a URL's path or query, and for a form. */
export function percentOf(value: string): string {
  const encode = (char: string) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`;
  return encodeURIComponent(value.toWellFormed()).replaceAll(/[!'()*]/g, encode);
}

function formFieldOf(value: string): string {
  return new URLSearchParams([["", value]]).toString().slice(1);
}

/** Writes a text by its UTF-16 units, as JSON's escapes do; pairs of surrogates stay together if neither is escaped. */
function rewrite(text: string, write: Writer): string {
  return text.replaceAll(/[\ud800-\udbff][\udc00-\udfff]|[^]/g, write);
}

function escaping(pattern: RegExp, otherwise: Writer, digits: (hex: string) => string = (hex) => hex): Writer {
  const escape = (unit: string) => `\\u${digits(unit.charCodeAt(0).toString(16).padStart(4, "0"))}`;
  return (char) => (pattern.test(char) ? char.replaceAll(/[^]/g, escape) : otherwise(char));
}

/** The digits that the bytes alone determine, after `offset` other bytes, in both alphabets. */
function base64At(bytes: Buffer, offset: number): readonly string[] {
  const first = Math.ceil((8 * offset) / 6);
  const last = Math.floor((8 * (offset + bytes.length)) / 6);
  const digits = Buffer.concat([Buffer.alloc(offset), bytes])
    .toString("base64")
    .slice(first, last);
  return [digits, digits.replaceAll("+", "-").replaceAll("/", "_")];
}
