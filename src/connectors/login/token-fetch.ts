import type { Dispatcher } from "undici";
import {
  type Connections,
  isPrivateHost,
  PrivateAddressError,
} from "../../kernel/broker/capabilities/fetch/connections.ts";
import { boundedPieces } from "../../kernel/broker/capabilities/fetch/decoding.ts";
import { failureOf } from "../../kernel/broker/capabilities/fetch/failure.ts";
import { retryAfterMs } from "../../kernel/broker/capabilities/fetch/headers.ts";
import { isObject } from "../../kernel/base/json.ts";
import { LoginFailure } from "./failure.ts";
import type { LoginSettings } from "./settings.ts";

/** Of one answer of an authorization server. */
const ANSWER_BYTES = 64 * 1024;
/** Longest time for one request, from the lookup of the name to the end of the answer. */
const REQUEST_MAX_MS = 10_000;
const RETRY_MAX_MS = 3_600_000;
/** Tolerated difference from a server's clock. */
const SKEW_S = 20;
/** Headers that matter to OAuth. */
const KEPT = ["content-type", "www-authenticate"];
const BUSY: ReadonlySet<number> = new Set([429, 502, 503, 504]);

interface TokenRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/**
 * Requests to an authorization server: over TLS and to public addresses, unless the operator's own options name
 * another; without redirects; with bounded answers and in bounded time. Its metadata is untrusted, and determines only
 * the path and the public host of an endpoint.
 */
export class TokenFetch {
  readonly #connections: Connections;
  readonly #isPrivate: boolean;
  /** Origins on private addresses that the operator names. */
  readonly #privateOrigins: ReadonlySet<string>;
  #skewS = 0;

  constructor(
    { issuer, tokenUrl, authorizationUrl, deviceUrl, isPrivate }: LoginSettings,
    connections: Connections,
    more: readonly string[] = [],
  ) {
    this.#connections = connections;
    this.#isPrivate = isPrivate;
    const named = [issuer, tokenUrl, authorizationUrl, deviceUrl, ...more].flatMap((text) => {
      const url = text === null ? null : URL.parse(text);
      return url !== null && isPrivateHost(url) ? [url.origin] : [];
    });
    this.#privateOrigins = new Set(named);
  }

  /** Seconds by which the server's clock is ahead of this machine's; 0 for a small difference. */
  get skewS(): number {
    return this.#skewS;
  }

  /** Throws if requests to this URL are not permitted. */
  admit(text: string): URL {
    const url = URL.parse(text);
    if (url === null || url.username !== "" || url.password !== "")
      throw new LoginFailure("failed", "the authorization server names an endpoint that is no URL");
    if (url.protocol === "https:" || (url.protocol === "http:" && this.#reachesPrivate(url))) return url;
    throw new LoginFailure("failed", `the authorization server names an endpoint without TLS: ${url.origin}`);
  }

  /** The `fetch` that the library is given. */
  readonly send = async (input: string, { method, headers, body }: TokenRequest): Promise<Response> => {
    const url = this.admit(input);
    const limitMs = Math.min(REQUEST_MAX_MS, this.#connections.headersMs);
    const signal = AbortSignal.timeout(limitMs);
    try {
      const agent = await this.#connections.agent(this.#reachesPrivate(url));
      const answer = await agent.request({
        origin: url.origin,
        path: url.pathname + url.search,
        method: method as Dispatcher.HttpMethod,
        headers: { ...headers, "accept-encoding": "identity", "user-agent": "glovebox" },
        body: body === undefined || body === null ? null : Buffer.from(String(body as string | URLSearchParams)),
        signal,
      });
      return await accept(answer, (date) => this.#measure(date));
    } catch (error) {
      if (signal.aborted)
        throw new LoginFailure("failed", `${method} ${url.origin}: no whole answer within ${limitMs} ms`);
      throw this.#failureOf(error, method, url);
    }
  };

  #reachesPrivate({ origin }: URL): boolean {
    return this.#isPrivate || this.#privateOrigins.has(origin);
  }

  #measure(date: string): void {
    const toldMs = Date.parse(date);
    if (Number.isNaN(toldMs)) return;
    const skewS = Math.round((toldMs - Date.now()) / 1_000);
    this.#skewS = Math.abs(skewS) > SKEW_S ? skewS : 0;
  }

  #failureOf(error: unknown, method: string, url: URL): LoginFailure {
    if (error instanceof LoginFailure) return error;
    if (error instanceof PrivateAddressError) {
      const problem = `the authorization server at ${url.origin} has an address that is not public`;
      return new LoginFailure("failed", `${problem}; set private: true of the connector, if you trust it`);
    }
    return new LoginFailure("failed", failureOf(error, method, url).message);
  }
}

async function accept(
  { statusCode, headers, body }: Dispatcher.ResponseData,
  onDate: (date: string) => void,
): Promise<Response> {
  const first = (name: string): string => [headers[name] ?? ""].flat()[0] ?? "";
  onDate(first("date"));
  const tooLong = () =>
    new LoginFailure("failed", `the authorization server's answer has more than ${ANSWER_BYTES} bytes`);
  const parts = await Array.fromAsync(boundedPieces(body, ANSWER_BYTES, tooLong));
  if (BUSY.has(statusCode)) {
    const waitMs = retryAfterMs(first("retry-after"));
    const problem = `the authorization server answered with HTTP ${statusCode}`;
    throw new LoginFailure("failed", problem, waitMs === null ? null : Math.min(RETRY_MAX_MS, waitMs));
  }
  if (statusCode < 200 || (statusCode >= 300 && statusCode < 400)) {
    throw new LoginFailure(
      "failed",
      `the authorization server answered with HTTP ${statusCode}, which is not followed`,
    );
  }
  const kept = KEPT.flatMap((name) => (first(name) === "" ? [] : [[name, first(name)] as const]));
  const isBodiless = statusCode === 204 || statusCode === 205;
  const text = withoutIdentity(Buffer.concat(parts).toString("utf8"));
  return new Response(isBodiless ? null : text, { status: statusCode, headers: Object.fromEntries(kept) });
}

/** Removes the ID token: it is not needed, and its times would be checked by a clock that may be wrong. */
function withoutIdentity(text: string): string {
  if (!text.includes('"id_token"')) return text;
  try {
    const answer: unknown = JSON.parse(text);
    if (!isObject(answer)) return text;
    const { id_token: _identity, ...rest } = answer;
    return JSON.stringify(rest);
  } catch {
    return text;
  }
}
