import { isIP } from "node:net";

/** Where requests may go: an origin, the subdomains of one, or a part of its paths; or anywhere on the web. */
export interface OriginPattern {
  /** As one would write it: two patterns are the same where their texts are. */
  readonly text: string;
  /** `null` for whatever origin of the web. */
  readonly protocol: string | null;
  readonly host: string;
  /** Whether the host's subdomains are meant, and not the host. */
  readonly isWild: boolean;
  readonly port: string;
  /** With a slash in front; empty where all paths are meant. */
  readonly path: string;
}

/**
 * Ports of protocols that would take an HTTP request for one of theirs: browsers do not send any there, and `*` does not
 * mean them either. An origin with such a port has to be named by both, tool and rule.
 */
const OTHERS_PORTS: ReadonlySet<string> = new Set(
  (
    "0 1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109 110 111 113 115 117 119 123 135 " +
    "137 139 143 161 179 389 427 465 512 513 514 515 526 530 531 532 540 548 554 556 563 587 601 636 989 990 993 995 1719 " +
    "1720 1723 2049 3659 4045 4190 5060 5061 6000 6566 6665 6666 6667 6668 6669 6679 6697 10080"
  ).split(" "),
);

const PATTERN_MAX = 2_048;
const PATTERN = /^(https?):\/\/(\*\.)?([^\s/?#@\\*]+)(\/[^\s?#\\*]*)?$/i;
const DECODED_MAX = 5;
/** What a server may take for a step up or for none: it may cut parameters off, and read what is encoded in them. */
const DOTS = /^\.{1,2}(?:[;?#\0-\x20].*)?$/s;

/** What every text of a pattern has to be like, for messages. */
export const PATTERN_FORM =
  'an origin such as "https://api.example.com", with a path where only what is under it is meant, ' +
  '"https://*.example.com", or "*"';

const ANYWHERE: OriginPattern = { text: "*", protocol: null, host: "", isWild: true, port: "", path: "" };

/** Parses a pattern, which is hostile input. `null` if it is invalid. */
export function readOriginPattern(value: unknown): OriginPattern | null {
  if (value === "*") return ANYWHERE;
  if (typeof value !== "string" || value.length > PATTERN_MAX) return null;
  const [, scheme, star, host = "", path = ""] = PATTERN.exec(value) ?? [];
  const url = scheme === undefined ? null : URL.parse(`${scheme}://${host}${path}`);
  if (url === null || !isStraight(path)) return null;
  const isWild = star !== undefined;
  if (isWild && (isIP(url.hostname) !== 0 || url.hostname.startsWith("["))) return null;
  const { protocol, hostname, port, pathname } = url;
  return patternOf({ protocol, host: hostname, isWild, port, path: pathname === "/" ? "" : pathname });
}

function patternOf(parts: Omit<OriginPattern, "text">): OriginPattern {
  const { protocol, host, isWild, port, path } = parts;
  return { ...parts, text: `${protocol}//${isWild ? "*." : ""}${host}${port === "" ? "" : `:${port}`}${path}` };
}

/** Whether a URL of the web is one of those that are meant. */
export function matchesUrl(pattern: OriginPattern, url: URL): boolean {
  if (pattern.protocol === null) return !OTHERS_PORTS.has(url.port);
  if (pattern.protocol !== url.protocol || pattern.port !== url.port) return false;
  if (!coversHost(pattern, { host: url.hostname, isWild: false })) return false;
  return pattern.path === "" || (coversPath(pattern.path, url.pathname) && isStraight(url.pathname));
}

/** Intersection of two patterns; `null` if it is empty. */
export function meetPatterns(one: OriginPattern, other: OriginPattern): OriginPattern | null {
  if (one.protocol === null) return OTHERS_PORTS.has(other.port) ? null : other;
  if (other.protocol === null) return OTHERS_PORTS.has(one.port) ? null : one;
  if (one.protocol !== other.protocol || one.port !== other.port) return null;
  const host = coversHost(other, one) ? one : coversHost(one, other) ? other : null;
  const path = coversPath(other.path, one.path) ? one : coversPath(one.path, other.path) ? other : null;
  return host === null || path === null ? null : patternOf({ ...host, path: path.path });
}

/** Whether all that the second means is meant by the first. */
export function coversPattern(wide: OriginPattern, narrow: OriginPattern): boolean {
  return meetPatterns(wide, narrow)?.text === narrow.text;
}

type Host = Pick<OriginPattern, "host" | "isWild">;

function coversHost(wide: Host, narrow: Host): boolean {
  if (!wide.isWild) return !narrow.isWild && narrow.host === wide.host;
  return narrow.host.endsWith(`.${wide.host}`) || (narrow.isWild && narrow.host === wide.host);
}

/** `/v1` is `/v1` and all that is under it; `/v1/` is only what is under it. */
function coversPath(wide: string, narrow: string): boolean {
  if (wide === "" || narrow === wide) return true;
  return narrow.startsWith(wide.endsWith("/") ? wide : `${wide}/`);
}

/**
 * Whether no server can read a step up in a path, however often it decodes it. The URL's parser has taken the plain ones
 * out, but leaves `..%2f` and `..;` to servers, each of which has its own mind.
 */
function isStraight(path: string): boolean {
  let text = path;
  for (let times = 0; times < DECODED_MAX; times++) {
    if (text.split(/[/\\]/).some((segment) => DOTS.test(segment))) return false;
    const decoded = text.replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
    if (decoded === text) return true;
    text = decoded;
  }
  return false;
}
