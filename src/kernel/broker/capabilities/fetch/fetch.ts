import type { JsonSchema } from "../../../base/json.ts";
import { type Capability, CapabilityRefusal, type OpenCall, type OpenCapability } from "../capability.ts";
import type { SecretViolation, UnboundRequest } from "../secrets/placeholders.ts";
import type { Secrets } from "../secrets/secrets.ts";
import { Connections, type FetchOptions } from "./connections.ts";
import { Exchange, type ExchangeHost, type RedirectMode, type ResponseHead } from "./exchange.ts";
import { FetchFailure } from "./failure.ts";
import { type FetchGrant, fetchGrants, isMethod } from "./grants.ts";
import { type Header, requestHeaders } from "./headers.ts";
import { type BodyData, type BodyChunk, readBodyData } from "./response-body.ts";
import { lookingUpFor } from "./lookups.ts";
import { FetchPermission } from "./permission.ts";
import { type ReleaseSlot, WaitingSlots } from "../waiting-slots.ts";
import { type RequestHop, readTarget } from "./redirect.ts";
import { CallSockets, CLOSE, CONNECT, SEND } from "./web-sockets.ts";

/** A request as sent by the guest. */
interface FetchRequest {
  readonly id: number;
  readonly url: string;
  readonly method: string;
  readonly headers: readonly Header[];
  readonly body: BodyData | null;
  readonly redirect: RedirectMode;
}

type OnViolation = (violation: SecretViolation) => void;

/** A response as sent to the guest. */
interface FetchResponse extends ResponseHead {
  readonly body: BodyChunk | null;
}

/** Maximum requests of a call that await a response at once; more wait for a slot. */
const AT_ONCE_MAX = 8;
/** Maximum responses of a call with an unread body: each holds a connection. */
const BODIES_MAX = 32;
/** Maximum wait of a request for the tool to read its open bodies, before it is refused. */
const BODIES_WAIT_MS = 5_000;
/** Maximum requests of all calls that hold a connection. */
const CONNECTED_MAX = 512;
/** Of these, for tenants that hold none. */
const RESERVED = CONNECTED_MAX / 4;
const CONNECTED_WAIT_MS = 30_000;
/** Maximum WebSockets of all calls; of these, a quarter for tenants that have none. They take no slot of a request. */
const SOCKETS_ALL_MAX = 256;
const SOCKETS_WAIT_MS = 5_000;
/** Methods of WebSockets. */
const OF_SOCKETS: ReadonlySet<string> = new Set(["connect", "send", "receive", "close"]);
/** Maximum size and delay of a body that is sent together with the response's head. */
const WHOLE_BYTES_MAX = 256 * 1024;
const WHOLE_WAIT_MS = 20;
/** HTTP methods without effects on a server. */
const READING: ReadonlySet<string> = new Set(["GET", "HEAD"]);
/** Maximum open requests of a call. A tool that bypasses the guest's `fetch` may choose any ids. */
const OPEN_MAX = 1_000;

/** Maximum length of a request with its body as JSON, in UTF-16 units. */
const REQUEST_LENGTH_MAX = 16 * 1024 * 1024;
/** Of a message of a WebSocket, whose bytes are bounded besides. */
const SENT_LENGTH_MAX = 8 * 1024 * 1024;
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

/** `fetch`: HTTP/1.1 requests and WebSockets to granted origins. */
export function createFetch(
  secrets: Secrets,
  options: FetchOptions = {},
  onViolation: OnViolation = () => {},
): Capability<FetchGrant> {
  const connections = new Connections(options);
  const late = () => new FetchFailure("too many requests are open, and none ended in time");
  const connected = new WaitingSlots({ max: CONNECTED_MAX, reserved: RESERVED, waitMs: CONNECTED_WAIT_MS, late });
  const sockets = new WaitingSlots({
    max: SOCKETS_ALL_MAX,
    reserved: SOCKETS_ALL_MAX / 4,
    waitMs: SOCKETS_WAIT_MS,
    late: () => new FetchFailure("too many WebSockets are open, and none was closed in time"),
  });
  return {
    name: "fetch",
    grants: fetchGrants,
    methods: {
      request: {
        input: REQUEST,
        inputBytes: REQUEST_LENGTH_MAX,
        isRead: (args) => READING.has((args as FetchRequest).method.toUpperCase()),
      },
      read: { input: ONLY_ID, isRead: true },
      cancel: { input: ONLY_ID, isRead: true },
      connect: { input: CONNECT },
      send: { input: SEND, inputBytes: SENT_LENGTH_MAX },
      receive: { input: ONLY_ID, isRead: true },
      close: { input: CLOSE },
    },
    open: (call, grants) =>
      new FetchSession(call, grants, { connections, secrets, onViolation }, { connected, sockets }),
    close: () => connections.close(),
  };
}

function atOnce<Value>(task: () => Value): Value {
  return task();
}

/** A request, and the slots that it holds until its body has ended or was cancelled. */
interface OpenRequest {
  readonly exchange: Exchange;
  readonly leaves: ReleaseSlot[];
}

/** Slots that all calls share. */
interface SharedSlots {
  readonly connected: WaitingSlots;
  readonly sockets: WaitingSlots;
}

