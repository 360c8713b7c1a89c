import type { CallReply } from "../../executor/executor.ts";
import type { FleetReply } from "../wire/messages.ts";

/** A reply as it travels. `refusedForMs`: how long this machine refuses the tool's calls, where that was why. */
export function writeReply({ outcome, heard, ...used }: CallReply, refusedForMs: () => number): FleetReply {
  const { cpuMs, waitedMs, wallMs, heapBytes, attempts, logs, dropped } = used;
  const payload = outcome.ok ? outcome.json : JSON.stringify(outcome.failure);
  const isRefused = !outcome.ok && outcome.failure.code === "tool_quarantined";
  return {
    ok: outcome.ok,
    payload,
    cpuMs,
    waitedMs,
    wallMs,
    heapBytes,
    attempts,
    logs,
    dropped,
    ...(heard === undefined ? {} : { heard }),
    ...(isRefused ? { refusedForMs: refusedForMs() } : {}),
  };
}
