import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** The calls of each connection: of requests that came at once there are many on one. */
const connections = new WeakMap<Socket, Set<AbortController>>();

/**
 * A signal that is aborted when the client goes away before it has its answer. A client that ends its side of the
 * connection has gone. The response itself would not tell: one that waits behind others has no connection yet.
 */
export function disconnection({ socket }: IncomingMessage, response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  const calls = connections.get(socket) ?? watch(socket);
  calls.add(controller);
  response.once("finish", () => calls.delete(controller));
  if (socket.destroyed) controller.abort();
  return controller.signal;
}

/** Whether a connection has calls that have no answer yet. */
export function hasCalls(socket: Socket): boolean {
  return (connections.get(socket)?.size ?? 0) > 0;
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
