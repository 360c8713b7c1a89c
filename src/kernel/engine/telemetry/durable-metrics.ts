import type { Gauge as GaugeType } from "prom-client";
import { Counter, Gauge, type Registry } from "../../base/prometheus.ts";
import { NOTIFY_OUTCOMES } from "./durable-events.ts";
import type { Events } from "./events.ts";

/**
 * Registers metrics of calls that wait. Outcomes are `resumed` and error codes. `oldestApprovalMs`: since when the oldest
 * approval is open; `null` where none is.
 */
export function registerDurableMetrics(
  registry: Registry,
  events: Events,
  oldestApprovalMs: () => Promise<number | null>,
): void {
  const registers = [registry];
  const pauses = new Counter({
    name: "glovebox_call_pauses_total",
    help: "Pauses of calls by what they wait for: approval, signal, time, call.",
    labelNames: ["wait"],
    registers,
  });
  const resumes = new Counter({
    name: "glovebox_call_resumes_total",
    help: "Calls that went on after a pause, and those that could not, by outcome.",
    labelNames: ["outcome"],
    registers,
  });
  const decisions = new Counter({
    name: "glovebox_decisions_total",
    help: "Decisions about calls that wait: approve, refuse, happened, did_not_happen.",
    labelNames: ["decision"],
    registers,
  });
  const doubts = new Counter({
    name: "glovebox_call_doubts_total",
    help: "Calls whose process was lost while an effect was under way.",
    registers,
  });
  const notifications = new Counter({
    name: "glovebox_notifications_total",
    help: "Notifications of calls that wait, by outcome: delivered, failed, given_up, dropped.",
    labelNames: ["outcome"],
    registers,
  });
  const oldest: GaugeType = new Gauge({
    name: "glovebox_calls_oldest_approval_seconds",
    help: "Age of the oldest approval that nobody has decided, in seconds; 0 where none is open.",
    registers,
    collect: async () => {
      const openedMs = await oldestApprovalMs();
      oldest.set(openedMs === null ? 0 : Math.max(0, Date.now() - openedMs) / 1e3);
    },
  });
  for (const outcome of NOTIFY_OUTCOMES) notifications.inc({ outcome }, 0);
  events.on("call:notify", ({ outcome, count }) => notifications.inc({ outcome }, count));
  events.on("call:doubt", () => doubts.inc());
  events.on("call:pause", ({ waits }) => {
    for (const wait of new Set(waits)) pauses.inc({ wait });
  });
  events.on("call:resume", ({ outcome }) => resumes.inc({ outcome }));
  events.on("call:decide", ({ decision }) => decisions.inc({ decision }));
}
