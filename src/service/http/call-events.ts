import type { ExecuteOptions } from "../../engine/execute-options.ts";

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
