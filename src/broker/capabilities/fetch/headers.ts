import { ACCEPTED_CODINGS } from "./decoding.ts";
import { FetchFailure } from "./failure.ts";

export type Header = readonly [name: string, value: string];

/** Headers of the host's own connections: those of a tool are left out, as browsers do. */
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
 * They have a server cut its answer to pieces, or write it in other signs, and in neither could a secret be found. Against
 * a server that stores what it was sent, and gives pieces of it without being asked like that, nothing of this helps.
 */
const OF_PIECES: ReadonlySet<string> = new Set(["range", "if-range", "accept-charset"]);

const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,256}$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
const CHARACTERS_MAX = 65_536;

/** A request's headers as they are sent, but for its secrets. */
export function requestHeaders(given: readonly Header[]): readonly Header[] {
  const headers: Header[] = [];
  let characters = 0;
  for (const [written, untrimmed] of given) {
    const [name, value] = checkHeader(written.toLowerCase(), untrimmed.trim());
    characters += name.length + value.length;
    if (!DROPPED.has(name) && !name.startsWith("proxy-")) headers.push([name, value]);
  }
  checkLength(characters);
  return headers;
}

/** Adds the host's headers where the tool has none of the name. */
export function withDefaults(headers: readonly Header[]): readonly Header[] {
  return [...headers, ...DEFAULTS.filter(([name]) => !hasHeader(headers, name))];
}

/** How long headers are, with their secrets. Throws where that is too long. */
export function lengthOf(headers: readonly Header[]): number {
  return checkLength(headers.reduce((sum, [name, value]) => sum + name.length + value.length, 0));
}

function checkLength(characters: number): number {
  if (characters <= CHARACTERS_MAX) return characters;
  throw new FetchFailure(`the headers are longer than ${CHARACTERS_MAX} characters, secrets included`);
}

/** The first header, if any, with which a request that carries a secret is not sent. */
export function pieceHeader(headers: readonly Header[]): string | null {
  return headers.find(([name]) => OF_PIECES.has(name))?.[0] ?? null;
}

/** Throws where a header cannot be sent. The message does not have the value, which may contain a secret. */
export function checkHeader(name: string, value: string): Header {
  if (!NAME.test(name)) throw new FetchFailure("a header has an invalid name");
  if (!VALUE.test(value)) throw new FetchFailure(`the header "${name}" has an invalid value`);
  return [name, value];
}

function hasHeader(headers: readonly Header[], name: string): boolean {
  return headers.some(([other]) => other === name);
}

/** The values of a header, or empty text. */
export function headerOf(headers: readonly Header[], name: string): string {
  return headers
    .filter(([other]) => other === name)
    .map(([, value]) => value)
    .join(", ");
}
