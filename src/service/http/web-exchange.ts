import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";

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

/** Sends a web-standard `Response`. Event streams are forwarded chunk by chunk; other bodies are sent whole. */
export async function sendWebResponse(reply: FastifyReply, response: Response): Promise<FastifyReply> {
  reply.code(response.status);
  for (const [name, value] of response.headers) if (name !== "connection") reply.header(name, value);
  reply.header("x-content-type-options", "nosniff");
  const { body } = response;
  if (body !== null && response.headers.get("content-type")?.startsWith("text/event-stream") === true) {
    return reply.send(Readable.from(chunksOf(body, reply), { objectMode: false }));
  }
  return reply.send(body === null ? undefined : await response.text());
}

/**
 * Forwards the chunks of a stream. A client that does not read is disconnected; a disconnected client cancels the
 * stream.
 */
async function* chunksOf(body: ReadableStream<Uint8Array>, reply: FastifyReply): AsyncGenerator<Uint8Array | string> {
  const response = reply.raw;
  const reader = body.getReader();
  const end = (): void => void reader.cancel().catch(() => undefined);
  response.once("close", end);
  let chunk: Uint8Array | string | undefined = OPENING;
  while (chunk !== undefined) {
    const stalled = setTimeout(() => response.destroy(), STALL_MS);
    const release = reply.server.unread?.hold(reply, chunk.length);
    try {
      yield chunk;
    } finally {
      clearTimeout(stalled);
      release?.();
    }
    chunk = (await reader.read()).value;
  }
}
