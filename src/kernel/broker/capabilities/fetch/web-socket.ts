import { subscribe } from "node:diagnostics_channel";
import type { Duplex } from "node:stream";
import type { Dispatcher, WebSocket as UndiciWebSocket } from "undici";
import { type Connections, MESSAGE_BYTES_MAX, PrivateAddressError } from "./connections.ts";
import { failureOf, FetchFailure } from "./failure.ts";
import { MeteredSocket } from "./metered-socket.ts";
import { PassingHandler } from "./passing-handler.ts";
import type { RequestPermission, RequestPermit } from "./permission.ts";
import { isRedirect } from "./redirect.ts";
import { type BodyData, readBodyData } from "./response-body.ts";

/** Next item of a WebSocket: a message, or its end. */
export type Received =
  BodyData | { readonly closed: { readonly code: number; readonly reason: string; readonly wasClean: boolean } };

/** A WebSocket that has been opened. */
export interface OpenedSocket {
  readonly protocol: string;
  readonly extensions: string;
}

export interface SocketHost {
  readonly connections: Connections;
  readonly permission: RequestPermission;
}

/** Messages that wait for the tool: from here on, no more are read from the network. */
const QUEUED_BYTES_MAX = 64 * 1024;
/** Memory of a message besides its content, in bytes. */
const MESSAGE_COST = 64;
/** From here on, more are read again. */
const RESUMED_BYTES = QUEUED_BYTES_MAX / 2;
/** Maximum pings and pongs of a server: the tool does not take them, so no backpressure slows them down. */
const CONTROL_FRAMES_MAX = 10_000;
/** Time that a server has to answer a close. */
const CLOSE_MS = 2_000;
/** Headers of a handshake. No extension is offered: time to decompress messages would be charged to no account. */
const SENT: ReadonlySet<string> = new Set([
  "sec-websocket-key",
  "sec-websocket-version",
  "sec-websocket-protocol",
  "user-agent",
]);

/** One WebSocket of a tool, by undici's. Messages are read from the network only as fast as the tool takes them. */
export class WebSocketConnection {
  readonly #host: SocketHost;
  /** With the protocol `http:` or `https:`, as grants have it. */
  readonly #url: URL;
  /** Called when it has ended, and has released everything. */
  readonly #onEnd: () => void;
  #permit: RequestPermit | null = null;
  #socket: UndiciWebSocket | null = null;
  #metered: MeteredSocket | null = null;
  #queue: BodyData[] = [];
  #queuedBytes = 0;
  #failure: Error | null = null;
  #closed: Extract<Received, { closed: unknown }> | null = null;
  #wake: () => void = () => {};
  /** Serializes receiving. */
  #turn: Promise<unknown> = Promise.resolve();
  #closeTimer: NodeJS.Timeout | undefined;
  #isClosing = false;
  #controlFrames = 0;

  constructor(host: SocketHost, url: URL, onEnd: () => void) {
    this.#host = host;
    this.#url = url;
    this.#onEnd = onEnd;
  }

