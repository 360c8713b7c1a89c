import type { JsonSchema } from "../../json.ts";
import type { Capability, OpenCall, OpenCapability } from "../capability.ts";
import type { Secrets } from "../secrets/secrets.ts";
import { Connections, type FetchOptions } from "./connections.ts";
import { Exchange, type ExchangeHost, type RedirectMode, type ResponseHead } from "./exchange.ts";
import { FetchFailure } from "./failure.ts";
import { type FetchGrant, fetchGrants, isMethod } from "./grants.ts";
import { type Header, requestHeaders } from "./headers.ts";
import { type Part, readPart } from "./part.ts";
import { Permission } from "./permission.ts";
import { readTarget } from "./redirect.ts";
import type { Piece } from "./response-body.ts";

/** A request as the tool's side sends it. */
interface FetchRequest {
  readonly id: number;
  readonly url: string;
  readonly method: string;
  readonly headers: readonly Header[];
  readonly body: Part | null;
  readonly redirect: RedirectMode;
}

/** An answer as the tool's side gets it. */
interface FetchResponse extends ResponseHead {
  readonly body: Piece | null;
}

/** Requests of a call that wait for their answer side by side; more wait for their turn. */
const AT_ONCE_MAX = 8;
/** A body that has come whole by then goes with the answer's head. */
const WHOLE_BYTES_MAX = 256 * 1024;
const WHOLE_WAIT_MS = 20;
/** A tool that speaks past its own `fetch` may name requests as it likes. */
const OPEN_MAX = 1_000;

const ID: JsonSchema = { type: "integer", minimum: 1, maximum: Number.MAX_SAFE_INTEGER };
const ONLY_ID: JsonSchema = { type: "object", properties: { id: ID }, required: ["id"] };
const REQUEST: JsonSchema = {
  type: "object",
  properties: {
    id: ID,
    url: { type: "string" },
    method: { type: "string", maxLength: 64 },
    headers: {
      type: "array",
      maxItems: 1_000,
      items: { type: "array", minItems: 2, maxItems: 2, items: { type: "string" } },
    },
    body: {
      anyOf: [
        { type: "null" },
        { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
        { type: "object", properties: { base64: { type: "string" } }, required: ["base64"] },
      ],
    },
    redirect: { enum: ["follow", "error", "manual"] },
  },
  required: ["id", "url", "method", "headers", "body", "redirect"],
};

/** `fetch`: requests to origins of the web that are granted, by HTTP/1.1. */
export function createFetch(secrets: Secrets, options: FetchOptions = {}): Capability<FetchGrant> {
  const connections = new Connections(options);
  return {
    name: "fetch",
    grants: fetchGrants,
    methods: { request: { input: REQUEST }, read: { input: ONLY_ID }, cancel: { input: ONLY_ID } },
    open: (call, grants) => new FetchSession(call, grants, { connections, secrets }),
    close: () => connections.close(),
  };
}

/** The requests of one call. */
class FetchSession implements OpenCapability {
  readonly #host: ExchangeHost;
  readonly #exchanges = new Map<number, Exchange>();
  readonly #waiting: (() => void)[] = [];
  #running = 0;
  #ended: Error | null = null;

  constructor(call: OpenCall, grants: readonly FetchGrant[], shared: Pick<ExchangeHost, "connections" | "secrets">) {
    const grantedSecrets = () => (call.grantsOf("secrets") as readonly (readonly string[])[]).flat();
    this.#host = { ...shared, permission: new Permission(grants), grantedSecrets };
    call.signal.addEventListener("abort", () => this.close(), { once: true });
  }

  invoke(method: string, args: unknown): unknown {
    const { id } = args as { readonly id: number };
    if (method === "request") return this.#request(args as FetchRequest);
    if (method === "read") return this.#read(id);
    this.#exchanges.get(id)?.cancel(new FetchFailure("the request was cancelled"));
    this.#exchanges.delete(id);
    return null;
  }

  close(): void {
    this.#ended ??= new FetchFailure("the call has ended");
    for (const exchange of this.#exchanges.values()) exchange.cancel(this.#ended);
    this.#exchanges.clear();
    for (const wake of this.#waiting.splice(0)) wake();
  }

  async #request({ id, url, method: name, headers, body, redirect }: FetchRequest): Promise<FetchResponse> {
    if (this.#exchanges.has(id)) throw new FetchFailure(`there is a request ${id} already`);
    if (this.#exchanges.size >= OPEN_MAX) throw new FetchFailure(`a call has at most ${OPEN_MAX} requests open`);
    const method = name.toUpperCase();
    if (!isMethod(method)) throw new FetchFailure("the method is none that requests may have");
    const isBare = body !== null && (method === "GET" || method === "HEAD");
    if (isBare) throw new FetchFailure(`a ${method} request has no body`);
    const hop = {
      url: readTarget(url),
      method,
      headers: requestHeaders(headers),
      body: body === null ? null : readPart(body),
    };
    const exchange = new Exchange(this.#host);
    this.#exchanges.set(id, exchange);
    try {
      await this.#enter();
      const head = await exchange.send(hop, redirect).finally(() => this.#leave());
      const piece = (await exchange.body?.begin(WHOLE_BYTES_MAX, WHOLE_WAIT_MS)) ?? null;
      if (piece?.more !== true) this.#exchanges.delete(id);
      return { ...head, body: piece };
    } catch (error) {
      this.#exchanges.delete(id);
      throw error;
    }
  }

  async #read(id: number): Promise<Piece> {
    const body = this.#exchanges.get(id)?.body;
    if (body === null || body === undefined) throw new FetchFailure(`the request ${id} has no body that is still open`);
    try {
      const piece = await body.read();
      if (!piece.more) this.#exchanges.delete(id);
      return piece;
    } catch (error) {
      this.#exchanges.delete(id);
      throw error;
    }
  }

  async #enter(): Promise<void> {
    if (this.#running < AT_ONCE_MAX) this.#running++;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    if (this.#ended === null) return;
    this.#leave();
    throw this.#ended;
  }

  /** Whoever waits longest goes on in the place that is left. */
  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#running--;
    else next();
  }
}
