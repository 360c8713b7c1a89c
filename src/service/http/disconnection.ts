import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Unfinished calls by connection; pipelining puts several on one. */
const connections = new WeakMap<Socket, Set<AbortController>>();

/**
 * A signal that aborts when the client disconnects, or half-closes the connection, before its response is complete. The
 * response's own events do not suffice: a pipelined response that waits for others has no socket yet.
 */
export function disconnection({ socket }: IncomingMessage, response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  const calls = connections.get(socket) ?? watch(socket);
  calls.add(controller);
  response.once("finish", () => calls.delete(controller));
  if (socket.destroyed) controller.abort();
  return controller.signal;
}

/** Whether a connection has calls without a complete response. */
export function hasCalls(socket: Socket): boolean {
  return (connections.get(socket)?.size ?? 0) > 0;
}

/** Ends the calls of a connection as if its client were gone; the client still gets their results. */
export function abandonCalls(socket: Socket): void {
  for (const call of connections.get(socket) ?? []) call.abort();
}

function watch(socket: Socket): Set<AbortController> {
  const calls = new Set<AbortController>();
  connections.set(socket, calls);
  socket.once("close", () => {
    for (const call of calls) call.abort();
    calls.clear();
  });
  return calls;
}
