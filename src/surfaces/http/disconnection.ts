import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { AT_ONCE_MAX } from "./pipelining.ts";

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
  if (calls.size >= AT_ONCE_MAX) holdBack(socket, calls);
  response.once("finish", () => {
    calls.delete(controller);
    if (calls.size === AT_ONCE_MAX - 1) socket.resume();
  });
  if (socket.destroyed) controller.abort();
  return controller.signal;
}

/** Whether a connection has calls that have no answer yet. */
export function hasCalls(socket: Socket): boolean {
  return (connections.get(socket)?.size ?? 0) > 0;
}

/** Whether nothing more is read of a connection: what does not come on it is not kept back by its client. */
export function isHeldBack(socket: Socket): boolean {
  return (connections.get(socket)?.size ?? 0) >= AT_ONCE_MAX;
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

/** Reads no more of a connection: once what has read its requests is through, as that would make it go on. */
function holdBack(socket: Socket, calls: ReadonlySet<AbortController>): void {
  setImmediate(() => {
    if (calls.size >= AT_ONCE_MAX) socket.pause();
  });
}
