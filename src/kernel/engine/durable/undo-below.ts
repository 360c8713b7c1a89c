import type { ChildCallEnd } from "../../broker/capabilities/capability.ts";
import type { CallPlace, TakeDurable } from "../../store/calls/durable/durable-step.ts";
import { NOTHING_CALLED } from "../../store/calls/durable/undone-calls.ts";
import { readResult } from "../../base/result.ts";
import type { KeptTarget } from "../call/child-call.ts";
import { hasFailed } from "./undo.ts";

/** What the program of a call that undoes hears of a call below that is gone from the store. */
const GONE = "what it called is not known any more, as its call is not kept any more";

/**
 * Makes the call that undoes one below, once, or finds it: its id, or an answer instead. The answer is `null`
 * where the call below has called no tools, and a text where nobody knows that. `within`: what waits for it.
 */
export async function undoBelow(
  take: TakeDurable,
  { id, isAgain }: KeptTarget,
  within: CallPlace,
): Promise<{ readonly id: string } | ChildCallEnd> {
  const begin = (after: string | null) => take({ kind: "undo", id, tenant: null, after, within, nowMs: Date.now() });
  let answer = await begin(null);
  // One that was made for this wait is no earlier try, however often the wait is asked for.
  const last = answer.kind === "done" ? answer.call : null;
  const isEarlier = isAgain && last?.parentId !== within.id;
  if (isEarlier && typeof last?.result === "string" && hasFailed(readResult(last.result)))
    answer = await begin(last.id);
  switch (answer.kind) {
    case "done":
      return answer.call === null ? fails("store_failed", GONE) : { id: answer.call.id };
    case "missing":
      return { result: { ok: true, output: GONE } };
    case "conflict":
      if (answer.message === NOTHING_CALLED) return { result: { ok: true, output: null } };
      return fails(answer.call.state === "ended" ? "tool_error" : "outcome_unknown", answer.message);
    default:
      return fails("store_failed", "the store cannot undo the call");
  }
}

function fails(code: "store_failed" | "tool_error" | "outcome_unknown", message: string): ChildCallEnd {
  return { result: { ok: false, code, message } };
}
