import type { JsonSchema } from "../../../base/json.ts";
import { CapabilityRefusal } from "../capability.ts";
import { hasPlaceholder } from "../secrets/placeholders.ts";
import type { ReleaseSlot, WaitingSlots } from "../waiting-slots.ts";
import { FetchFailure } from "./failure.ts";
import { lookingUpFor } from "./lookups.ts";
import { readTarget } from "./redirect.ts";
import type { BodyData } from "./response-body.ts";
import { type OpenedSocket, type Received, type SocketHost, WebSocketConnection } from "./web-socket.ts";

/** A request for a WebSocket, as sent by the guest. */
interface ConnectRequest {
  readonly id: number;
  readonly url: string;
  readonly protocols: readonly string[];
}

interface SocketMessage {
  readonly id: number;
  readonly data: BodyData;
}

interface CloseRequest {
  readonly id: number;
  readonly code?: number;
  readonly reason: string;
}

/** Maximum WebSockets of a call that are open at once: each holds a connection until it is closed or the call ends. */
const SOCKETS_MAX = 16;
const PROTOCOL = "^[!#$%&'*+\\-.^_`|~0-9A-Za-z]{1,256}$";
const ID: JsonSchema = { type: "integer", minimum: 1, maximum: Number.MAX_SAFE_INTEGER };

export const CONNECT: JsonSchema = {
  type: "object",
  properties: {
    id: ID,
    url: { type: "string" },
    protocols: { type: "array", maxItems: 32, items: { type: "string", pattern: PROTOCOL } },
  },
  required: ["id", "url", "protocols"],
};
export const SEND: JsonSchema = {
  type: "object",
  properties: {
    id: ID,
    data: {
      anyOf: [
        { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
        { type: "object", properties: { base64: { type: "string" } }, required: ["base64"] },
      ],
    },
  },
  required: ["id", "data"],
};
export const CLOSE: JsonSchema = {
  type: "object",
  properties: {
    id: ID,
    code: { type: "integer", anyOf: [{ const: 1000 }, { minimum: 3000, maximum: 4999 }] },
    reason: { type: "string", maxLength: 123 },
  },
  required: ["id", "reason"],
};

/** The WebSockets of one call. */
export class CallSockets {
  readonly #host: SocketHost;
  readonly #slots: WaitingSlots;
  readonly #tenant: string;
  readonly #signal: AbortSignal;
  /** WebSockets whose end the tool has not received. */
  readonly #sockets = new Map<number, WebSocketConnection>();
  #open = 0;

  /** `slots`: of the WebSockets of all calls. */
  constructor(
    host: SocketHost,
    slots: WaitingSlots,
    { tenant = "", signal }: { tenant?: string; signal: AbortSignal },
  ) {
    this.#host = host;
    this.#slots = slots;
    this.#tenant = tenant;
    this.#signal = signal;
  }

  invoke(method: string, args: unknown): unknown {
    switch (method) {
      case "connect":
        return this.#connect(args as ConnectRequest);
      case "receive":
        return this.#receive((args as { readonly id: number }).id);
      case "send": {
        const { id, data } = args as SocketMessage;
        return this.#of(id).send(data);
      }
      default: {
        const { id, code, reason } = args as CloseRequest;
        this.#sockets.get(id)?.close(code, reason);
        return null;
      }
    }
  }

  /** Closes all at once. */
  close(reason: Error): void {
    for (const socket of this.#sockets.values()) socket.destroy(reason);
    this.#sockets.clear();
  }

  async #connect({ id, url, protocols }: ConnectRequest): Promise<OpenedSocket> {
    if (this.#sockets.has(id)) throw new FetchFailure(`WebSocket ${id} already exists`);
    const target = socketTarget(url);
    if (hasPlaceholder(url) || protocols.some((each) => hasPlaceholder(each)))
      throw new FetchFailure("a secret can be sent by fetch, and not by a WebSocket");
    if (this.#open >= SOCKETS_MAX) throw tooMany();
    this.#open++;
    let release: ReleaseSlot = () => {};
    let isOver = false;
    const onEnd = (): void => {
      if (isOver) return;
      isOver = true;
      this.#open--;
      release();
    };
    const socket = new WebSocketConnection(this.#host, target, onEnd);
    this.#sockets.set(id, socket);
    try {
      release = await this.#slots.enter(this.#signal, this.#tenant);
      this.#signal.throwIfAborted();
      return await lookingUpFor(this.#tenant, () => socket.open(protocols));
    } catch (error) {
      socket.destroy(error as Error);
      onEnd();
      this.#sockets.delete(id);
      throw error;
    }
  }

  async #receive(id: number): Promise<Received> {
    const socket = this.#of(id);
    try {
      const received = await socket.receive();
      if ("closed" in received) this.#sockets.delete(id);
      return received;
    } catch (error) {
      this.#sockets.delete(id);
      throw error;
    }
  }

  #of(id: number): WebSocketConnection {
    const socket = this.#sockets.get(id);
    if (socket === undefined) throw new FetchFailure(`there is no WebSocket ${id}`);
    return socket;
  }
}

/** The target of a WebSocket as grants have it: `https:` for `wss:`. */
function socketTarget(text: string): URL {
  const target = readTarget(text.replace(/^ws(?=s?:)/i, "http"));
  target.hash = "";
  return target;
}

function tooMany(): CapabilityRefusal {
  return new CapabilityRefusal("limit", `a call may have ${SOCKETS_MAX} open WebSockets`, {
    asked: "one more WebSocket",
    granted: `${SOCKETS_MAX} open WebSockets in a call`,
    remedy: "close one before opening another",
  });
}
