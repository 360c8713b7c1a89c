import type { SettleMessage } from "../../base/protocol/messages.ts";
import type { CapabilityResponse } from "../executor.ts";

/** The broker's response as a worker gets it. */
export function settleMessage(run: number, step: number, response: CapabilityResponse): SettleMessage {
  const { kind, nowMs } = response;
  const payload = kind === "value" ? response.json : JSON.stringify(response.failure);
  return { kind: "settle", run, step, ok: kind === "value", nowMs, payload };
}
