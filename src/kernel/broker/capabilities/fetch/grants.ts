import { faultOf, type GrantKind, type GrantSource, type UncoveredPart } from "../capability.ts";
import { coversPattern, meetPatterns, type OriginPattern, PATTERN_FORM, readOriginPattern } from "./origin-pattern.ts";

/** The requested or granted requests. */
export interface FetchGrant {
  readonly origins: readonly OriginPattern[];
  /** Origins that may resolve to a private address. */
  readonly privateOrigins: readonly string[];
  /** `null` for all methods. */
  readonly methods: readonly string[] | null;
  /** Maximum total bytes of a call's requests and responses: bodies, and the paths and headers that a tool writes. */
  readonly maxBytes: number;
  /** Maximum requests of a call; each redirect counts as one. */
  readonly maxRequests: number;
}

const MAX_BYTES_DEFAULT = 5 * 1024 * 1024;
const MAX_REQUESTS_DEFAULT = 20;
const LIST_MAX = 1_000;
const ORIGINS_SHOWN = 20;
const FIELDS: ReadonlySet<string> = new Set(["origins", "privateOrigins", "methods", "maxBytes", "maxRequests"]);
/** Default methods of a tool's request. */
const METHODS_ASKED: readonly string[] = ["GET", "HEAD"];
const METHOD = /^[A-Z][A-Z-]{0,31}$/;
/** Methods for proxies and for echoing requests: no tool needs them. */
const METHODS_NEVER: ReadonlySet<string> = new Set(["CONNECT", "TRACE", "TRACK"]);

/** Whether a method may be granted at all. */
export function isMethod(name: string): boolean {
  return METHOD.test(name) && !METHODS_NEVER.has(name);
}

/**
 * Grants of `fetch`. Without methods, a tool requests GET and HEAD, and a rule allows all. Without `maxBytes` or
 * `maxRequests`, a tool or rule has the defaults, and a narrowing keeps the granted values.
 */
export const fetchGrants: GrantKind<FetchGrant> = {
  read(value, side) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw new TypeError(": is an object with a list of origins");
    }
    const given = new Map<string, unknown>(Object.entries(value));
    for (const name of given.keys()) {
      if (!FIELDS.has(name)) throw new TypeError(`/${name.slice(0, 64)}: is not one of ${[...FIELDS].join(", ")}`);
    }
    const unsaid = side === "narrowing" ? Number.POSITIVE_INFINITY : null;
    const own = readPatterns(given.get("origins"), "/origins");
    const exact = readPrivate(given.get("privateOrigins"), side);
    return {
      origins: [...own, ...exact],
      privateOrigins: exact.map(({ text }) => text),
      methods: readMethods(given.get("methods"), side),
      maxBytes: readCount(given.get("maxBytes"), "/maxBytes", unsaid ?? MAX_BYTES_DEFAULT),
      maxRequests: readCount(given.get("maxRequests"), "/maxRequests", unsaid ?? MAX_REQUESTS_DEFAULT),
    };
  },

  meet(asked, allowed) {
    const both = asked.origins.flatMap((one) => allowed.origins.flatMap((other) => meetPatterns(one, other) ?? []));
    const methods = meetMethods(asked.methods, allowed.methods);
    if (both.length === 0 || methods?.length === 0) return null;
    return {
      origins: [...new Map(both.map((pattern) => [pattern.text, pattern])).values()],
      privateOrigins: allowed.privateOrigins,
      methods,
      maxBytes: Math.min(asked.maxBytes, allowed.maxBytes),
      maxRequests: Math.min(asked.maxRequests, allowed.maxRequests),
    };
  },

  uncovered: (asked, granted) => [
    ...asked.origins.flatMap((origin, at) => uncoveredAt(asked, origin, at, granted)),
    ...beyond("maxBytes", asked, granted),
    ...beyond("maxRequests", asked, granted),
  ],

  describe: ({ origins, methods, maxBytes, maxRequests }) =>
    `${namesOf(methods)} to ${listed(origins)} ` + `(at most ${maxBytes} bytes and ${maxRequests} requests in a call)`,
};

