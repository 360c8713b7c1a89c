import { isObject } from "../../../base/json.ts";
import { isMethod } from "../fetch/grants.ts";
import { isOfHost } from "../fetch/headers.ts";
import { matchesUrl, type OriginPattern, PATTERN_FORM, readOriginPattern } from "../fetch/origin-pattern.ts";

/** A place in a request. `basic:` is one half of `Authorization: Basic`. */
export type SecretPlace = `header:${string}` | `query:${string}` | "basic:user" | "basic:password" | "body";

/** Requests into which a secret may be put, and its place in them. */
export interface SecretBinding {
  /** `https://api.example.com`, or `https://*.example.com` for its subdomains. */
  readonly origin: string;
  /** Place of the secret: `header:NAME`, `query:NAME`, `basic:user`, `basic:password` or `body`. Default: `header:authorization`. */
  readonly in?: SecretPlace;
  /**
   * Form of the secret in a header or a parameter of the query, with `{}` in its place: `Bearer {}`. The tool then
   * writes exactly that, or the placeholder alone. Default: the tool chooses the text around it.
   */
  readonly as?: string;
  /** Methods of the requests. Default: all methods. */
  readonly methods?: readonly string[];
  /** Path of the requests, and of all under it; `/repos/` means only those under it. Default: all paths. */
  readonly path?: string;
}

/** A request that is to carry a secret. */
export interface BoundRequest {
  readonly method: string;
  readonly url: URL;
  /** Whether a header asks the server to take another method or path. Default: false. */
  readonly isOverridden?: boolean;
}

/** The part of a request that no binding of its secret allows. `form`: the text around the placeholder. */
export type UnboundPart = "origin" | "place" | "method" | "path" | "form" | "redirect";

