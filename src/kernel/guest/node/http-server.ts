import { EventEmitter } from "./events.ts";
import { callable, rootOf } from "./inner/callable.ts";
import { library, type NodeModule, soon } from "./inner/library.ts";
import { shared as streams } from "./stream.ts";
import { STATUS_CODES } from "./tables.ts";

/** Classes of HTTP servers. A framework's answers to requests that it makes itself pass through them; none listens. */

const { Writable } = streams as unknown as { Writable: (this: object, options: object) => void };

interface Outgoing {
  _names: Map<string, readonly [name: string, value: unknown]>;
  _header: string | null;
  /** Whether a framework's own answer keeps what is written. */
  _hasBody: boolean;
  headersSent: boolean;
  finished: boolean;
  statusCode: number;
  statusMessage: string;
  emit(event: string, ...args: readonly unknown[]): boolean;
  setHeader(name: string, value: unknown): Outgoing;
  writeHead(status: number, reason?: unknown, headers?: unknown): Outgoing;
}

/** Callable without `new`: classes of frameworks were written before the language had them. */
function OutgoingMessage(this: Outgoing, options?: unknown): void {
  Reflect.apply(Writable, this, [{ ...(options as object), autoDestroy: false }]);
  this._names = new Map();
  this._header = null;
  this._hasBody = true;
  this.headersSent = false;
  this.finished = false;
}
Object.setPrototypeOf(OutgoingMessage.prototype, (Writable as unknown as { prototype: object }).prototype);

const outgoing = {
  setHeader(this: Outgoing, name: string, value: unknown) {
    this._names.set(name.toLowerCase(), [name, value]);
    return this;
  },
  appendHeader(this: Outgoing, name: string, value: unknown) {
    const known = this._names.get(name.toLowerCase())?.[1];
    return this.setHeader(name, known === undefined ? value : [known, value].flat());
  },
  getHeader(this: Outgoing, name: string) {
    return this._names.get(name.toLowerCase())?.[1];
  },
  getHeaders(this: Outgoing) {
    return Object.fromEntries([...this._names].map(([name, [, value]]) => [name, value]));
  },
  getHeaderNames(this: Outgoing) {
    return [...this._names.keys()];
  },
  getRawHeaderNames(this: Outgoing) {
    return [...this._names.values()].map(([name]) => name);
  },
  hasHeader(this: Outgoing, name: string) {
    return this._names.has(name.toLowerCase());
  },
  removeHeader(this: Outgoing, name: string) {
    this._names.delete(name.toLowerCase());
  },
  flushHeaders: () => undefined,
  addTrailers: () => undefined,
  setTimeout(this: Outgoing) {
    return this;
  },
  _write(_chunk: unknown, _encoding: unknown, done: () => void) {
    done();
  },
};
Object.assign(OutgoingMessage.prototype as object, outgoing);

function ServerResponse(
  this: Outgoing & { req: unknown },
  request?: { readonly method?: unknown },
  options?: unknown,
): void {
  OutgoingMessage.call(this, options);
  this.req = request;
  this._hasBody = request?.method !== "HEAD";
  this.statusCode = 200;
  this.statusMessage = "";
}
Object.setPrototypeOf(ServerResponse.prototype, OutgoingMessage.prototype as object);
Object.assign(ServerResponse.prototype as object, {
  writeHead(this: Outgoing, status: number, reason?: unknown, headers: unknown = reason) {
    this.statusCode = status;
    this.statusMessage = typeof reason === "string" ? reason : (STATUS_CODES[status] ?? "");
    if (typeof headers === "object" && headers !== null)
      for (const [name, value] of Object.entries(headers)) this.setHeader(name, value);
    const lines = [...this._names.values()].map(([name, value]) => `${name}: ${String(value as string)}\r\n`);
    if (status < 200 || status === 204 || status === 304) this._hasBody = false;
    this._header = `HTTP/1.1 ${status} ${this.statusMessage}\r\n${lines.join("")}\r\n`;
    this.headersSent = true;
    return this;
  },
  writeContinue: () => undefined,
  writeProcessing: () => undefined,
  assignSocket(this: { socket: unknown; connection: unknown }, socket: unknown) {
    this.socket = socket;
    this.connection = socket;
  },
  detachSocket: () => undefined,
});

/** A server that is never reached. */
class Server extends (rootOf(EventEmitter) as unknown as new () => object) {
  readonly listening = false;
  timeout = 0;
  keepAliveTimeout = 5_000;
  headersTimeout = 60_000;
  requestTimeout = 300_000;
  maxHeadersCount = null;

  constructor(...args: readonly unknown[]) {
    super();
    const server = this as unknown as { on(event: string, listener: unknown): void };
    const listener = args.find((one) => typeof one === "function");
    if (listener !== undefined) server.on("request", listener);
  }

  listen(): never {
    throw library.refusal("http", "Server.listen");
  }

  address(): null {
    return null;
  }

  close(done?: () => void): this {
    if (done !== undefined) soon(done);
    return this;
  }

  closeAllConnections(): void {}

  closeIdleConnections(): void {}

  setTimeout(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}

export const shared: NodeModule = {
  OutgoingMessage,
  ServerResponse,
  Server: callable(Server),
  createServer: (...args: readonly unknown[]) => new Server(...args),
};
