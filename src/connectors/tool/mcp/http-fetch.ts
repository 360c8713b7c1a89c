import { AsyncLocalStorage } from "node:async_hooks";
import type { Readable } from "node:stream";
import type { Dispatcher } from "undici";
import type { Connections } from "../../../kernel/broker/capabilities/fetch/connections.ts";
import { FetchFailure } from "../../../kernel/broker/capabilities/fetch/failure.ts";
import { checkHeader, type Header, isOfHost, retryAfterMs } from "../../../kernel/broker/capabilities/fetch/headers.ts";
import { readTarget } from "../../../kernel/broker/capabilities/fetch/redirect.ts";
import { namesIn, Placeholders } from "../../../kernel/broker/capabilities/secrets/placeholders.ts";
import { isRefusedBefore } from "../../login/failure.ts";
import type { RequestToken } from "../../login/logins.ts";
import type { Secrets } from "../../../kernel/broker/capabilities/secrets/secrets.ts";
import type { DigitMarks } from "./digit-marks.ts";
import { McpError } from "./failure.ts";
import { Inflow } from "./inflow.ts";
import type { McpLimits } from "./limits.ts";
import { partsOf } from "./lines.ts";
import type { SessionTokens } from "./session-tokens.ts";
import type { HttpServer } from "./server.ts";

/** Statuses of responses without a body. */
const BODILESS: ReadonlySet<number> = new Set([101, 103, 204, 205, 304]);
/** Statuses with which a server requests a later retry. */
const LATER: ReadonlySet<number> = new Set([429, 503]);
const LATER_MAX_MS = 3_600_000;
const UNAUTHORIZED = 401;
/** Time in which a server may end what it has begun for a request that is over. */
const LINGER_MS = 5_000;
const [LINE_FEED, CARRIAGE_RETURN] = [10, 13];

interface RawAnswer extends Pick<Dispatcher.ResponseData, "statusCode" | "statusText" | "body"> {
  readonly headers: Headers;
}

/**
 * The `fetch` that the client of the protocol is given: requests to the server's own origin only, through guarded
 * connections, with the connector's headers and their secrets, and with bounded answers. Follows no redirect: the client
 * does, within the origin.
 */
export class GuardedFetch {
  readonly #server: HttpServer;
  readonly #origin: string;
  readonly #written: ReadonlySet<string>;
  readonly #connections: Connections;
  readonly #secrets: Secrets;
  readonly #limits: McpLimits;
  readonly #inflow: Inflow;
  readonly #marks: DigitMarks;
  readonly #tokens: SessionTokens | null;
  /** The request of ours for which the client sends something. */
  readonly #cause = new AsyncLocalStorage<Cause>();
  /** Requests under way, with the bodies of their answers. */
  #open = 0;

  constructor(
    server: HttpServer,
    connections: Connections,
    secrets: Secrets,
    {
      limits,
      marks,
      tokens,
    }: { readonly limits: McpLimits; readonly marks: DigitMarks; readonly tokens: SessionTokens | null },
  ) {
    this.#tokens = tokens;
    this.#marks = marks;
    this.#server = server;
    this.#origin = new URL(server.url).origin;
    this.#written = namesIn([server.url, ...server.headers.map(([, value]) => value)]);
    this.#connections = connections;
    this.#secrets = secrets;
    this.#limits = limits;
    this.#inflow = new Inflow(limits);
  }

  /**
   * Asks the server something. Whatever is sent for that ends soon after the answer: a server may leave its stream open, or
   * have the client resume it again and again.
   */
  async during<Value>(ask: () => Promise<Value>): Promise<Value> {
    const cause = new Cause();
    let isAnswered = false;
    try {
      const value = await this.#cause.run(cause, ask);
      isAnswered = true;
      return value;
    } finally {
      cause.close(isAnswered);
    }
  }