/** The place of bindings in the old form, which name no header. */
const ANY_HEADER = "header:*";
const PLACE = /^(?:header:[!#$%&'+\-.^_`|~0-9A-Za-z]{1,256}|query:.{1,256}|basic:(?:user|password)|body)$/;
const FIELDS: ReadonlySet<string> = new Set(["origin", "in", "as", "methods", "path"]);
const AS_MAX = 256;
const LIST_MAX = 100;

/** One binding of a secret. */
export class Binding {
  /** In lower case if it is a header. */
  readonly place: string;
  /** The texts before and after the secret; `null` if the tool decides that. */
  readonly template: readonly [before: string, after: string] | null;
  readonly #pattern: OriginPattern;
  readonly #methods: readonly string[] | null;

  private constructor(
    pattern: OriginPattern,
    place: string,
    template: Binding["template"],
    methods: readonly string[] | null,
  ) {
    this.#pattern = pattern;
    this.place = place;
    this.template = template;
    this.#methods = methods;
  }

  /** The old form, for all headers of requests to an origin. Throws a `TypeError` that begins with `where`. */
  static ofOrigin(where: string, origin: unknown): Binding {
    return new Binding(readPattern(where, origin), ANY_HEADER, null, null);
  }

  /** Reads the bindings of a secret. Throws a `TypeError` that begins with `where`. */
  static readAll(where: string, given: unknown): readonly Binding[] {
    if (Array.isArray(given) && given.length > 0 && given.length <= LIST_MAX)
      return given.map((each, at) => Binding.#read(`${where}[${at}]`, each));
    throw new TypeError(
      `${where} is a list of 1 to ${LIST_MAX} bindings such as { origin: "https://api.example.com" }`,
    );
  }

  static #read(where: string, given: unknown): Binding {
    if (!isObject(given)) throw new TypeError(`${where} is a binding such as { origin: "https://api.example.com" }`);
    const unknown = Object.keys(given).find((name) => !FIELDS.has(name));
    if (unknown !== undefined) throw new TypeError(`${where} has a field other than ${[...FIELDS].join(", ")}`);
    const place = readPlace(where, given["in"]);
    const pattern = readPattern(`${where}.origin`, given["origin"], given["path"]);
    return new Binding(pattern, place, readTemplate(where, given["as"], place), readMethods(where, given["methods"]));
  }

  /** Whether the host can add the secret itself. */
  get isInjectable(): boolean {
    return this.place.startsWith("basic:") || (this.place.startsWith("header:") && this.place !== ANY_HEADER);
  }

  /** The reason why the secret may not be in a place of a request; `null` if it may. */
  missing(
    { method, url, isOverridden = false }: BoundRequest,
    place: string,
  ): Exclude<UnboundPart, "form" | "redirect"> | null {
    if (!matchesUrl({ ...this.#pattern, path: "" }, url)) return "origin";
    if (!this.#isPlace(place)) return "place";
    if (this.#methods !== null && (isOverridden || !this.#methods.includes(method))) return "method";
    if (this.#pattern.path === "") return null;
    return !isOverridden && isPlainlyEncoded(url.pathname) && matchesUrl(this.#pattern, url) ? null : "path";
  }

  /** The binding in words. */
  describe(): string {
    if (this.place === ANY_HEADER) return this.#pattern.text;
    const form = this.template === null ? "" : ` as ${JSON.stringify(this.template.join("{}"))}`;
    return `${this.#methods?.join(", ") ?? "any method"} to ${this.#pattern.text} in ${this.place}${form}`;
  }

  #isPlace(place: string): boolean {
    if (this.place === ANY_HEADER) return place.startsWith("header:") || place.startsWith("basic:");
    return place === this.place;
  }
}

/**
 * Whether all servers decode a path to the same text: it is UTF-8, encoded once. `%u002e`, overlong forms and a `%25`
 * that is decoded twice may be a dot to one of them.
 */
function isPlainlyEncoded(path: string): boolean {
  if (path.includes("%25")) return false;
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}

function readPattern(where: string, origin: unknown, path: unknown = ""): OriginPattern {
  const hasPath = path !== "";
  const isPath = typeof path === "string" && (path === "" || path.startsWith("/"));
  const isAnywhere = origin === "*" && hasPath;
  const pattern = isPath && typeof origin === "string" && !isAnywhere ? readOriginPattern(origin + path) : null;
  if (pattern === null) throw new TypeError(`${where} is ${PATTERN_FORM}${hasPath ? "; and path begins with /" : ""}`);
  return pattern;
}

function readPlace(where: string, given: unknown = "header:authorization"): string {
  if (typeof given !== "string" || !PLACE.test(given)) {
    throw new TypeError(`${where}.in is "header:NAME", "query:NAME", "basic:user", "basic:password" or "body"`);
  }
  if (!given.startsWith("header:")) return given;
  const place = given.toLowerCase();
  if (isOfHost(place.slice("header:".length))) {
    throw new TypeError(
      `${where}.in is a header that only the host sets: choose one that the server reads a secret from`,
    );
  }
  return place;
}

function readTemplate(where: string, given: unknown, place: string): Binding["template"] {
  if (given === undefined) return null;
  const parts = typeof given === "string" && given.length <= AS_MAX ? given.split("{}") : [];
  const [before = "", after = ""] = parts;
  if (parts.length !== 2) throw new TypeError(`${where}.as is a text with {} once, such as "Bearer {}"`);
  if (place.startsWith("basic:") || place === "body") {
    throw new TypeError(`${where}.as is only for headers and parameters of the query`);
  }
  return [before, after];
}

function readMethods(where: string, given: unknown): readonly string[] | null {
  if (given === undefined) return null;
  if (Array.isArray(given) && given.length > 0 && given.length <= LIST_MAX) {
    const methods = given.map((each: unknown) => (typeof each === "string" ? each.toUpperCase() : ""));
    if (methods.every(isMethod)) return methods;
  }
  throw new TypeError(`${where}.methods is a list of methods of HTTP, such as ["GET"]`);
}
