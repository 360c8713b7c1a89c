import { hasPlaceholder } from "../secrets/placeholders.ts";
import { FetchFailure } from "./failure.ts";
import type { Header } from "./headers.ts";

/** One request of a chain of redirects. Its secrets are still placeholders. */
export interface RequestHop {
  readonly url: URL;
  readonly method: string;
  readonly headers: readonly Header[];
  readonly body: string | Buffer | null;
  /** Whether a redirect before it led to another origin. */
  readonly hasLeftOrigin: boolean;
}

/** The maximum of browsers. */
export const REDIRECTS_MAX = 20;

const STATUSES: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Headers that identify the sender to one origin. */
const PRIVATE: ReadonlySet<string> = new Set(["authorization", "cookie", "cookie2"]);
const URL_MAX = 16_384;

export function isRedirect(status: number): boolean {
  return STATUSES.has(status);
}

/** Parses the URL of a request or a redirect, as a tool or a server wrote it. */
export function readTarget(text: string, base?: URL): URL {
  const url = text.length > URL_MAX ? null : URL.parse(text, base);
  if (url === null)
    throw new FetchFailure(base === undefined ? "the URL is invalid" : "the server redirects to an invalid URL");
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    throw new FetchFailure(`the protocol ${url.protocol.slice(0, 64)} is not supported; use http or https`);
  }
  if (url.username !== "" || url.password !== "") {
    throw new FetchFailure("a URL must not contain a user name or password; send the authorization header instead");
  }
  return url;
}

/**
 * The request that follows a redirect, by the Fetch standard. Headers that identify the sender are not sent to another
 * origin.
 */
export function nextHop(hop: RequestHop, status: number, location: string): RequestHop {
  const url = readTarget(location, hop.url);
  const isPost = hop.method === "POST" && (status === 301 || status === 302);
  const isOther = status === 303 && hop.method !== "GET" && hop.method !== "HEAD";
  let { method, headers, body } = hop;
  if (isPost || isOther) {
    method = "GET";
    body = null;
    headers = headers.filter(([name]) => !name.startsWith("content-"));
  }
  const isOtherOrigin = url.origin !== hop.url.origin;
  if (isOtherOrigin) {
    headers = headers.filter(([name, value]) => !PRIVATE.has(name) && !hasPlaceholder(value));
  }
  return { url, method, headers, body, hasLeftOrigin: hop.hasLeftOrigin || isOtherOrigin };
}
