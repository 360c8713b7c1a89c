import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { FastifyReply } from "fastify";
import type { Traffic } from "./traffic.ts";
import { dropUnread, LONG, piecesOf } from "./answers.ts";

export const EVENT_STREAM = "text/event-stream";

const HEADERS = {
  "cache-control": "no-store",
  // Stops nginx from buffering the stream.
  "x-accel-buffering": "no",
  "x-content-type-options": "nosniff",
};
/** An SSE comment that keeps the connection alive. */
const HEARTBEAT = ":\n\n";
const HEARTBEAT_EVERY_MS = 15_000;
/** The end of an event. */
const END = "\n\n";
/** Maximum unread data of a client, in bytes; further events of `send` are dropped. */
const WAITING_MAX_BYTES = 256 * 1024;

/**
 * Server-sent events (WHATWG) to one client. Its memory is bounded: events for a client that reads too slowly are
 * dropped and counted. Event IDs number all events, so a gap shows that some are missing.
 */
export class EventStream {
  readonly #reply: FastifyReply;
  readonly #response: ServerResponse;
  readonly #heartbeat: NodeJS.Timeout;
  readonly #unreadMs: number | undefined;
  readonly #traffic: Traffic | undefined;
  #events = 0;
  #dropped = 0;
  #isEnded = false;

  /** Sends the headers at once, with those already set on the reply, and detaches the response from Fastify. */
  constructor(reply: FastifyReply) {
    this.#reply = reply;
    this.#response = reply.raw;
    this.#unreadMs = reply.server.unreadMs;
    this.#traffic = reply.server.traffic;
    openStream(reply, EVENT_STREAM);
    this.#heartbeat = setInterval(() => this.#beat(), HEARTBEAT_EVERY_MS).unref();
    if (this.#traffic !== undefined) this.#traffic.streams++;
    this.#response.once("close", () => this.#stop());
  }

  /** Number of dropped events. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Sends an event, or drops it if the client has too much unread data. */
  send(event: string, data: string): void {
    if (this.#isEnded) return;
    const text = frame(event, String(++this.#events), data);
    if (this.#response.writableLength + text.length > WAITING_MAX_BYTES) this.#dropped++;
    else writeTogether(this.#response, text);
  }

  /** Sends an event that is never dropped. */
  keep(event: string, data: string): void {
    if (this.#isEnded) return;
    const text = frame(event, String(++this.#events), data);
    writeTogether(this.#response, text, this.#reply.server.unread?.hold(this.#reply.request, text.length));
  }

  /**
   * Sends the last event, which is never dropped; a client that does not read it is disconnected. `parts`: its data in
   * pieces.
   */
  end(event: string, parts: readonly string[]): void {
    if (this.#isEnded) return;
    this.#stop();
    const response = this.#response;
    sendGathered(response);
    if (this.#dropped > 0)
      response.write(frame("dropped", String(++this.#events), JSON.stringify({ events: this.#dropped })));
    const head = `event: ${event}\nid: ${++this.#events}\ndata: `;
    const length = parts.reduce((sum, part) => sum + part.length, head.length + END.length);
    const release = this.#reply.server.unread?.hold(this.#reply.request, length);
    const onRead = (): void => release?.();
    if (length <= LONG) response.end(head + continued(parts.join("")) + END, onRead);
    // A disconnected client ends it early.
    else pipeline(Readable.from(longEvent(head, parts)), response).then(onRead, onRead);
    dropUnread(response, this.#unreadMs);
  }

  #beat(): void {
    if (this.#response.writableLength === 0) writeTogether(this.#response, HEARTBEAT);
  }

  #stop(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    if (this.#traffic !== undefined) this.#traffic.streams--;
    clearInterval(this.#heartbeat);
  }
}

/** Detaches a response from Fastify and sends its headers at once, with those already set on the reply. */
export function openStream(reply: FastifyReply, type: string): void {
  reply.hijack();
  reply.raw.writeHead(200, { ...(reply.getHeaders() as Record<string, string>), "content-type": type, ...HEADERS });
  reply.raw.flushHeaders();
}

/** Writes texts of the same turn of the event loop together. `onRead`: called when the system has taken the text. */
export function writeTogether(response: ServerResponse, text: string, onRead?: () => void): void {
  if (response.writableCorked === 0) {
    response.cork();
    process.nextTick(() => {
      if (!response.writableEnded) response.uncork();
    });
  }
  response.write(text, onRead);
}

/** Sends the data that was written together: Node 24 loses it if the response ends in the same turn. */
export function sendGathered(response: ServerResponse): void {
  while (response.writableCorked > 0) response.uncork();
}

/** An event in wire format: one `data` line for each line of text. */
function frame(event: string, id: string, data: string): string {
  return `event: ${event}\nid: ${id}\ndata: ${continued(data)}\n\n`;
}

/** An event in pieces. A line that ends between two of them ends twice, which JSON allows between its tokens. */
async function* longEvent(head: string, parts: readonly string[]): AsyncGenerator<Buffer> {
  yield Buffer.from(head);
  yield* piecesOf(parts, continued);
  yield Buffer.from(END);
}

function continued(data: string): string {
  // Searching for one character takes a tenth of the time.
  return data.includes("\n") || data.includes("\r") ? data.replaceAll(/\r\n|\r|\n/g, "\ndata: ") : data;
}
