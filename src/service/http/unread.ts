import type { ServerResponse } from "node:http";
import { MAX_LIMITS } from "../../base/limits.ts";

declare module "fastify" {
  interface FastifyInstance {
    /** How long a client may read nothing of an answer that is complete. */
    unreadMs?: number;
  }
}

/** Longer than a call may wait and run together: a connection on which nothing moves is not a dead one before that. */
export const SILENCE_MS = MAX_LIMITS.queueMs + MAX_LIMITS.wallMs + 60_000;
export const UNREAD_MS = 60_000;

/**
 * Ends the connection of a client that reads nothing of what is written for so long; one that reads slowly keeps it.
 * The system tells of what it could send in pieces of a megabyte or so: who reads less than that in the time is dropped.
 * For answers that are complete: before that, silence is what a long call sounds like, and `SILENCE_MS` holds.
 */
export function dropUnread(response: ServerResponse, unreadMs = UNREAD_MS): void {
  const { socket } = response.req;
  response.setTimeout(unreadMs);
  response.once("finish", () => {
    // Node's own time for idle connections is set by now, unless the next request is here already.
    if (socket.timeout === unreadMs) socket.setTimeout(SILENCE_MS);
  });
}
