import { shared as servers } from "./http-server.ts";
import { bufferOver } from "./buffer.ts";
import { dataOf } from "./crypto.ts";
import { EventEmitter } from "./events.ts";
import { join } from "./inner/asn1.ts";
import { callable, rootOf } from "./inner/callable.ts";
import { invalidArgType, nodeError } from "./inner/errors.ts";
import { networkError } from "./inner/network-errors.ts";
import { kept, type NodeModule, soon } from "./inner/library.ts";
import { shared as streams } from "./stream.ts";
import { METHODS, STATUS_CODES } from "./tables.ts";

/** `node:http` and `node:https`: clients over `fetch`, with the errors of that capability. */

type Values = string | number | readonly string[];
interface Options {
  readonly protocol?: string;
  readonly host?: string;
  readonly hostname?: string;
  readonly port?: number | string;
  readonly path?: string;
  readonly pathname?: string;
  readonly search?: string;
  readonly method?: string;
  readonly headers?: { readonly [name: string]: Values } | readonly string[];
  readonly auth?: string | null;
  readonly signal?: AbortSignal;
  readonly timeout?: number;
}

interface Stream {
  emit(event: string, ...args: unknown[]): boolean;
  on(event: string, listener: unknown): Stream;
  once(event: string, listener: unknown): Stream;
  push(chunk: unknown): boolean;
  destroy(error?: unknown): Stream;
  readonly destroyed: boolean;
}
type StreamClass = new (options?: object) => Stream;
const { Readable, Writable } = streams as unknown as { Readable: StreamClass; Writable: StreamClass };
const Emitter = rootOf(EventEmitter) as unknown as new () => object;

interface Response {
  readonly status: number;
  readonly statusText: string;
  readonly url: string;
  readonly headers: { forEach(each: (value: string, name: string) => void): void; getSetCookie(): string[] };
  readonly body: {
    getReader(): { read(): Promise<{ done: boolean; value?: Uint8Array }>; cancel(): Promise<void> };
  } | null;
}

/** Keeps connections open in Node; here it has no connections. */
class Agent extends Emitter {
  readonly options: object;
  maxSockets: number = Number.POSITIVE_INFINITY;
  maxFreeSockets = 256;
  maxTotalSockets: number = Number.POSITIVE_INFINITY;
  keepAlive = true;
  readonly sockets = {};
  readonly freeSockets = {};
  readonly requests = {};
  readonly protocol: string;

  constructor(options: object = {}) {
    super();
    this.options = options;
    this.protocol = "http:";
  }

  destroy(): void {}

  getName(): string {
    return "localhost:";
  }
}

/** An answer as it arrives. Without a response, its maker provides the content. */
class IncomingMessage extends rootOf(Readable) {
  httpVersion: string | null = null;
  httpVersionMajor: number | null = null;
  httpVersionMinor: number | null = null;
  statusCode: number | null = null;
  statusMessage: string | null = null;
  readonly headers: { [name: string]: string | string[] } = {};
  readonly rawHeaders: string[] = [];
  readonly trailers = {};
  url = "";
  method = null;
  socket: object;
  complete = false;
  /** `undefined` if it is no response, `null` if the response has no body. */
  #reader: ReturnType<NonNullable<Response["body"]>["getReader"]> | null | undefined;

  constructor(socket: object = fakeSocket(), response?: Response) {
    super();
    this.socket = socket;
    if (response !== undefined) this.#take(response);
  }

  #take(response: Response): void {
    [this.httpVersion, this.httpVersionMajor, this.httpVersionMinor] = ["1.1", 1, 1];
    this.statusCode = response.status;
    this.statusMessage = response.statusText || (STATUS_CODES[response.status] ?? "");
    this.url = response.url;
    response.headers.forEach((value, name) => {
      if (name === "set-cookie") return;
      // The body that fetch gives is decoded, and whole.
      this.headers[name] = value;
      this.rawHeaders.push(name, value);
    });
    const cookies = response.headers.getSetCookie();
    if (cookies.length > 0) this.headers["set-cookie"] = cookies;
    for (const cookie of cookies) this.rawHeaders.push("set-cookie", cookie);
    delete this.headers["content-encoding"];
    this.#reader = response.body?.getReader() ?? null;
  }

  get connection(): object {
    return this.socket;
  }

  set connection(socket: object) {
    this.socket = socket;
  }

  get headersDistinct(): object {
    return Object.fromEntries(Object.entries(this.headers).map(([name, value]) => [name, [value].flat()]));
  }

  _read(): void {
    const reader = this.#reader;
    if (reader === undefined) return;
    if (reader === null) {
      this.#end();
      return;
    }
    reader.read().then(
      ({ done, value }) => {
        if (done || value === undefined) this.#end();
        else this.push(bufferOver(value));
      },
      (error: unknown) => this.destroy(networkError(error)),
    );
  }

  #end(): void {
    this.complete = true;
    this.push(null);
  }

  _destroy(error: unknown, done: (error?: unknown) => void): void {
    this.#reader?.cancel().catch(() => undefined);
    done(error);
  }

  setTimeout(): this {
    return this;
  }
}

