import { GloveboxError } from "../../base/errors.ts";
import { frozen, memberOf } from "../../base/json.ts";
import type { OwnWaits, ToolRunner } from "../../tool/contracts/runner.ts";
import type { ToolDescription } from "../../tool/contracts/contract.ts";
import { WAIT_CALL } from "../../tool/program/program.ts";
import { WAIT_MAX_MS } from "../durable/durable-calls.ts";
import { withEdit } from "./edited-call.ts";

const ID_MAX = 128;

/** `wait_call` for a model. Frozen, so that it is written once for clients. */
export const WAIT_CALL_TOOL: ToolDescription = frozen({
  name: WAIT_CALL,
  description:
    "Gives the result of a call that waits, for a person's approval, a signal or a time, and was answered with an id under " +
    "which it is kept. Waits for its end for some seconds. It decides nothing: a call that waits still is answered as before.",
  inputSchema: {
    type: "object",
    properties: {
      id: { type: "string", maxLength: ID_MAX, description: "The id under which the call is kept, such as c_…" },
      waitMs: { type: "integer", minimum: 0, maximum: WAIT_MAX_MS, default: WAIT_MAX_MS, description: "Milliseconds." },
    },
    required: ["id"],
    additionalProperties: false,
  },
  annotations: { title: "Wait for a call", readOnly: true, idempotent: true },
});

/** Whether `wait_call` is offered: some tools may wait, and none has the name. */
export function offersWaitCall(source: Pick<ToolRunner, "get"> & { mayWait(): boolean }): boolean {
  return source.mayWait() && source.get(WAIT_CALL) === undefined;
}

/** The output of a call that has waited. Rejects with a `GloveboxError`, its error or `paused`. */
export async function waitForCall(args: unknown, waits: OwnWaits, signal: AbortSignal | undefined): Promise<unknown> {
  const id = memberOf(args, "id");
  const waitMs = memberOf(args, "waitMs") ?? WAIT_MAX_MS;
  if (typeof id !== "string" || id.length > ID_MAX)
    throw new GloveboxError("invalid_arguments", "id must be the id under which a call is kept, such as c_…");
  if (typeof waitMs !== "number" || !Number.isInteger(waitMs) || waitMs < 0 || waitMs > WAIT_MAX_MS)
    throw new GloveboxError("invalid_arguments", `waitMs must be a whole number from 0 to ${WAIT_MAX_MS}`);
  const result = await waits.result(id, signal === undefined ? { waitMs } : { waitMs, signal });
  if (result === undefined)
    throw new GloveboxError("invalid_arguments", "no call of yours is kept under this id: it may have ended long ago");
  const { error, output } = withEdit(result);
  if (error !== null) throw new GloveboxError(error.code, error.message, error.details);
  return output;
}
