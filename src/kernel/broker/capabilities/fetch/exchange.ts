import type { Dispatcher } from "undici";
import type { Redactor } from "../../../base/redaction/redactor.ts";
import type { OnHost } from "../capability.ts";
import { namesIn, Placeholders, type UnboundRequest } from "../secrets/placeholders.ts";
import type { RequestSecrets } from "../secrets/secrets.ts";
import { type Connections, PrivateAddressError } from "./connections.ts";
import { decodersOf } from "./decoding.ts";
import { failureOf, FetchFailure } from "./failure.ts";
import { checkHeader, hasOverride, type Header, headerOf, lengthOf, pieceHeader, withDefaults } from "./headers.ts";
import type { RequestPermission, RequestPermit } from "./permission.ts";
import { type RequestHop, isRedirect, nextHop, REDIRECTS_MAX } from "./redirect.ts";
import { ResponseBody } from "./response-body.ts";

export type RedirectMode = "follow" | "error" | "manual";

/** State shared by the requests of a call. */
export interface ExchangeHost {
  readonly connections: Connections;
  readonly permission: RequestPermission;
  readonly secrets: RequestSecrets;
  /** Patterns of the names of secrets that the call is granted. */
  readonly grantedSecrets: () => readonly string[];
  /** Called for a request that is refused, because it would carry a secret where that is not bound. */
  readonly onUnbound: (request: UnboundRequest) => void;
  readonly onHost: OnHost;
}

/** A response without its body. */
export interface ResponseHead {
  readonly url: string;
  readonly status: number;
  readonly statusText: string;
  readonly headers: readonly Header[];
  readonly redirected: boolean;
  readonly opaque: boolean;
}

/** A request with its secrets filled in. */
interface FilledRequest {
  readonly path: string;
  readonly headers: readonly Header[];
  readonly body: Buffer | null;
  readonly size: number;
}

interface ServerResponse {
  readonly data: Dispatcher.ResponseData;
  readonly headers: readonly Header[];
  readonly permit: RequestPermit;
}

/** Maximum length of a path that most servers accept. */
const PATH_MAX = 8_192;
/** Statuses of responses without a body. */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304]);
/** Maximum bytes read of a discarded body, to reuse its connection. */
const DISCARDED_BYTES_MAX = 16 * 1024;
const DISCARD_MS = 1_000;
/** Schemes that authenticate a connection: the server would attribute its next request to the same user. */
const OF_CONNECTION = /^(?:ntlm|negotiate)\b/i;
const WIRE_BUFFER_BYTES = 64 * 1024;

/** One request of a tool and its response, including all redirects. */
export class Exchange {
  body: ResponseBody | null = null;
  readonly #host: ExchangeHost;
  readonly #abort = new AbortController();
  /** Names of the secrets that were put into this request, in any hop: only these are looked for in its response. */
  readonly #filled = new Set<string>();
  #redactor: Redactor | null = null;

  constructor(host: ExchangeHost) {
    this.#host = host;
  }