function fakeSocket(): object {
  const socket = Reflect.construct(EventEmitter, []) as object;
  const same = (): object => socket;
  return Object.assign(socket, {
    setKeepAlive: same,
    setNoDelay: same,
    setTimeout: same,
    ref: same,
    unref: same,
    destroy: same,
    encrypted: true,
    authorized: true,
    remoteAddress: undefined,
  });
}

/** A request that is sent when it ends: `fetch` takes its whole body. */
class ClientRequest extends rootOf(Writable) {
  readonly method: string;
  readonly path: string;
  readonly host: string;
  readonly protocol: string;
  reusedSocket = false;
  aborted = false;
  finished = false;
  headersSent = false;
  readonly agent = null;
  readonly socket = fakeSocket();
  res: IncomingMessage | null = null;
  readonly #url: string;
  readonly #headers = new Map<string, readonly [name: string, value: string]>();
  readonly #chunks: Uint8Array[] = [];
  readonly #abort = new AbortController();
  #timer: unknown;

  constructor(...args: RequestArgs) {
    // Its end is not that of the answer.
    super({ autoDestroy: false });
    const { url, options, listener } = argumentsOf("http:", args);
    if (listener !== undefined) this.once("response", listener);
    this.#url = url;
    this.method = (options.method ?? "GET").toUpperCase();
    const { pathname, hostname, protocol } = new URL(url);
    this.path = options.path ?? pathname;
    this.host = hostname;
    this.protocol = protocol;
    const { headers = {} } = options;
    if (Array.isArray(headers))
      for (let at = 0; at < headers.length; at += 2) this.setHeader(String(headers[at]), String(headers[at + 1]));
    else
      for (const [name, value] of Object.entries(headers))
        if (value !== undefined) this.setHeader(name, value as Values);
    if (Boolean(options.auth) && !this.hasHeader("authorization"))
      this.setHeader("Authorization", `Basic ${btoa(options.auth ?? "")}`);
    options.signal?.addEventListener("abort", () => this.destroy(options.signal?.reason), { once: true });
    if (options.timeout !== undefined) this.setTimeout(options.timeout);
    soon(() => this.emit("socket", this.socket));
  }

  setHeader(name: unknown, value: unknown): this {
    if (typeof name !== "string") throw invalidArgType("name", "string", name);
    if (value === undefined)
      throw nodeError(TypeError, "ERR_HTTP_INVALID_HEADER_VALUE", `Invalid value "undefined" for header "${name}"`);
    this.#headers.set(name.toLowerCase(), [name, Array.isArray(value) ? value.join(", ") : String(value as string)]);
    return this;
  }

  getHeader(name: string): string | undefined {
    return this.#headers.get(name.toLowerCase())?.[1];
  }

