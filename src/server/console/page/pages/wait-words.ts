import { type DurableCall, openApprovals, type Wait } from "../durable-call.ts";
import { formatTime, plural } from "../format.ts";

const STATES: Readonly<Record<string, string>> = { in_doubt: "in doubt", ready: "goes on soon", running: "runs" };

/** A call's waits in few words, or its state. */
export function wordsOf(call: DurableCall): string {
  if (call.state !== "paused") return STATES[call.state] ?? call.state;
  const approvals = openApprovals(call).length;
  if (approvals > 0) return approvals === 1 ? "approval" : plural(approvals, "approval");
  const wait = call.waits.find(({ state }) => state === "open");
  return wait === undefined ? call.state : subjectOf(wait);
}

/** The subject of a wait. */
export function subjectOf(wait: Wait): string {
  switch (wait.kind) {
    case "approval":
      return `approval${wait.tool === null ? "" : ` of ${wait.tool}`}`;
    case "signal":
      return `signal ${wait.name}`;
    case "time":
      return `until ${formatTime(wait.until)}`;
    case "call":
      return `call ${wait.id}`;
    case "outcome":
      return `outcome of ${wait.asked}`;
  }
}
