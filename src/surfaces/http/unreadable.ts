import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { FastifyInstance } from "fastify";
import { refusal, sendRefusal } from "./answers.ts";
import { hasCalls } from "./disconnection.ts";

const CANNOT_BE_READ = "the request is not one of HTTP/1.1";

/**
 * Answers what the parser could not read, and closes the connection. Where earlier requests of the same connection are
 * not answered yet, the answer would be taken for one of theirs.
 */
export function answerUnreadable({ code }: { readonly code: string }, socket: Socket): void {
  if (!socket.writable || code === "ECONNRESET" || hasCalls(socket)) {
    socket.destroy();
    return;
  }
  const { status, message } = describe(code);
  const body = JSON.stringify(refusal("invalid_arguments", message));
  const headers = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`,
    "content-type: application/json; charset=utf-8",
    "x-content-type-options: nosniff",
    `content-length: ${Buffer.byteLength(body)}`,
    "connection: close",
  ];
  socket.end(`${headers.join("\r\n")}\r\n\r\n${body}`);
  // Whatever else it sends is not read.
  socket.destroySoon();
}

/** Refuses requests that do not say for whom they are: Node would, without a word. */
export function refuseNameless(app: FastifyInstance): void {
  app.addHook("onRequest", (request, reply, next) => {
    if (request.headers.host !== undefined || request.raw.httpVersion === "1.0") next();
    else sendRefusal(reply.header("connection", "close"), "invalid_arguments", "the request has no header Host");
  });
}

function describe(code: string): { readonly status: number; readonly message: string } {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return { status: 431, message: "the headers are too large" };
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return { status: 413, message: "the extensions of a chunk are too large" };
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return { status: 408, message: "the request did not come to its end in time" };
    default:
      return { status: 400, message: CANNOT_BE_READ };
  }
}
