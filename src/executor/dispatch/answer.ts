import type { SettleMessage } from "../../base/protocol/messages.ts";
import type { Answer } from "../executor.ts";

/** What a worker is told of the broker's answer. */
export function settleMessage(run: number, ask: number, answer: Exclude<Answer, { kind: "diverged" }>): SettleMessage {
  const { kind, nowMs } = answer;
  const payload = kind === "value" ? answer.json : JSON.stringify(answer.failure);
  return { kind: "settle", run, ask, ok: kind === "value", nowMs, payload };
}
