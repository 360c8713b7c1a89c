import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import { dropUnread } from "./answers.ts";

/** Maximum time for a client to read a chunk before it is disconnected. */
const STALL_MS = 30_000;
/** Shared abort reason: creating one for each request costs more than all listeners together. */
const DONE = new Error("the connection is done with the request");
/** An SSE comment that makes a stream's headers go out at once. */
const OPENING = ": open\n\n";

/**
 * Converts a request to a web-standard `Request`: its method and the headers that `isWanted` accepts, without the body.
 * The signal aborts when the connection is done with the request, whether or not it got a response.
 */
export function toWebRequest(
  { method, headers }: FastifyRequest,
  response: ServerResponse,
  isWanted: (header: string) => boolean,
): Request {
  const controller = new AbortController();
  response.once("close", () => controller.abort(DONE));
  const wanted = Object.entries(headers).filter(([name]) => isWanted(name));
  const { signal } = controller;
  return new Request("http://localhost/", {
    method,
    signal,
    headers: wanted.map(([name, value]) => [name, String(value)]),
  });
}

/** A part of a body in pieces, and its length in all. */
export interface FilledPart {
  readonly length: number;
  readonly pieces: AsyncIterable<Uint8Array>;
}

/** Replaces a part of a body; `null` leaves it unchanged. */
type Fill = (chunk: Uint8Array | string) => FilledPart | null;

/** Sends a web-standard `Response`. Event streams are forwarded chunk by chunk; other bodies are sent whole. */
export async function sendWebResponse(
  reply: FastifyReply,
  response: Response,
  fill: Fill = () => null,
): Promise<FastifyReply> {
  reply.code(response.status);
  for (const [name, value] of response.headers) if (name !== "connection") reply.header(name, value);
  reply.header("x-content-type-options", "nosniff");
  const { body } = response;
  if (body !== null && response.headers.get("content-type")?.startsWith("text/event-stream") === true) {
    return reply.send(Readable.from(chunksOf(body, reply, fill), { objectMode: false }));
  }
  if (body === null) return reply.send();
  const text = await response.text();
  const filled = fill(text);
  if (filled === null) return reply.send(text);
  dropUnread(reply.raw, reply.server.unreadMs);
  reply.server.unread?.holdUntilSent(reply.raw, reply.request, filled.length);
  return reply.send(Readable.from(filled.pieces, { objectMode: false }));
}

/**
 * Forwards the chunks of a stream. A client that does not read is disconnected; a disconnected client cancels the
 * stream.
 */
async function* chunksOf(
  body: ReadableStream<Uint8Array>,
  reply: FastifyReply,
  fill: Fill,
): AsyncGenerator<Uint8Array | string> {
  const response = reply.raw;
  const reader = body.getReader();
  const end = (): void => void reader.cancel().catch(() => undefined);
  response.once("close", end);
  let chunk: Uint8Array | string | undefined = OPENING;
  while (chunk !== undefined) {
    const { length, pieces } = fill(chunk) ?? { length: chunk.length, pieces: [chunk] };
    const release = reply.server.unread?.hold(reply.request, length);
    let stalled: NodeJS.Timeout | undefined;
    try {
      for await (const piece of pieces) {
        stalled = setTimeout(() => response.destroy(), STALL_MS);
        yield piece;
        clearTimeout(stalled);
      }
    } finally {
      clearTimeout(stalled);
      release?.();
    }
    chunk = (await reader.read()).value;
  }
}
