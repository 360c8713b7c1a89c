import { setImmediate as nextTurn } from "node:timers/promises";
import type { FastifyReply } from "fastify";
import type { ExecuteOptions } from "../../execute-options.ts";
import type { ToolResult } from "../../result.ts";
import { sendResult, writeResult } from "./answers.ts";
import { EventStream } from "./event-stream.ts";

/** Runs a call with what it is given to tell how it goes. */
export type Run = (listeners: Pick<ExecuteOptions, "onLog" | "onProgress" | "onCapability">) => Promise<ToolResult>;

/**
 * Answers a call with events: `log`, `progress` and `capability` as they come, `dropped` where the client did not make
 * room for some, and one `result` in the end. A call that is refused at once never becomes a stream: its answer has
 * the status of its error.
 */
export async function streamCall(reply: FastifyReply, run: Run, isDraining: () => boolean): Promise<FastifyReply> {
  let opened: EventStream | null = null;
  const open = (): EventStream => (opened ??= new EventStream(reply));
  const running = run({
    onLog: ({ level, message }) => open().send("log", JSON.stringify({ level, message })),
    onProgress: ({ progress, total, message }) => open().send("progress", JSON.stringify({ progress, total, message })),
    onCapability: ({ capability, method, outcome, durationMs, step }) =>
      open().send("capability", JSON.stringify({ capability, method, outcome, durationMs, step })),
  });
  const early = await Promise.race([running, nextTurn(null)]);
  if (opened === null && early !== null && early.error !== null && early.metadata.attempts === 0) {
    return sendResult(reply, early);
  }
  const stream = open();
  stream.end("result", writeResult(early ?? (await running)).text, isDraining());
  return reply;
}