  async send(input: string | URL, init: RequestInit = {}): Promise<Response> {
    const url = readTarget(String(input));
    if (url.origin !== this.#origin) throw new FetchFailure("the server refers to another origin");
    const tokens = this.#tokens;
    const token = tokens === null ? null : await tokens.token();
    const answer = await this.#request(url, init, token);
    if (tokens === null || token === null || answer.statusCode !== UNAUTHORIZED) return this.#accept(answer);
    const challenge = answer.headers.get("www-authenticate") ?? "";
    const mayRepeat = (init.method ?? "GET") === "GET" || isRefusedBefore(challenge);
    const other = await tokens.token(token);
    if (other.value === token.value || !mayRepeat) return this.#accept(answer);
    answer.body.destroy();
    return this.#accept(await this.#request(url, init, other));
  }

  async #request(url: URL, init: RequestInit, token: RequestToken | null): Promise<RawAnswer> {
    const method = init.method ?? "GET";
    const { path, headers } = this.#fill(url, method, new Headers(init.headers), token);
    const { requests } = this.#limits;
    // The client answers each request of a server by one of its own.
    if (this.#open >= requests)
      throw new McpError(`more than ${requests} requests to it are under way`, { isSent: false });
    const cause = this.#cause.getStore();
    const closed = (): void => {
      this.#open--;
      cause?.end();
    };
    this.#open++;
    cause?.begin();
    const {
      statusCode,
      statusText,
      headers: raw,
      body,
    } = await this.#dispatch({
      origin: url.origin,
      path,
      method: method as Dispatcher.HttpMethod,
      headers: headers.flat(),
      body: typeof init.body === "string" ? Buffer.from(init.body) : null,
      signal: AbortSignal.any([init.signal ?? [], cause?.signal ?? []].flat()),
      responseHeaders: "raw",
    }).catch((error: unknown) => {
      closed();
      throw error;
    });
    body.once("close", closed);
    // A body that is not read to its end fails, and nobody else would hear that.
    body.on("error", () => undefined);
    const named = new Headers();
    const pairs = raw as unknown as readonly string[];
    for (let at = 0; at + 1 < pairs.length; at += 2) named.append(pairs[at] ?? "", pairs[at + 1] ?? "");
    return { statusCode, statusText, headers: named, body };
  }

  async #dispatch(options: Dispatcher.RequestOptions): Promise<Dispatcher.ResponseData> {
    const agent = await this.#connections.agent(this.#server.isPrivate);
    return await agent.request(options);
  }

  /** Own headers of the connector come last, so that none of them replaces one of the protocol. */
  #fill(
    url: URL,
    method: string,
    given: Headers,
    token: RequestToken | null,
  ): { readonly path: string; readonly headers: readonly Header[] } {
    const written = token === null ? this.#written : new Set([...this.#written, token.secrets.name]);
    const placeholders = new Placeholders({
      url,
      method,
      secrets: token?.secrets ?? this.#secrets,
      granted: () => [...written],
      written,
      hasLeftOrigin: false,
      onUnbound: () => {},
    });
    const ofToken = token === null ? [] : [token.secrets.header];
    const own = [...ofToken, ...this.#server.headers].filter(([name]) => !given.has(name) && !isOfHost(name));
    const path = placeholders.inUrl(url);
    const filled = placeholders.inHeaders(own).map(([name, value]) => checkHeader(name, value));
    const base: readonly Header[] = [...given, ["accept-encoding", "identity"], ["user-agent", "glovebox"]];
    return { path, headers: [...base, ...filled] };
  }

  #accept({ statusCode, statusText, headers, body }: RawAnswer): Response {
    if (LATER.has(statusCode)) {
      body.destroy();
      const laterMs = retryAfterMs(headers.get("retry-after") ?? "");
      throw new McpError(`it answered with HTTP ${statusCode}`, {
        isSent: false,
        isBusy: true,
        retryAfterMs: laterMs === null ? null : Math.min(LATER_MAX_MS, laterMs),
      });
    }
    if ((headers.get("content-encoding") ?? "identity") !== "identity") {
      body.destroy();
      throw new FetchFailure("the body has a content-encoding, though none was asked for");
    }
    const init = { status: statusCode, statusText: statusText.replaceAll(/[^\t\x20-\x7e]/g, "?"), headers };
    if (BODILESS.has(statusCode)) {
      body.destroy();
      return new Response(null, init);
    }
    const isStream = /^text\/event-stream\b/i.test(headers.get("content-type") ?? "");
    const marked = this.#marks.markBody(this.#bounded(body, isStream), isStream);
    return new Response(ReadableStream.from(marked), init);
  }

  /** The bytes of a body, up to the length of one message: in a stream of events, between two empty lines. */
  async *#bounded(body: Readable, isStream: boolean): AsyncGenerator<Uint8Array> {
    const { messageBytes, messageParts } = this.#limits;
    const events = isStream ? new EventEnds() : null;
    let length = 0;
    let parts = 0;
    for await (const chunk of body as AsyncIterable<Buffer>) {
      const { count, end } = events?.read(chunk) ?? { count: 0, end: -1 };
      const excess = this.#inflow.take(isStream ? Math.max(1, count) : 0, chunk.length);
      if (excess !== null) throw excess;
      // What ends in this chunk is bounded by its length.
      length = end < 0 ? length + chunk.length : chunk.length - end;
      parts = partsOf(chunk.subarray(Math.max(0, end))) + (end < 0 ? parts : 0);
      if (parts > messageParts) throw new McpError(`it sent a message of more than ${messageParts} values`);
      if (length > messageBytes) throw new McpError(`it sent a message of more than ${messageBytes} bytes`);
      yield chunk;
    }
  }
}

/** What the client sends for one request of ours. */
class Cause {
  readonly #over = new AbortController();
  #open = 0;
  #late: NodeJS.Timeout | null = null;

  /** Aborted when nothing may be sent for it any more. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  begin(): void {
    this.#open++;
  }

  end(): void {
    this.#open--;
    if (this.#late !== null) this.#abortIfIdle();
  }

  /** The request is over. Without an answer, the client may have to tell the server so. */
  close(isAnswered: boolean): void {
    this.#late = setTimeout(() => this.#over.abort(), LINGER_MS).unref();
    if (isAnswered) this.#abortIfIdle();
  }

  #abortIfIdle(): void {
    if (this.#open > 0) return;
    clearTimeout(this.#late ?? undefined);
    this.#over.abort();
  }
}

/** Finds the ends of events in a stream: empty lines, whichever line ends there are. */
class EventEnds {
  #last = 0;
  #isLineEmpty = true;

  /** Number of events that end in a chunk, and the place behind the last end; -1 without one. */
  read(chunk: Buffer): { readonly count: number; readonly end: number } {
    let count = 0;
    let end = -1;
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at] ?? 0;
      const isSecond = byte === LINE_FEED && this.#last === CARRIAGE_RETURN;
      if (isSecond) end = end === at ? at + 1 : end;
      else if (byte === LINE_FEED || byte === CARRIAGE_RETURN) {
        if (this.#isLineEmpty) {
          count++;
          end = at + 1;
        }
        this.#isLineEmpty = true;
      } else this.#isLineEmpty = false;
      this.#last = byte;
    }
    return { count, end };
  }
}