  /** Aborted when the request is cancelled. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Follows redirects until the final response. Rejects with an error that a tool may see. */
  async send(first: RequestHop, mode: RedirectMode): Promise<ResponseHead> {
    const written = namesIn([
      first.url.pathname + first.url.search,
      ...first.headers.map(([, value]) => value),
      ...(typeof first.body === "string" ? [first.body] : []),
    ]);
    let hop = first;
    for (let redirects = 0; ; redirects++) {
      try {
        const reply = await this.#reply(hop, written);
        const { statusCode } = reply.data;
        const location = reply.headers.find(([name]) => name === "location")?.[1];
        if (!isRedirect(statusCode) || mode === "manual" || (location === undefined && mode === "follow")) {
          const opaque = mode === "manual" && isRedirect(statusCode);
          return { ...this.#accept(hop, reply), redirected: redirects > 0, opaque };
        }
        discard(reply.data);
        if (mode === "error") throw new FetchFailure('the server redirects, and redirect is "error"');
        if (redirects === REDIRECTS_MAX)
          throw new FetchFailure(`the server redirects more than ${REDIRECTS_MAX} times`);
        hop = nextHop(hop, statusCode, location ?? "");
      } catch (error) {
        const { permission } = this.#host;
        const isPrivate = error instanceof PrivateAddressError;
        const failure = isPrivate ? permission.denyAddress(hop.method, hop.url) : failureOf(error, hop.method, hop.url);
        // A response that was not accepted would hold its connection for ever.
        this.cancel(failure);
        throw failure;
      }
    }
  }

  /** Cancels the request, or the rest of its response. */
  cancel(reason: Error): void {
    this.#abort.abort(reason);
    this.body?.cancel(reason);
  }

  async #reply(hop: RequestHop, written: ReadonlySet<string>): Promise<ServerResponse> {
    const { permission, connections } = this.#host;
    const { url, method } = hop;
    this.#abort.signal.throwIfAborted();
    const permit = permission.admit(method, url);
    const { path, headers, body, size } = this.#fill(hop, written);
    if (permission.take(size, permit) < size) throw permission.excess(method, url, permit);
    const agent = await connections.agent(permit.isPrivate);
    const sent = agent.request({
      origin: url.origin,
      path,
      method: method as Dispatcher.HttpMethod,
      headers: withDefaults(headers).flat(),
      body,
      signal: this.#abort.signal,
      responseHeaders: "raw",
      highWaterMark: WIRE_BUFFER_BYTES,
      ...(headers.some(([name, value]) => name === "authorization" && OF_CONNECTION.test(value))
        ? { reset: true }
        : {}),
    });
    const data = await this.#inTime(sent);
    return { data, headers: this.#headersOf(data), permit };
  }

  /** Fills in the secrets, and counts the bytes of the request. */
  #fill(hop: RequestHop, written: ReadonlySet<string>): FilledRequest {
    const { secrets, permission, grantedSecrets: granted, onUnbound } = this.#host;
    const { url, method, hasLeftOrigin } = hop;
    const isOverridden = hasOverride(hop.headers);
    const request = { url, method, isOverridden };
    const placeholders = new Placeholders({ ...request, secrets, granted, written, hasLeftOrigin, onUnbound });
    const path = placeholders.inUrl(url);
    if (path.length > PATH_MAX) throw new FetchFailure(`the URL is longer than ${PATH_MAX} characters`);
    const headers = placeholders.inHeaders(hop.headers).map(([name, value]) => checkHeader(name, value));
    const body = bodyOf(hop, placeholders);
    const ofPieces = pieceHeader(headers);
    if (placeholders.filled.size > 0) {
      if (ofPieces !== null) throw permission.denyPieces(method, url, ofPieces);
      for (const name of placeholders.filled) this.#filled.add(name);
      this.#redactor = secrets.redactorOf(this.#filled);
    }
    return { path, headers, body, size: path.length + lengthOf(headers) + (body?.length ?? 0) };
  }

  /** Waits for the head of a response, or an abort: a request that waits for a connection does not react to aborts. */
  async #inTime<Value>(sent: Promise<Value>): Promise<Value> {
    const { signal } = this.#abort;
    const { promise: ended, reject } = Promise.withResolvers<never>();
    const onAbort = () => reject(signal.reason as Error);
    const onLate = () => this.#abort.abort(new FetchFailure("the server did not respond in time"));
    const timer = setTimeout(onLate, this.#host.connections.headersMs);
    signal.addEventListener("abort", onAbort);
    try {
      return await Promise.race([sent, ended]);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    }
  }

  #headersOf({ headers }: Dispatcher.ResponseData): readonly Header[] {
    const clean = (bytes: string) => this.#redactor?.latin1(bytes) ?? bytes;
    // With `responseHeaders: "raw"`, headers are a list of alternating names and values.
    const raw = headers as unknown as readonly string[];
    return Array.from({ length: raw.length / 2 }, (_, at): Header => [
      clean(raw[2 * at] ?? "").toLowerCase(),
      clean(raw[2 * at + 1] ?? ""),
    ]);
  }

  #accept(
    { url, method }: RequestHop,
    { data, headers, permit }: ServerResponse,
  ): Omit<ResponseHead, "redirected" | "opaque"> {
    const { permission, onHost } = this.#host;
    const { statusCode, statusText, body } = data;
    if (method === "HEAD" || BODILESS.has(statusCode)) discard(data);
    else {
      const decoders = decodersOf(headerOf(headers, "content-encoding"));
      this.body = new ResponseBody({
        stream: body,
        decoders,
        wireBytesMax: permit.maxBytes,
        take: (bytes) => permission.take(bytes, permit),
        excess: () => permission.excess(method, url, permit),
        redacted: this.#redactor?.stream() ?? null,
        onHost,
        failureOf: (error) => failureOf(error, method, url),
      });
    }
    const shown = new URL(url);
    shown.hash = "";
    // Status text is bytes in latin1, like headers and the status text of a tool's `Response`.
    const bytes = Buffer.from(statusText).toString("latin1");
    return {
      url: shown.href,
      status: statusCode,
      statusText: this.#redactor?.latin1(bytes) ?? bytes,
      headers,
    };
  }
}

/** Discards the rest of a response, or closes its connection if the rest is large. */
function discard({ body }: Dispatcher.ResponseData): void {
  body.dump({ limit: DISCARDED_BYTES_MAX, signal: AbortSignal.timeout(DISCARD_MS) }).catch(() => {});
}

function bodyOf({ body, headers }: RequestHop, placeholders: Placeholders): Buffer | null {
  if (typeof body !== "string") return body;
  return Buffer.from(placeholders.inBody(body, headerOf(headers, "content-type")));
}
