import type { Socket } from "node:net";
import type { ErrorCode } from "../../base/errors.ts";
import { refusal } from "./answers.ts";
import { hasCalls } from "./disconnection.ts";

/** How long a client may take to read why its connection ends. */
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

/** Connections that are at their end: whatever else comes on them is not looked at. */
const ending = new WeakSet<Socket>();

/**
 * Answers what is no request, in the form of a result, and ends its connection. `tell` gets the status. Calls that came
 * before it may still have no answer, and this one would be taken for theirs: then the connection just ends.
 */
export function answerClientError(error: NodeJS.ErrnoException, socket: Socket, tell: (status: number) => void): void {
  if (ending.has(socket)) return;
  // Nothing more is read of it for now: the rest of the request may have been there for long.
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
  // What came in the same piece becomes calls within this turn of the event loop.
  setImmediate(() => {
    if (!socket.writable || hasCalls(socket)) socket.destroy();
    else sayFarewell(socket, farewell);
  });
}

/** Ends a connection for which there is no room. */
export function refuseConnection(socket: Socket): void {
  socket.on("error", () => undefined);
  sayFarewell(socket, TOO_MANY, "retry-after: 1\r\n");
}

function sayFarewell(socket: Socket, { status, code, message }: Farewell, headers = ""): void {
  const body = JSON.stringify(refusal(code, message));
  const type = "content-type: application/json; charset=utf-8\r\nx-content-type-options: nosniff\r\n";
  const length = `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n`;
  socket.end(`HTTP/1.1 ${status}\r\n${type}${headers}${length}\r\n${body}`);
  // What still comes is thrown away, as a connection that is closed before it is read takes the answer with it.
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), FAREWELL_MS);
  socket.once("close", () => clearTimeout(timer));
}