  getHeaders(): object {
    return Object.fromEntries([...this.#headers].map(([name, [, value]]) => [name, value]));
  }

  getHeaderNames(): string[] {
    return [...this.#headers.keys()];
  }

  hasHeader(name: string): boolean {
    return this.#headers.has(name.toLowerCase());
  }

  removeHeader(name: string): void {
    this.#headers.delete(name.toLowerCase());
  }

  flushHeaders(): void {}

  setNoDelay(): this {
    return this;
  }

  setSocketKeepAlive(): this {
    return this;
  }

  setTimeout(delay: number, listener?: unknown): this {
    if (listener !== undefined) this.once("timeout", listener);
    clearTimeout(this.#timer);
    if (delay > 0) this.#timer = setTimeout(() => this.emit("timeout"), delay);
    return this;
  }

  abort(): void {
    this.aborted = true;
    this.destroy();
  }

  _write(chunk: unknown, encoding: unknown, done: () => void): void {
    this.#chunks.push(new Uint8Array(dataOf(chunk, "chunk", encoding)));
    done();
  }

  _final(done: () => void): void {
    this.finished = true;
    this.#send().catch((error: unknown) => this.destroy(networkError(error)));
    done();
  }

  async #send(): Promise<void> {
    this.headersSent = true;
    const isBodiless = this.method === "GET" || this.method === "HEAD";
    const body = isBodiless || this.#chunks.length === 0 ? {} : { body: join(...this.#chunks) };
    const headers = [...this.#headers.values()].filter(([name]) => !NOT_SENT.has(name.toLowerCase()));
    const { fetch } = globalThis as unknown as { fetch: (url: string, init: object) => Promise<Response> };
    const response = await fetch(this.#url, {
      method: this.method,
      headers,
      redirect: "manual",
      signal: this.#abort.signal,
      ...body,
    });
    clearTimeout(this.#timer);
    if (this.destroyed) return;
    const message = new IncomingMessage(fakeSocket(), response);
    this.res = message;
    message.once("close", () => this.destroy());
    if (!this.emit("response", message)) message.destroy();
  }

  _destroy(error: unknown, done: (error?: unknown) => void): void {
    clearTimeout(this.#timer);
    this.#abort.abort(error ?? undefined);
    done(error);
  }
}

/** Headers of the connection, which the host sets. */
const NOT_SENT: ReadonlySet<string> = new Set([
  "host",
  "connection",
  "content-length",
  "transfer-encoding",
  "keep-alive",
  "upgrade",
  "expect",
  "accept-encoding",
]);

type RequestArgs = readonly unknown[];

function argumentsOf(scheme: "http:" | "https:", args: RequestArgs) {
  const rest = [...args];
  const listener = typeof rest.at(-1) === "function" ? rest.pop() : undefined;
  const [first, second] = rest;
  const isUrl = typeof first === "string" || first instanceof URL;
  const options = ((isUrl ? second : first) ?? {}) as Options;
  return { url: isUrl ? String(first) : urlOf(scheme, options), options, listener };
}

function urlOf(scheme: string, options: Options): string {
  const { protocol = scheme, hostname, host, port, path, pathname, search = "" } = options;
  const [name = "localhost"] = [hostname ?? host];
  const isNumbered = port !== undefined && port !== "" && port !== null && !/:\d+$/.test(name);
  return `${protocol}//${name}${isNumbered ? `:${port}` : ""}${path ?? `${pathname ?? "/"}${search}`}`;
}

const classes = {
  Agent: callable(Agent),
  ClientRequest: callable(ClientRequest),
  IncomingMessage: callable(IncomingMessage),
};

function moduleOf(scheme: "http:" | "https:"): NodeModule {
  const request = (...args: RequestArgs): ClientRequest => {
    const { url, options, listener } = argumentsOf(scheme, args);
    return new ClientRequest(url, options, ...(listener === undefined ? [] : [listener]));
  };
  const get = (...args: RequestArgs): ClientRequest => {
    const made = request(...args);
    (made as unknown as { end(): void }).end();
    return made;
  };
  return {
    request,
    get,
    ...classes,
    ...servers,
    METHODS: [...METHODS],
    STATUS_CODES,
    maxHeaderSize: 16_384,
    validateHeaderName,
    validateHeaderValue,
  };
}

function validateHeaderName(name: unknown): void {
  if (typeof name !== "string" || !/^[\w!#$%&'*+.^`|~-]+$/.test(name)) {
    throw nodeError(
      TypeError,
      "ERR_INVALID_HTTP_TOKEN",
      `Header name must be a valid HTTP token ["${String(name as string)}"]`,
    );
  }
}

function validateHeaderValue(name: unknown, value: unknown): void {
  if (value === undefined)
    throw nodeError(
      TypeError,
      "ERR_HTTP_INVALID_HEADER_VALUE",
      `Invalid value "undefined" for header "${String(name as string)}"`,
    );
}

export const modules: { readonly [name: string]: NodeModule } = {
  http: moduleOf("http:"),
  https: moduleOf("https:"),
};
for (const [name, module] of Object.entries(modules)) {
  Object.defineProperty(module, "globalAgent", { get: () => kept(`${name}.globalAgent`, () => new Agent()) });
}
