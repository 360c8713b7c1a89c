import type { ExecuteOptions } from "../../engine/execute-options.ts";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { FastifyReply } from "fastify";
import type { ToolResult } from "../../base/result.ts";
import { sendResult, writeResult } from "./answers.ts";
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

/** What a call tells while it runs. */
export type CallListeners = Pick<ExecuteOptions, "onLog" | "onProgress" | "onCapability">;

/** The events that a client is sent of a call that runs. */
type CallEventName = "log" | "progress" | "capability";

/** Listeners that make events of what a call tells: only of what is a client's business. */
export function listenersFor(send: (event: CallEventName, data: object) => void): CallListeners {
  return {
    onLog: ({ level, message }) => send("log", { level, message }),
    onProgress: ({ progress, total, message }) => send("progress", { progress, total, message }),
    onCapability: ({ capability, method, outcome, durationMs, step }) =>
      send("capability", { capability, method, outcome, durationMs, step }),
  };
}
