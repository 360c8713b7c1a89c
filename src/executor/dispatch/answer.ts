import type { SettleMessage } from "../../base/protocol/messages.ts";
import type { CapabilityResponse } from "../executor.ts";

/** What a worker is told of the broker's answer. */
export function settleMessage(
  run: number,
  ask: number,
  answer: Exclude<CapabilityResponse, { kind: "diverged" }>,
): SettleMessage {
  const { kind, nowMs } = answer;
  const payload = kind === "value" ? answer.json : JSON.stringify(answer.failure);
  return { kind: "settle", run, ask, ok: kind === "value", nowMs, payload };
}
