import type { ErrorDetails, ToolError } from "../../base/errors.ts";
import { parseForWriting } from "../../base/exact-json.ts";
import { type AskedPause, CallFailure } from "../../broker/capabilities/capability.ts";
import type { RunWait, WaitKind } from "../../store/calls/durable/durable-call.ts";
import { digestOf } from "./durable-record.ts";

/** The wait that a tool or a program requests. */
export function askedWait(id: string, step: number, asked: AskedPause): WaitKind {
  switch (asked.kind) {
    case "signal":
      return { kind: "signal", name: asked.name };
    case "time":
      return { kind: "time", until: new Date(asked.untilMs).toISOString() };
    case "approval": {
      const { message, data, schema } = asked;
      const digest = digestOf(id, step, null, JSON.stringify([message, data, ...(schema === null ? [] : [schema])]));
      const shown = { tool: null, version: null, arguments: data, schema, self: false, by: [] };
      return { kind: "approval", ...shown, digest, message, from: "call" };
    }
  }
}

/** The answer of a wait, for the call that has requested it. Throws a `CallFailure`. */
export function answerOf(wait: RunWait): unknown {
  const { kind, settled } = wait;
  const refusal = refusalOf(wait);
  if (refusal !== null) throw new CallFailure(refusal.code, refusal.message, refusal.details);
  const json = settled?.data ?? null;
  const data = json === null ? null : parseForWriting(json);
  if (kind === "signal") return data;
  if (kind !== "approval") return null;
  return {
    approved: true,
    data,
    actor: settled?.actor ?? null,
    reason: settled?.reason ?? null,
  };
}

/** The error of a wait that was refused, or not decided in time. */
export interface Refusal extends Pick<ToolError, "message"> {
  readonly code: "approval_refused";
  readonly details: ErrorDetails["approval_refused"];
}

/** The refusal of a wait; `null` of one that was not refused. */
export function refusalOf(wait: RunWait): Refusal | null {
  const { state, settled } = wait;
  const code = "approval_refused";
  if (state === "expired") {
    const message =
      wait.kind === "signal" ? `the signal "${wait.name}" did not come in time` : "nobody decided in time";
    return { code, message, details: { expired: true } };
  }
  if (state !== "refused") return null;
  const by = settled?.actor ?? settled?.by ?? null;
  const reason = settled?.reason ?? null;
  const message = `it was refused${by === null ? "" : ` by ${by}`}${reason === null ? "" : `: ${reason}`}`;
  return { code, message, details: { ...(by === null ? {} : { by }), ...(reason === null ? {} : { reason }) } };
}
