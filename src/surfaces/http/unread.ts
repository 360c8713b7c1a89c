import type { ServerResponse } from "node:http";
import { MAX_LIMITS } from "../../limits.ts";

/** Longer than a call may wait and run together: a connection on which nothing moves is not a dead one before that. */
export const SILENCE_MS = MAX_LIMITS.queueMs + MAX_LIMITS.wallMs + 60_000;
/** How long a client may read nothing of an answer that is ready. */
const UNREAD_MS = 30_000;

/**
 * Ends the connection of a client that reads nothing of what is written for so long; one that reads slowly keeps it.
 * For answers that are complete: before that, silence is what a long call sounds like, and `SILENCE_MS` holds.
 */
export function dropUnread(response: ServerResponse): void {
  response.setTimeout(UNREAD_MS);
  response.once("finish", () => {
    // Node's own time for idle connections is set by now, unless the next request is here already.
    const socket = response.req.socket;
    if (socket.timeout === UNREAD_MS) socket.setTimeout(SILENCE_MS);
  });
}
