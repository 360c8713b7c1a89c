import { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Duplex } from "node:stream";

/** Length of a body that waits for its reader, in bytes. */
const WAITING_BYTES = 64 * 1024;
const HEAD_END = "\r\n\r\n";
/** Headers of a connection, not of its content. */
const HOP_BY_HOP: ReadonlySet<string> = new Set(["connection", "keep-alive", "transfer-encoding"]);
/** Status for a client that disconnected before the answer began; it has no reader. */
const GONE = 499;

/** A web-standard request as Node's server would hand it over, and the response to it. */
export interface WebPair {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  /** Resolves when the headers are known. */
  readonly response: Promise<Response>;
}

/**
 * Makes Node's pair of a web-standard `Request`. The response is written as one of HTTP/1.0, whose body is not framed,
 * to a connection that removes the head and passes on the body as its reader makes room. A reader that cancels, and a
 * request that is aborted, close the connection.
 */
export function openPair(request: Request, url: string): WebPair {
  const connection = new WebConnection();
  const incoming = new WebIncoming(request, url, connection.asSocket());
  const outgoing = openOutgoing(incoming, connection);
  const { signal } = request;
  const leave = (): void => void connection.destroy(asError(signal.reason));
  signal.addEventListener("abort", leave, { once: true });
  connection.once("close", () => {
    signal.removeEventListener("abort", leave);
    incoming.letGo();
  });
  if (signal.aborted) leave();
  return { incoming, outgoing, response: connection.response };
}

function openOutgoing(incoming: IncomingMessage, connection: WebConnection): ServerResponse {
  const outgoing = new ServerResponse(incoming);
  outgoing.sendDate = false;
  outgoing.assignSocket(connection.asSocket());
  outgoing.once("finish", () => connection.end());
  // Node's server forwards `drain` only for its own connections. A piped response waits for it.
  connection.on("drain", () => outgoing.emit("drain"));
  Object.defineProperty(outgoing, "writableNeedDrain", { get: () => connection.writableNeedDrain });
  return outgoing;
}

class WebIncoming extends IncomingMessage {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array> | null;

  constructor(request: Request, url: string, socket: Socket) {
    super(socket);
    this.method = request.method;
    this.url = url;
    this.httpVersion = "1.0";
    this.httpVersionMajor = 1;
    this.httpVersionMinor = 0;
    const headers = new Headers(request.headers);
    if (!headers.has("host")) headers.set("host", new URL(request.url).host);
    // It would request a framed body.
    headers.delete("te");
    this.headers = Object.fromEntries(headers);
    this.rawHeaders = [...headers].flat();
    const isFree = request.body !== null && !request.bodyUsed && !request.body.locked;
    this.#reader = isFree ? request.body.getReader() : null;
    // Servers give every request but a GET a body. A body with a type may have content.
    const isLong = request.body !== null && headers.has("content-type") && !headers.has("content-length");
    if (isLong) this.headers["transfer-encoding"] = "chunked";
  }

  override _read(size: number): void {
    super._read(size);
    void this.#next();
  }

  /** Discards the unread rest. */
  letGo(): void {
    this.#reader?.cancel().catch(() => undefined);
  }

  async #next(): Promise<void> {
    try {
      const { value, done } = (await this.#reader?.read()) ?? { value: undefined, done: true };
      this.complete = done;
      this.push(done ? null : value);
    } catch {
      this.socket.destroy();
    }
  }
}

/** The connection on which a response is written. Nothing is read from it. */
class WebConnection extends Duplex {
  readonly #ready = Promise.withResolvers<Response>();
  readonly response = this.#ready.promise;
  #head: Buffer | null = Buffer.alloc(0);
  #body: ReadableStreamDefaultController<Uint8Array> | null = null;
  /** Reports that the reader has made room. */
  #onRoom: (() => void) | null = null;
  #timer: NodeJS.Timeout | undefined;
  timeout = 0;
  readonly remoteAddress = "";

  asSocket(): Socket {
    return this as unknown as Socket;
  }

  /** Closes the connection if nothing was read for a time. */
  setTimeout(ms: number): this {
    clearTimeout(this.#timer);
    this.timeout = ms;
    if (ms > 0 && !this.destroyed) this.#timer = setTimeout(() => this.destroy(), ms).unref();
    return this;
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.setTimeout(this.timeout);
    const body = this.#head === null ? chunk : this.#takeHead(this.#head, chunk);
    if (body.length === 0 || this.#body === null) return done();
    this.#body.enqueue(body);
    if ((this.#body.desiredSize ?? 0) > 0) done();
    else this.#onRoom = done;
  }

  override _final(done: () => void): void {
    this.#body?.close();
    this.#body = null;
    done();
    this.destroy();
  }

  override _destroy(error: Error | null, done: () => void): void {
    clearTimeout(this.#timer);
    this.#ready.resolve(new Response(null, { status: GONE }));
    this.#body?.error(error ?? new Error("the response was not completed"));
    this.#body = null;
    // The reader has been informed; a closed connection is no error of the server.
    done();
  }

  /** Reads the head of the response. Returns the bytes after it. */
  #takeHead(before: Buffer, chunk: Buffer): Buffer {
    const text = Buffer.concat([before, chunk]);
    const end = text.indexOf(HEAD_END);
    this.#head = end < 0 ? text : null;
    if (end < 0) return Buffer.alloc(0);
    const [first = "", ...lines] = text.toString("latin1", 0, end).split("\r\n");
    const status = Number(first.split(" ")[1]);
    const isEmpty = status === 204 || status === 304;
    this.#ready.resolve(new Response(isEmpty ? null : this.#openBody(), { status, headers: headersIn(lines) }));
    return text.subarray(end + HEAD_END.length);
  }

  #openBody(): ReadableStream<Uint8Array> {
    const start = (controller: ReadableStreamDefaultController<Uint8Array>): void => void (this.#body = controller);
    const pull = (): void => {
      const onRoom = this.#onRoom;
      this.#onRoom = null;
      onRoom?.();
    };
    const cancel = (): void => {
      this.#body = null;
      this.destroy();
    };
    return new ReadableStream({ start, pull, cancel }, { highWaterMark: WAITING_BYTES, size: ({ length }) => length });
  }
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error("the request was aborted", { cause: reason });
}

function headersIn(lines: readonly string[]): Headers {
  const headers = new Headers();
  for (const line of lines) {
    const colon = line.indexOf(":");
    const name = line.slice(0, colon).toLowerCase();
    if (!HOP_BY_HOP.has(name)) headers.append(name, line.slice(colon + 1).trim());
  }
  return headers;
}
