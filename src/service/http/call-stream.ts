import { setImmediate as nextTurn } from "node:timers/promises";
import type { FastifyReply } from "fastify";
import type { ToolResult } from "../../base/result.ts";
import { sendResult, writeResult } from "./answers.ts";
import { type CallListeners, listenersFor } from "./call-events.ts";
import { EventStream } from "./event-stream.ts";

/**
 * Answers a call with events: `log`, `progress` and `capability` as they come, `dropped` where the client did not make
 * room for some, and one `result` in the end. A call that is refused at once never becomes a stream: its answer has
 * the status of its error.
 */
export async function streamCall(
  reply: FastifyReply,
  run: (listeners: CallListeners) => Promise<ToolResult>,
): Promise<FastifyReply> {
  let opened: EventStream | null = null;
  const open = (): EventStream => (opened ??= new EventStream(reply));
  const running = run(listenersFor((event, data) => open().send(event, JSON.stringify(data))));
  const early = await Promise.race([running, nextTurn(null)]);
  if (opened === null && early !== null && early.error !== null && early.metadata.attempts === 0) {
    return sendResult(reply, early);
  }
  const stream = open();
  stream.end("result", writeResult(early ?? (await running)).text);
  return reply;
}
