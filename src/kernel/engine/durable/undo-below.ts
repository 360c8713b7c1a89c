import type { ChildCallEnd } from "../../broker/capabilities/capability.ts";
import type { CallPlace, TakeDurable } from "../../store/calls/durable/durable-step.ts";
import { NOTHING_CALLED } from "../../store/calls/durable/undone-calls.ts";
import { readResult } from "../../base/result.ts";
import type { KeptTarget } from "../call/child-call.ts";
import { hasFailed } from "./undo.ts";

/** The answer of an undoing program about a child call that is not in the store any more. */
const GONE = "what it called is not known any more, as its call is not kept any more";

/**
 * Makes the call that undoes a child call, once, or finds it: its id, or an answer instead. The answer is `null` if the
 * child has called no tools, and a text if that is unknown. `within`: the waiting call, with its step.
 */
export async function undoBelow(
  take: TakeDurable,
  { id, isAgain }: KeptTarget,
  within: CallPlace,
): Promise<{ readonly id: string } | ChildCallEnd> {
  const begin = (after: string | null) => take({ kind: "undo", id, tenant: null, after, within, nowMs: Date.now() });
  let answer = await begin(null);
  // An undoing made for this wait is not an earlier try, regardless of repeated requests.
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
