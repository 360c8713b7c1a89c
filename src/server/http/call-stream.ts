import type { ExecuteOptions } from "../../kernel/engine/execute-options.ts";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { FastifyReply } from "fastify";
import type { ToolError } from "../../kernel/base/errors.ts";
import type { ToolResult } from "../../kernel/base/result.ts";
import { sendResult, writeResult } from "./answers.ts";
import { EventStream } from "./event-stream.ts";

/**
 * Responds to a call with an event stream: `log`, `progress` and `capability` as they occur, `paused` if it has to
 * wait, `dropped` if the client was too slow for some, and one final `result`. A call refused at once gets a plain
 * response with the status of its error.
 */
export async function streamCall(
  reply: FastifyReply,
  run: (listeners: CallListeners) => Promise<ToolResult>,
): Promise<FastifyReply> {
  let opened: EventStream | null = null;
  const open = (): EventStream => (opened ??= new EventStream(reply));
  const running = run(listenersFor((event, data) => open().send(event, JSON.stringify(data))));
  const early = await Promise.race([running, nextTurn(null)]);
  const isRefused = early !== null && early.error !== null && early.error.code !== "paused";
  if (opened === null && isRefused && early.metadata.attempts === 0) {
    return sendResult(reply, early);
  }
  const stream = open();
  stream.end("result", writeResult(early ?? (await running)).parts);
  return reply;
}

/** Listeners for the events of a running call. */
export interface CallListeners extends Pick<ExecuteOptions, "onLog" | "onProgress" | "onCapability"> {
  /** The call has paused, and is kept. */
  readonly onPause: (error: ToolError<"paused">) => void;
}

/** Events of a running call, sent to clients. */
type CallEventName = "log" | "progress" | "capability" | "paused";

/** Creates listeners that send a call's events, reduced to the fields meant for clients. */
export function listenersFor(send: (event: CallEventName, data: object) => void): CallListeners {
  return {
    onPause: ({ message, details }) => send("paused", { id: details?.id, message }),
    onLog: ({ level, message }) => send("log", { level, message }),
    onProgress: ({ progress, total, message }) => send("progress", { progress, total, message }),
    onCapability: ({ capability, method, outcome, durationMs, step }) =>
      send("capability", { capability, method, outcome, durationMs, step }),
  };
}
