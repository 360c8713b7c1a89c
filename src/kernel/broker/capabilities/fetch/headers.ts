import { ACCEPTED_CODINGS } from "./decoding.ts";
import { FetchFailure } from "./failure.ts";

export type Header = readonly [name: string, value: string];

/** Headers that the host sets itself: a tool's are dropped, as browsers do. */
const DROPPED: ReadonlySet<string> = new Set([
  "accept-encoding",
  "connection",
  "content-length",
  "expect",
  "host",
  "http2-settings",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

const DEFAULTS: readonly Header[] = [
  ["accept", "*/*"],
  ["accept-encoding", ACCEPTED_CODINGS],
  ["user-agent", "glovebox"],
];

/**
 * Headers for which a server responds with a part of the content, or in another charset: a secret could not be found in
 * such a response. This does not help against a server that stores what it receives and later returns parts of it.
 */
const OF_PIECES: ReadonlySet<string> = new Set(["range", "if-range", "accept-charset"]);

/** Headers for which some servers use another method or path than those of the request. */
const OVERRIDES: ReadonlySet<string> = new Set([
  "x-http-method",
  "x-http-method-override",
  "x-method-override",
  "x-original-url",
  "x-rewrite-url",
]);

const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,256}$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
const CHARACTERS_MAX = 65_536;

/** Headers of a request before its secrets are filled in. */
export function requestHeaders(given: readonly Header[]): readonly Header[] {
  const headers: Header[] = [];
  let characters = 0;
  for (const [written, untrimmed] of given) {
    const [name, value] = checkHeader(written.toLowerCase(), untrimmed.trim());
    characters += name.length + value.length;
    if (!isOfHost(name)) headers.push([name, value]);
  }
  checkLength(characters);
  return headers;
}

/** Whether only the host sets this header, whose name is in lower case. */
export function isOfHost(name: string): boolean {
  return DROPPED.has(name) || name.startsWith("proxy-");
}

/** Adds the host's default headers if the tool has not set them. */
export function withDefaults(headers: readonly Header[]): readonly Header[] {
  return [...headers, ...DEFAULTS.filter(([name]) => !hasHeader(headers, name))];
}

/** Length of the headers, secrets included. Throws if it exceeds the maximum. */
export function lengthOf(headers: readonly Header[]): number {
  return checkLength(headers.reduce((sum, [name, value]) => sum + name.length + value.length, 0));
}

function checkLength(characters: number): number {
  if (characters <= CHARACTERS_MAX) return characters;
  throw new FetchFailure(`the headers are longer than ${CHARACTERS_MAX} characters, secrets included`);
}

/** The first header that must not be sent together with a secret; `null` without one. */
export function pieceHeader(headers: readonly Header[]): string | null {
  return headers.find(([name]) => OF_PIECES.has(name))?.[0] ?? null;
}

/** Whether a header asks the server to take another method or path. */
export function hasOverride(headers: readonly Header[]): boolean {
  return headers.some(([name]) => OVERRIDES.has(name));
}

/** Throws if a header is invalid. The message omits the value, which may contain a secret. */
export function checkHeader(name: string, value: string): Header {
  if (!NAME.test(name)) throw new FetchFailure("a header has an invalid name");
  if (!VALUE.test(value)) throw new FetchFailure(`the header "${name}" has an invalid value`);
  return [name, value];
}

function hasHeader(headers: readonly Header[], name: string): boolean {
  return headers.some(([other]) => other === name);
}

/** The values of a header, joined by commas; empty without any. */
export function headerOf(headers: readonly Header[], name: string): string {
  return headers
    .filter(([other]) => other === name)
    .map(([, value]) => value)
    .join(", ");
}

/** The wait of a `Retry-After`, in milliseconds: given in seconds, or as a date; `null` for an invalid value. */
export function retryAfterMs(value: string): number | null {
  const text = value.trim();
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - Date.now();
  return Number.isNaN(ms) ? null : Math.max(0, ms);
}
