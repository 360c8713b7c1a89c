import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";

/** How long a client may take to read what was sent before it is given up. */
const STALL_MS = 30_000;
/** Why a request's signal is aborted: one for all, as making one for each takes longer than all that hears of it. */
const DONE = new Error("the connection is done with the request");
/** A comment, with which the headers of a stream go at once. */
const OPENING = ": open\n\n";

/**
 * A request as the web's standards have it: its method, and those headers that `isWanted`. Its body is not in it. Its
 * signal is aborted when its connection is done with it, whether it was answered or not.
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

/** Answers with a response of the web's standards. Streams of events go as they come; */
export async function sendWebResponse(reply: FastifyReply, response: Response): Promise<FastifyReply> {
  reply.code(response.status);
  for (const [name, value] of response.headers) if (name !== "connection") reply.header(name, value);
  reply.header("x-content-type-options", "nosniff");
  const { body } = response;
  if (body !== null && response.headers.get("content-type")?.startsWith("text/event-stream") === true) {
    return reply.send(Readable.from(chunksOf(body, reply.raw), { objectMode: false }));
  }
  return reply.send(body === null ? undefined : await response.text());
}

/** A client that does not read makes its connection end; one that goes away makes the stream end. */
async function* chunksOf(
  body: ReadableStream<Uint8Array>,
  response: ServerResponse,
): AsyncGenerator<Uint8Array | string> {
  const reader = body.getReader();
  const end = (): void => void reader.cancel().catch(() => undefined);
  response.once("close", end);
  let chunk: Uint8Array | string | undefined = OPENING;
  while (chunk !== undefined) {
    const stalled = setTimeout(() => response.destroy(), STALL_MS);
    try {
      yield chunk;
    } finally {
      clearTimeout(stalled);
    }
    chunk = (await reader.read()).value;
  }
}
