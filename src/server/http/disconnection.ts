import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** The unfinished calls of a connection; pipelining puts several on one. They end together, so they share a signal. */
interface Connection {
  unfinished: number;
  controller: AbortController;
  readonly onFinish: () => void;
}

const connections = new WeakMap<Socket, Connection>();

/**
 * A signal that aborts when the client disconnects, or half-closes the connection, before its response is complete. The
 * response's own events do not suffice: a pipelined response that waits for others has no socket yet.
 */
export function disconnection({ socket }: IncomingMessage, response: ServerResponse): AbortSignal {
  const connection = connections.get(socket) ?? watch(socket);
  connection.unfinished++;
  response.on("finish", connection.onFinish);
  if (socket.destroyed) connection.controller.abort();
  return connection.controller.signal;
}

/** Makes signals for requests that wait: each aborts when its client disconnects, or the server begins to drain. */
export function endsWithClient(
  onDrain: (end: () => void) => void,
): (request: IncomingMessage, response: ServerResponse) => AbortSignal {
  const draining = new AbortController();
  onDrain(() => draining.abort());
  return (request, response) => AbortSignal.any([draining.signal, disconnection(request, response)]);
}

/** Whether a connection has calls without a complete response. */
export function hasCalls(socket: Socket): boolean {
  return (connections.get(socket)?.unfinished ?? 0) > 0;
}

/** Ends the calls of a connection as if its client had disconnected; the client still gets their results. */
export function abandonCalls(socket: Socket): void {
  const connection = connections.get(socket);
  if (connection === undefined) return;
  connection.controller.abort();
  // Later calls of the connection are unaffected.
  connection.controller = new AbortController();
}

function watch(socket: Socket): Connection {
  const connection: Connection = {
    unfinished: 0,
    controller: new AbortController(),
    onFinish: () => void connection.unfinished--,
  };
  connections.set(socket, connection);
  socket.once("close", () => {
    connection.controller.abort();
    connection.unfinished = 0;
  });
  return connection;
}
