import type { Socket } from "node:net";
import type { ErrorCode } from "../../kernel/base/errors.ts";
import { refusal } from "./answers.ts";
import { hasCalls } from "./disconnection.ts";

/** Maximum time for a client to read the final response of its connection. */
const FAREWELL_MS = 2_000;

interface Farewell {
  readonly status: string;
  readonly code: ErrorCode;
  readonly message: string;
}

const TOO_SLOW: Farewell = {
  status: "408 Request Timeout",
  code: "invalid_arguments",
  message: "the request was not complete in time",
};
const TOO_MANY_HEADERS: Farewell = {
  status: "431 Request Header Fields Too Large",
  code: "input_too_large",
  message: "the request's head is too large",
};
const UNREADABLE: Farewell = {
  status: "400 Bad Request",
  code: "invalid_arguments",
  message: "the request could not be read",
};
const TOO_MANY: Farewell = {
  status: "503 Service Unavailable",
  code: "queue_full",
  message: "the server has reached its maximum number of connections; try again later",
};

/** Connections being closed; further input is ignored. */
const ending = new WeakSet<Socket>();

/**
 * Responds to an unreadable request in the form of a result and closes its connection. `tell` receives the status. If
 * earlier calls on the connection have no response yet, the client would mistake this one for theirs: then the
 * connection is only closed.
 */
export function answerClientError(error: NodeJS.ErrnoException, socket: Socket, tell: (status: number) => void): void {
  if (ending.has(socket)) return;
  // The server itself paused the connection: the rest of the request may have arrived in time.
  if (error.code === "ERR_HTTP_REQUEST_TIMEOUT" && socket.isPaused()) return;
  ending.add(socket);
  const farewell =
    error.code === "ERR_HTTP_REQUEST_TIMEOUT"
      ? TOO_SLOW
      : error.code === "HPE_HEADER_OVERFLOW"
        ? TOO_MANY_HEADERS
        : UNREADABLE;
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  tell(Number.parseInt(farewell.status, 10));
  // Requests of the same chunk become calls within this turn of the event loop, so check for them afterwards.
  setImmediate(() => {
    if (!socket.writable || hasCalls(socket)) socket.destroy();
    else sayFarewell(socket, farewell);
  });
}

/** Refuses a connection above the maximum with 503. */
export function refuseConnection(socket: Socket): void {
  socket.on("error", () => undefined);
  sayFarewell(socket, TOO_MANY, "retry-after: 1\r\n");
}

function sayFarewell(socket: Socket, { status, code, message }: Farewell, headers = ""): void {
  const body = JSON.stringify(refusal(code, message));
  const type = "content-type: application/json; charset=utf-8\r\nx-content-type-options: nosniff\r\n";
  const length = `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n`;
  socket.end(`HTTP/1.1 ${status}\r\n${type}${headers}${length}\r\n${body}`);
  // Discard further input: closing a connection with unread data resets it, and the response is lost.
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), FAREWELL_MS);
  socket.once("close", () => clearTimeout(timer));
}
