import { ACCEPTED_CODINGS } from "./decoding.ts";
import { FetchFailure } from "./failure.ts";

export type Header = readonly [name: string, value: string];

/** What only the host can say of its own connections. What a tool writes there is left out, as browsers do. */
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
  if (characters > CHARACTERS_MAX) throw new FetchFailure(`headers are at most ${CHARACTERS_MAX} characters long`);
  return [...headers, ...DEFAULTS.filter(([name]) => !hasHeader(headers, name))];
}

/** Throws where a header could not be sent: the value is not told, for there may be a secret in it. */
export function checkHeader(name: string, value: string): Header {
  if (!NAME.test(name)) throw new FetchFailure("a header's name is none");
  if (!VALUE.test(value)) throw new FetchFailure(`the value of the header "${name}" is none`);
  return [name, value];
}

function hasHeader(headers: readonly Header[], name: string): boolean {
  return headers.some(([other]) => other === name);
}

/** All that a header says, or nothing. */
export function headerOf(headers: readonly Header[], name: string): string {
  return headers
    .filter(([other]) => other === name)
    .map(([, value]) => value)
    .join(", ");
}