/** The requests and WebSockets of one call. */
class FetchSession implements OpenCapability {
  readonly #host: ExchangeHost;
  readonly #exchanges = new Map<number, OpenRequest>();
  readonly #connected: WaitingSlots;
  readonly #tenant: string;
  readonly #bodies = new WaitingSlots({ max: BODIES_MAX, waitMs: BODIES_WAIT_MS, late: tooManyBodies });
  readonly #heads = new WaitingSlots({ max: AT_ONCE_MAX, waitMs: null, late: tooManyBodies });
  readonly #sockets: CallSockets;
  #ended: Error | null = null;

  constructor(
    call: OpenCall,
    grants: readonly FetchGrant[],
    { onViolation, ...shared }: Pick<ExchangeHost, "connections" | "secrets"> & { readonly onViolation: OnViolation },
    { connected, sockets }: SharedSlots,
  ) {
    const grantedSecrets = () => (call.grantsOf("secrets") as readonly (readonly string[])[]).flat();
    const { callId, tool, tenant = "", onHost = atOnce } = call;
    const onUnbound = (request: UnboundRequest) => onViolation({ callId, tool, tenant, ...request });
    this.#host = { ...shared, permission: new FetchPermission(grants), grantedSecrets, onUnbound, onHost };
    this.#sockets = new CallSockets(this.#host, sockets, call);
    this.#connected = connected;
    this.#tenant = tenant;
    call.signal.addEventListener("abort", () => this.close(), { once: true });
  }

  invoke(method: string, args: unknown): unknown {
    if (OF_SOCKETS.has(method)) return this.#sockets.invoke(method, args);
    const { id } = args as { readonly id: number };
    if (method === "request") return this.#request(args as FetchRequest);
    if (method === "read") return this.#read(id);
    this.#drop(id, new FetchFailure("the request was cancelled"));
    return null;
  }

  close(): void {
    this.#ended ??= new FetchFailure("the call has ended");
    for (const id of this.#exchanges.keys()) this.#drop(id, this.#ended);
    this.#sockets.close(this.#ended);
  }

  async #request({ id, url, method: name, headers, body, redirect }: FetchRequest): Promise<FetchResponse> {
    if (this.#exchanges.has(id)) throw new FetchFailure(`request ${id} already exists`);
    if (this.#exchanges.size >= OPEN_MAX) throw new FetchFailure(`a call may have at most ${OPEN_MAX} open requests`);
    const method = name.toUpperCase();
    if (!isMethod(method)) throw new FetchFailure(`the method ${JSON.stringify(name)} is not allowed`);
    const isBare = body !== null && (method === "GET" || method === "HEAD");
    if (isBare) throw new FetchFailure(`a ${method} request must not have a body`);
    const hop = {
      url: readTarget(url),
      method,
      headers: requestHeaders(headers),
      body: body === null ? null : readBodyData(body),
      hasLeftOrigin: false,
    };
    if (this.#ended !== null) throw this.#ended;
    const open: OpenRequest = { exchange: new Exchange(this.#host), leaves: [] };
    this.#exchanges.set(id, open);
    try {
      const head = await this.#send(open, hop, redirect);
      const piece = (await open.exchange.body?.begin(WHOLE_BYTES_MAX, WHOLE_WAIT_MS)) ?? null;
      if (piece?.more !== true) this.#end(id, open);
      return { ...head, body: piece };
    } catch (error) {
      open.exchange.cancel(error as Error);
      this.#end(id, open);
      throw error;
    }
  }

  /** Waits for a slot of this call's bodies, of the connections of all calls, and of this call's pending requests. */
  async #send(open: OpenRequest, hop: RequestHop, redirect: RedirectMode): Promise<ResponseHead> {
    const { exchange, leaves } = open;
    const { signal } = exchange;
    for (const places of [this.#bodies, this.#connected]) {
      const leave = await places.enter(signal, this.#tenant);
      leaves.push(leave);
      // The request may have been cancelled just as it got the slot.
      signal.throwIfAborted();
    }
    const leave = await this.#heads.enter(signal);
    return await lookingUpFor(this.#tenant, () => exchange.send(hop, redirect)).finally(leave);
  }

  async #read(id: number): Promise<BodyChunk> {
    const open = this.#exchanges.get(id);
    const body = open?.exchange.body ?? null;
    if (open === undefined || body === null) throw new FetchFailure(`request ${id} has no open body`);
    try {
      const piece = await body.read();
      if (!piece.more) this.#end(id, open);
      return piece;
    } catch (error) {
      open.exchange.cancel(error as Error);
      this.#end(id, open);
      throw error;
    }
  }

  #drop(id: number, reason: Error): void {
    const open = this.#exchanges.get(id);
    if (open === undefined) return;
    open.exchange.cancel(reason);
    this.#end(id, open);
  }

  #end(id: number, open: OpenRequest): void {
    if (this.#exchanges.get(id) === open) this.#exchanges.delete(id);
    for (const leave of open.leaves.splice(0)) leave();
  }
}

function tooManyBodies(): CapabilityRefusal {
  return new CapabilityRefusal(
    "limit",
    `a call may have ${BODIES_MAX} open responses, and none was read to its end in time`,
    {
      asked: "one more request",
      granted: `${BODIES_MAX} open responses in a call`,
      remedy: "read each response body to its end, or cancel it, before sending more requests",
    },
  );
}