  /** Connects. Rejects with an error that a tool may see. */
  async open(protocols: readonly string[]): Promise<OpenedSocket> {
    const { connections, permission } = this.#host;
    const permit = permission.admit("GET", this.#url);
    this.#permit = permit;
    const size = this.#url.href.length + protocols.join().length;
    if (permission.take(size, permit) < size) throw permission.excess("GET", this.#url, permit);
    const [{ WebSocket }, agent] = await Promise.all([import("undici"), connections.agent(permit.isPrivate)]);
    if (this.#failure !== null) throw this.#failure;
    const { promise: opened, resolve, reject } = Promise.withResolvers<void>();
    const dispatcher = agent.compose((dispatch) => (options, handler) => {
      const headers = Object.entries((options.headers ?? {}) as Readonly<Record<string, string>>);
      const sent = Object.fromEntries(headers.filter(([name]) => SENT.has(name)));
      return dispatch({ ...options, headers: sent }, new HandshakeHandler(handler, this.#meter, this.#fail));
    });
    const url = this.#url.href.replace(/^http/, "ws");
    const init = { protocols: [...protocols], dispatcher, headers: { "user-agent": "glovebox" } };
    const socket = new WebSocket(url, init);
    this.#socket = socket;
    onControlFrame(socket, () => this.#countControl());
    socket.binaryType = "arraybuffer";
    socket.addEventListener("open", () => resolve());
    socket.addEventListener("message", ({ data }: { readonly data: unknown }) => this.#take(data));
    socket.addEventListener("close", ({ code, reason, wasClean }) => {
      this.#end({ closed: { code, reason, wasClean } });
      reject(this.#failure ?? this.#failureOf(new FetchFailure("the server did not open a WebSocket")));
    });
    const timer = setTimeout(
      () => this.destroy(this.#failureOf(new FetchFailure("the server did not respond in time"))),
      connections.headersMs,
    );
    try {
      await opened;
    } finally {
      clearTimeout(timer);
    }
    return { protocol: socket.protocol, extensions: socket.extensions };
  }

  /** Resolves when the connection has room for more. */
  async send(message: BodyData): Promise<null> {
    const { permission } = this.#host;
    const [socket, permit] = this.#opened();
    const content = readBodyData(message);
    const size = Buffer.byteLength(content);
    if (size > MESSAGE_BYTES_MAX) throw new FetchFailure(`a message may have at most ${MESSAGE_BYTES_MAX} bytes`);
    if (permission.take(size, permit) < size) throw permission.excess("GET", this.#url, permit);
    socket.send(content);
    const metered = this.#metered;
    if (metered?.writableNeedDrain === true) {
      await new Promise<void>((resolve) => {
        metered.once("drain", resolve);
        metered.once("close", resolve);
      });
    }
    return null;
  }

  /** The next message, or the end. Rejects if it ended by an error. */
  receive(): Promise<Received> {
    const next = this.#turn.then(async () => {
      for (;;) {
        const message = this.#queue.shift();
        if (message !== undefined) {
          this.#queuedBytes -= costOf(message);
          if (this.#queuedBytes <= RESUMED_BYTES) this.#metered?.release();
          return message;
        }
        if (this.#failure !== null) throw this.#failure;
        if (this.#closed !== null) return this.#closed;
        await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    });
    this.#turn = next.catch(() => undefined);
    return next;
  }

  /** Begins the closing handshake. Messages that arrive meanwhile are discarded. */
  close(code: number | undefined, reason: string): void {
    if (this.#isClosing || this.#failure !== null) return;
    const socket = this.#socket;
    if (socket === null || this.#metered === null)
      return this.destroy(new FetchFailure("it was closed before it opened"));
    this.#isClosing = true;
    this.#drop();
    socket.close(code, reason);
    this.#metered?.release();
    this.#closeTimer = setTimeout(() => this.#metered?.destroy(), CLOSE_MS);
  }

  /** Ends it at once, and notifies the server. */
  destroy(reason: Error): void {
    this.#fail(reason);
    this.#socket?.close();
    this.#metered?.destroy();
  }

  readonly #fail = (error: Error): void => {
    if (this.#closed !== null) return;
    const isPrivate = error instanceof PrivateAddressError;
    this.#failure ??= isPrivate ? this.#host.permission.denyAddress("GET", this.#url) : this.#failureOf(error);
    this.#drop();
    this.#wake();
  };

  readonly #meter = (raw: Duplex): Duplex => {
    const { permission } = this.#host;
    const count = (bytes: number): Error | null => {
      const permit = this.#permit;
      if (permit === null || permission.take(bytes, permit) === bytes) return null;
      this.#fail(permission.excess("GET", this.#url, permit));
      return this.#failure;
    };
    const metered = new MeteredSocket(raw, count);
    this.#metered = metered;
    return metered;
  };

  #countControl(): void {
    if (++this.#controlFrames <= CONTROL_FRAMES_MAX) return;
    this.#fail(new FetchFailure("the server sends too many pings"));
    this.#metered?.destroy();
  }

  #opened(): readonly [UndiciWebSocket, RequestPermit] {
    if (this.#failure !== null) throw this.#failure;
    const [socket, permit] = [this.#socket, this.#permit];
    if (socket === null || permit === null || this.#metered === null) throw new FetchFailure("it is not open");
    return [socket, permit];
  }

  #take(data: unknown): void {
    if (this.#isClosing || this.#failure !== null) return;
    const message =
      typeof data === "string" ? { text: data } : { base64: Buffer.from(data as ArrayBuffer).toString("base64") };
    this.#queue.push(message);
    this.#queuedBytes += costOf(message);
    if (this.#queuedBytes >= QUEUED_BYTES_MAX) this.#metered?.hold();
    this.#wake();
  }

  #end(closed: Extract<Received, { closed: unknown }>): void {
    clearTimeout(this.#closeTimer);
    this.#closed ??= closed;
    // undici leaves the connection of a handshake that it does not accept.
    this.#metered?.destroy();
    this.#onEnd();
    this.#wake();
  }

  #drop(): void {
    this.#queue = [];
    this.#queuedBytes = 0;
  }

  #failureOf(error: Error): Error {
    return failureOf(error, "WebSocket", new URL(this.#url.href.replace(/^http/, "ws")));
  }
}

function costOf(message: BodyData): number {
  return MESSAGE_COST + ("text" in message ? message.text.length : message.base64.length);
}

/** Counters of the pings and pongs of each WebSocket; undici reports those of all together. */
const controlCounters = new WeakMap<object, () => void>();
let isSubscribed = false;

function tellControlFrame(message: unknown): void {
  controlCounters.get((message as { readonly websocket: object }).websocket)?.();
}

function onControlFrame(socket: object, count: () => void): void {
  controlCounters.set(socket, count);
  if (isSubscribed) return;
  isSubscribed = true;
  for (const name of ["ping", "pong"]) subscribe(`undici:websocket:${name}`, tellControlFrame);
}

/** A handshake's response: its connection is metered, and what fails is told. */
class HandshakeHandler extends PassingHandler {
  readonly #meter: (raw: Duplex) => Duplex;
  readonly #fail: (error: Error) => void;

  constructor(handler: Dispatcher.DispatchHandler, meter: (raw: Duplex) => Duplex, fail: (error: Error) => void) {
    super(handler);
    this.#meter = meter;
    this.#fail = fail;
  }

  override onRequestUpgrade(
    ...[controller, status, headers, socket]: Parameters<PassingHandler["onRequestUpgrade"]>
  ): void {
    // undici would take the extension that it always offers, although it was not sent.
    if (headers["sec-websocket-extensions"] !== undefined)
      throw new FetchFailure("the server chose an extension that was not offered");
    super.onRequestUpgrade(controller, status, headers, this.#meter(socket));
  }

  override onResponseStart(...args: Parameters<PassingHandler["onResponseStart"]>): void {
    const [, status] = args;
    if (status >= 200) {
      const redirects = isRedirect(status) ? "; redirects are not followed" : "";
      this.#fail(new FetchFailure(`the server answered with the status ${status} and opened no WebSocket${redirects}`));
    }
    super.onResponseStart(...args);
  }

  override onResponseError(...args: Parameters<PassingHandler["onResponseError"]>): void {
    this.#fail(args[1]);
    super.onResponseError(...args);
  }
}
