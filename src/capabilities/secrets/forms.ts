/**
 * The ways in which a secret may come back: as it is, and as formats write it. In base64 it depends on what stands before
 * it, so there are three, each without the digits that it shares with its neighbours.
 */
export function formsOf(value: string): readonly string[] {
  const bytes = Buffer.from(value);
  const base64 = [...[0, 1, 2].map((offset) => base64At(bytes, offset)), bytes.toString("base64")];
  const percent = percentOf(value);
  const every = [...bytes].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("");
  const json = JSON.stringify(value).slice(1, -1);
  const ascii = json.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
  const forms = [
    value,
    ...base64,
    ...base64.map((text) => text.replaceAll("+", "-").replaceAll("/", "_")),
    percent,
    percent.replaceAll("%20", "+"),
    lowerHex(percent),
    encodeURI(value.toWellFormed()),
    every,
    every.toUpperCase(),
    json,
    json.replaceAll("/", "\\/"),
    ascii,
    htmlOf(value),
    bytes.toString("hex"),
    bytes.toString("hex").toUpperCase(),
  ];
  return [...new Set(forms)];
}

/** What a secret stands as in a URL's path or query, and in a form. */
export function percentOf(value: string): string {
  const encode = (char: string) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`;
  return encodeURIComponent(value.toWellFormed()).replaceAll(/[!'()*]/g, encode);
}

function lowerHex(text: string): string {
  return text.replaceAll(/%[0-9A-F]{2}/g, (code) => code.toLowerCase());
}

/** The digits of base64 that bytes alone decide where as many others stand in front of them. */
function base64At(bytes: Buffer, offset: number): string {
  const first = Math.ceil((8 * offset) / 6);
  const last = Math.floor((8 * (offset + bytes.length)) / 6);
  return Buffer.concat([Buffer.alloc(offset), bytes])
    .toString("base64")
    .slice(first, last);
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function htmlOf(value: string): string {
  return value.replaceAll(/[&<>"']/g, (char) => ENTITIES[char] ?? char);
}
