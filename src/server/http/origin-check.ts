import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import type { FastifyReply } from "fastify";
import ipaddr from "ipaddr.js";

/** Host names of a server, and origins of web pages that may call it. */
export interface SiteOptions {
  /**
   * Host names by which clients reach the server, without ports; IP addresses and `localhost` need no entry. Default:
   * with keys, any; without keys, none, as a page's owner could rebind a name to this machine (DNS rebinding).
   */
  readonly hosts?: readonly string[];
  /** Public address of the server, such as `https://tools.example.com`; its host name counts as one of `hosts`. */
  readonly publicUrl?: string;
  /** Origins of web pages that may call the server, such as `https://app.example.com`. Default: its own only. */
  readonly origins?: readonly string[];
}

export interface Bound {
  /** Address that the server listens on. */
  readonly host: string;
  readonly hasKeys: boolean;
}

/** Parts of a request that the checks read. */
type Asked = Pick<IncomingMessage, "method" | "headers">;

/** CORS permissions of pages of allowed origins. */
const PREFLIGHT = {
  "access-control-allow-methods": "GET, POST, PUT, DELETE",
  "access-control-allow-headers":
    "authorization, content-type, last-event-id, mcp-protocol-version, mcp-session-id, traceparent, tracestate",
  "access-control-max-age": "600",
};
const EXPOSED = "retry-after, ratelimit, ratelimit-policy, mcp-session-id, www-authenticate";
const ANY_ADDRESS: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);

/**
 * Distinguishes a server's own clients from pages of other sites, by the `Host`, `Origin` and `Sec-Fetch-*` headers.
 * Clients other than browsers can forge them, but no page can make a browser do so.
 */
export class OriginCheck {
  readonly #names: ReadonlySet<string> | null;
  readonly #origins: ReadonlySet<string>;
  readonly #ownOrigin: string | null;
  readonly #bound: string;
  /** The last accepted host name: most requests use the same one. */
  #lastOwn = "localhost";

  /** Throws a `TypeError` that names an invalid option. */
  constructor({ hosts, publicUrl, origins = [] }: SiteOptions, { host, hasKeys }: Bound) {
    const url = publicUrl === undefined ? null : readPublicUrl(publicUrl);
    const names = [...(hosts ?? []).map(readHost), ...(url === null ? [] : [url.hostname])];
    // With keys any name is safe: a page that rebinds its name to this server has no key.
    this.#names = hasKeys && hosts === undefined ? null : new Set(names);
    this.#origins = new Set(origins.map(readOrigin));
    this.#ownOrigin = url?.origin ?? null;
    this.#bound = host;
  }

  /** Reason to refuse a request, or `null`. */
  refusalOf({ method, headers }: Asked): string | null {
    const { host = "", origin } = headers;
    if (!this.#isOwnHost(nameIn(host))) return "unknown host name: add it to hosts, or use the server's address";
    if (origin !== undefined && this.#origins.has(origin)) return null;
    if (!this.#isOwnOrigin(host, origin)) return "requests from this origin are not allowed: add it to origins";
    return isOwnFetch({ method, headers }) ? null : "cross-site requests from web pages are not allowed";
  }

  /** Headers of every response to a request without an `Origin`. */
  get headers(): Readonly<Record<string, string>> {
    return this.#origins.size === 0 ? {} : { vary: "origin" };
  }

  /** Adds CORS headers for an allowed origin. Returns `true` if it has responded, to a preflight request. */
  share({ method, headers }: Asked, reply: FastifyReply): boolean {
    const { origin } = headers;
    if (origin === undefined || !this.#origins.has(origin)) return false;
    reply.headers({ "access-control-allow-origin": origin, "access-control-expose-headers": EXPOSED });
    if (method !== "OPTIONS" || headers["access-control-request-method"] === undefined) return false;
    reply.code(204).headers(PREFLIGHT).send();
    return true;
  }

  #isOwnHost(hostname: string): boolean {
    // Browsers always send `Host`; HTTP/1.0 clients need not.
    if (this.#names === null || hostname === "" || hostname === this.#lastOwn) return true;
    if (!this.#mayBeNamed(hostname)) return false;
    this.#lastOwn = hostname;
    return true;
  }

  #mayBeNamed(hostname: string): boolean {
    const name = hostname.toLowerCase().replace(/\.$/, "");
    if (name === "localhost" || this.#names?.has(name) === true) return true;
    const address = name.replace(/^\[|\]$/g, "");
    if (isIP(address) === 0) return false;
    // An IP address cannot be rebound.
    return ANY_ADDRESS.has(this.#bound) || isLoopback(address) || isSameAddress(address, this.#bound);
  }

  #isOwnOrigin(host: string, origin: string | undefined): boolean {
    if (origin === undefined || origin === this.#ownOrigin) return true;
    return origin === `http://${host.toLowerCase()}` || origin === `https://${host.toLowerCase()}`;
  }
}

/** The name or address in a `Host` header, without the port. */
function nameIn(host: string): string {
  const end = host.startsWith("[") ? host.indexOf("]") + 1 : host.indexOf(":");
  return end < 0 ? host : host.slice(0, end);
}

/** Whether a host is a loopback address, or `localhost`. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || (isIP(host) > 0 && ipaddr.process(host).range() === "loopback");
}

/** Whether the request comes from the server's own page, from a followed link, or not from a browser. */
function isOwnFetch({ method, headers }: Asked): boolean {
  const site = headers["sec-fetch-site"];
  if (site === undefined || site === "same-origin" || site === "none") return true;
  const isLink = headers["sec-fetch-mode"] === "navigate" && headers["sec-fetch-dest"] === "document";
  return isLink && method === "GET";
}

function isSameAddress(one: string, other: string): boolean {
  return isIP(other) > 0 && ipaddr.process(one).toString() === ipaddr.process(other).toString();
}

function readPublicUrl(text: unknown): URL {
  const url = typeof text === "string" ? URL.parse(text) : null;
  if (url?.protocol === "https:" || url?.protocol === "http:") return url;
  throw new TypeError("publicUrl is not an address that begins with https:// or http://");
}

function readHost(text: unknown): string {
  const url = typeof text === "string" ? URL.parse(`http://${text}`) : null;
  if (url !== null && url.hostname === String(text).toLowerCase()) return url.hostname;
  throw new TypeError('hosts are names without ports, such as "tools.example.com"');
}

function readOrigin(text: unknown): string {
  const url = typeof text === "string" ? URL.parse(text) : null;
  if (url !== null && url.origin === text && url.origin !== "null") return url.origin;
  throw new TypeError('origins are written as browsers do, such as "https://app.example.com", and one by one');
}

/** The system may resolve `localhost` to another address. */
export function oneAddress(host: string): string {
  return host === "localhost" ? "127.0.0.1" : host;
}
