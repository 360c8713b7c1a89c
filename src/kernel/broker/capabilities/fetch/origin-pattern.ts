import { isIP } from "node:net";

/** Pattern of URLs: an origin, its subdomains, a part of its paths, or any origin of the web. */
export interface OriginPattern {
  /** The pattern in its normal form: equal patterns have equal texts. */
  readonly text: string;
  /** `null` for any origin. */
  readonly protocol: string | null;
  readonly host: string;
  /** Whether the pattern matches the subdomains of the host, and not the host itself. */
  readonly isWild: boolean;
  readonly port: string;
  /** Begins with a slash; empty for all paths. */
  readonly path: string;
}

/**
 * Ports of other protocols, whose servers might interpret an HTTP request as a message of theirs. Browsers block them,
 * and `*` does not match them. To use one, both tool and rule must name the origin.
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
/** A segment that a server may read as `.` or `..`, after removing parameters and decoding. */
const DOTS = /^\.{1,2}(?:[;?#\0-\x20].*)?$/s;

/** Form of a pattern, for messages. */
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

/** Whether the pattern matches a URL. */
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

/** Whether the first pattern matches all URLs of the second. */
export function coversPattern(wide: OriginPattern, narrow: OriginPattern): boolean {
  return meetPatterns(wide, narrow)?.text === narrow.text;
}

type Host = Pick<OriginPattern, "host" | "isWild">;

function coversHost(wide: Host, narrow: Host): boolean {
  if (!wide.isWild) return !narrow.isWild && narrow.host === wide.host;
  return narrow.host.endsWith(`.${wide.host}`) || (narrow.isWild && narrow.host === wide.host);
}

/** `/v1` covers `/v1` and all paths under it; `/v1/` covers only the paths under it. */
function coversPath(wide: string, narrow: string): boolean {
  if (wide === "" || narrow === wide) return true;
  return narrow.startsWith(wide.endsWith("/") ? wide : `${wide}/`);
}

/**
 * Whether no server can read a step up in a path, however often it decodes the path. The URL parser resolves plain `..`
 * segments, but leaves `..%2f` and `..;`, which servers interpret differently.
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
