import type { FastifyReply } from "fastify";
import { dropUnread } from "./answers.ts";
import { openStream, sendGathered, writeTogether } from "./event-stream.ts";

/** One JSON text a line. */
export const LINES = "application/x-ndjson";
const LINE_ENDS = /[\r\n]+/g;

/**
 * Lines of JSON to one client. None is dropped: unread lines count against the budget of unread responses, beyond which
 * the client may lose its connection.
 */
export class LineStream {
  readonly #reply: FastifyReply;

  /** Sends the headers at once, with those already set on the reply, and detaches the response from Fastify. */
  constructor(reply: FastifyReply) {
    this.#reply = reply;
    openStream(reply, LINES);
  }

  /** Sends a text of JSON as a line. */
  send(json: string): void {
    const { raw, request, server } = this.#reply;
    if (raw.writableEnded) return;
    // Line ends are blanks here: JSON allows them only between tokens.
    const line = `${/[\r\n]/.test(json) ? json.replaceAll(LINE_ENDS, " ") : json}\n`;
    writeTogether(raw, line, server.unread?.hold(request, line.length));
  }

  /** Ends the response; a client that does not read the rest of it is disconnected. */
  end(): void {
    const { raw, server } = this.#reply;
    sendGathered(raw);
    raw.end();
    dropUnread(raw, server.unreadMs);
  }
}
