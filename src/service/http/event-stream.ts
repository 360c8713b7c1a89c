import type { ServerResponse } from "node:http";
import type { FastifyReply } from "fastify";
import type { Traffic } from "./traffic.ts";
import { dropUnread } from "./answers.ts";

export const EVENT_STREAM = "text/event-stream";

const HEADERS = {
  "content-type": EVENT_STREAM,
  "cache-control": "no-store",
  // Proxies that would collect what belongs at once.
  "x-accel-buffering": "no",
  "x-content-type-options": "nosniff",
};
/** A comment, which says nothing but that the connection lives. */
const HEARTBEAT = ":\n\n";
const HEARTBEAT_EVERY_MS = 15_000;
/** What waits for a client that does not read, in bytes: what comes then is dropped, but for the last event. */
const WAITING_MAX_BYTES = 256 * 1024;

/**
 * Events to one client, by the WHATWG standard. Its memory is bounded: events for which a client does not make room are
 * dropped, and counted. An event's id is its place among all, so a gap shows where some are missing.
 */
export class EventStream {
  readonly #response: ServerResponse;
  readonly #heartbeat: NodeJS.Timeout;
  readonly #unreadMs: number | undefined;
  readonly #traffic: Traffic | undefined;
  #events = 0;
  #dropped = 0;
  #isEnded = false;

  /** Sends the headers at once, with those that the reply has already. No body goes through the framework any more. */
  constructor(reply: FastifyReply) {
    reply.hijack();
    this.#response = reply.raw;
    this.#unreadMs = reply.server.unreadMs;
    this.#traffic = reply.server.traffic;
    this.#response.writeHead(200, { ...(reply.getHeaders() as Record<string, string>), ...HEADERS });
    this.#response.flushHeaders();
    this.#heartbeat = setInterval(() => this.#beat(), HEARTBEAT_EVERY_MS).unref();
    if (this.#traffic !== undefined) this.#traffic.streams++;
    this.#response.once("close", () => this.#stop());
  }

  /** How many events had no room. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Sends an event where there is room for it. */
  send(event: string, data: string): void {
    if (this.#isEnded) return;
    const text = frame(event, String(++this.#events), data);
    if (this.#response.writableLength + text.length > WAITING_MAX_BYTES) this.#dropped++;
    else this.#write(text);
  }

  /** Sends an event, whatever waits before it. */
  keep(event: string, data: string): void {
    if (!this.#isEnded) this.#write(frame(event, String(++this.#events), data));
  }

  /**
   * Sends the last event, whatever waits before it; a client that does not read it loses the connection.
   */
  end(event: string, data: string): void {
    if (this.#isEnded) return;
    this.#stop();
    const response = this.#response;
    if (this.#dropped > 0)
      response.write(frame("dropped", String(++this.#events), JSON.stringify({ events: this.#dropped })));
    response.end(frame(event, String(++this.#events), data));
    dropUnread(response, this.#unreadMs);
  }

  #beat(): void {
    if (this.#response.writableLength === 0) this.#write(HEARTBEAT);
  }

  /** Events of one turn of the event loop leave together. */
  #write(text: string): void {
    const response = this.#response;
    if (response.writableCorked === 0) {
      response.cork();
      process.nextTick(() => {
        if (!response.writableEnded) response.uncork();
      });
    }
    response.write(text);
  }

  #stop(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    if (this.#traffic !== undefined) this.#traffic.streams--;
    clearInterval(this.#heartbeat);
  }
}

/** An event as it is written: text of several lines has as many lines of data. */
function frame(event: string, id: string, data: string): string {
  return `event: ${event}\nid: ${id}\ndata: ${data.replaceAll(/\r\n|\r|\n/g, "\ndata: ")}\n\n`;
}