function listed(origins: readonly OriginPattern[]): string {
  const shown = origins.slice(0, ORIGINS_SHOWN).map(({ text }) => text);
  if (shown.length < origins.length) shown.push(`and ${origins.length - shown.length} more`);
  return shown.length === 0 ? "nowhere" : shown.join(", ");
}

function namesOf(methods: readonly string[] | null): string {
  return methods === null ? "any method" : methods.join(", ");
}

function readPatterns(value: unknown, pointer: string): readonly OriginPattern[] {
  return readList(value, pointer, 'origins, such as ["https://api.example.com"]').map((each, at) => {
    const pattern = readOriginPattern(each);
    if (pattern === null) throw new TypeError(`${pointer}/${at}: is ${PATTERN_FORM}`);
    return pattern;
  });
}

function readPrivate(value: unknown, side: GrantSource): readonly OriginPattern[] {
  if (value === undefined) return [];
  if (side !== "policy") throw new TypeError("/privateOrigins: is allowed only in a policy rule");
  const patterns = readPatterns(value, "/privateOrigins");
  const at = patterns.findIndex(({ protocol, isWild, path }) => protocol === null || isWild || path !== "");
  if (at < 0) return patterns;
  throw new TypeError(`/privateOrigins/${at}: is one origin, without a path: "http://127.0.0.1:8080"`);
}

function readMethods(value: unknown, side: GrantSource): readonly string[] | null {
  if (value === undefined) return side === "request" ? METHODS_ASKED : null;
  const names = readList(value, "/methods", 'methods, such as ["GET"]').map((each, at) => {
    const name = typeof each === "string" ? each.toUpperCase() : "";
    if (name === "*" || isMethod(name)) return name;
    throw new TypeError(
      `/methods/${at}: is a method of HTTP such as "POST", or "*"; CONNECT and TRACE are not allowed`,
    );
  });
  return names.includes("*") ? null : [...new Set(names)];
}

function readList(value: unknown, pointer: string, nouns: string): readonly unknown[] {
  if (Array.isArray(value) && value.length <= LIST_MAX) return value;
  throw new TypeError(`${pointer}: ${faultOf(value, `is a list of at most ${LIST_MAX} ${nouns}`)}`);
}

function readCount(value: unknown, pointer: string, fallback: number): number {
  if (value === undefined) return fallback;
  if (typeof value === "number" && Number.isSafeInteger(value) && value > 0) return value;
  throw new TypeError(`${pointer}: is a whole number above 0`);
}

function meetMethods(one: readonly string[] | null, other: readonly string[] | null): readonly string[] | null {
  if (one === null) return other;
  return other === null ? one : one.filter((name) => other.includes(name));
}

function uncoveredAt(
  { methods }: FetchGrant,
  origin: OriginPattern,
  at: number,
  granted: readonly FetchGrant[],
): readonly UncoveredPart[] {
  const covering = granted.filter(({ origins }) => origins.some((pattern) => coversPattern(pattern, origin)));
  const isWhole = covering.some((grant) => grant.methods === null);
  if (covering.length === 0) return [{ pointer: `/origins/${at}`, asked: `${namesOf(methods)} to ${origin.text}` }];
  if (isWhole) return [];
  if (methods === null) return [{ pointer: "/methods", asked: `any method to ${origin.text}` }];
  return methods.flatMap((name, nth) =>
    covering.some((grant) => grant.methods?.includes(name))
      ? []
      : [{ pointer: methods === METHODS_ASKED ? "/methods" : `/methods/${nth}`, asked: `${name} to ${origin.text}` }],
  );
}

function beyond(
  name: "maxBytes" | "maxRequests",
  asked: FetchGrant,
  granted: readonly FetchGrant[],
): readonly UncoveredPart[] {
  if (granted.length === 0 || granted.some((grant) => grant[name] >= asked[name])) return [];
  return [{ pointer: `/${name}`, asked: `${name} of ${asked[name]}` }];
}
