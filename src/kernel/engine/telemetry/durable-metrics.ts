import { Counter, gaugesOf, type Registry } from "../../base/prometheus.ts";
import { registerTallies, Tally } from "../../base/tally.ts";
import type { CallStanding } from "../../store/calls/durable/durable-step.ts";
import { NOTIFY_OUTCOMES } from "./durable-events.ts";
import type { Events } from "./events.ts";

const READY_BUCKETS_S = [0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 3_600];
/** From a second to a week. */
const WAIT_BUCKETS_S = [1, 10, 60, 600, 3_600, 6 * 3_600, 86_400, 7 * 86_400];

/**
 * Registers metrics of waiting calls. `standing`: their numbers in the store; `null` if these are not known. `label`:
 * of a tool, one of a bounded number.
 */
export function registerDurableMetrics(
  registry: Registry,
  events: Events,
  standing: () => Promise<CallStanding | null>,
  label: (tool: string) => string,
): void {
  const registers = [registry];
  const pauses = new Counter({
    name: "glovebox_call_pauses_total",
    help: "Pauses of calls by tool and by what they wait for: approval, signal, time, call.",
    labelNames: ["tool", "wait"],
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
  const undone = new Counter({
    name: "glovebox_undo_total",
    help: "Effects of calls that were to be undone, by outcome: undone, failed, no_undo, irreversible, in_doubt.",
    labelNames: ["outcome"],
    registers,
  });
  const ready = new Tally(READY_BUCKETS_S);
  const about = {
    name: "glovebox_call_resume_seconds",
    help: "Time from when a call that has waited could go on until it went on, in seconds.",
  };
  registerTallies(registry, about, () => [[{}, ready]]);
  const waits = new Map<string, Tally>();
  const aboutWaits = {
    name: "glovebox_call_wait_seconds",
    help: "Time for which calls have waited, by what they waited for: approval, signal, time, call, outcome.",
  };
  registerTallies(registry, aboutWaits, () => [...waits].map(([wait, tally]) => [{ wait }, tally] as const));
  registerStanding(registry, standing);
  for (const outcome of NOTIFY_OUTCOMES) notifications.inc({ outcome }, 0);
  events.on("call:notify", ({ outcome, count }) => notifications.inc({ outcome }, count));
  events.on("call:doubt", () => doubts.inc());
  events.on("call:pause", ({ tool, waits }) => {
    for (const wait of new Set(waits)) pauses.inc({ tool: label(tool), wait });
  });
  events.on("call:resume", ({ outcome, readyForMs }) => {
    resumes.inc({ outcome });
    ready.observe(readyForMs / 1e3);
  });
  events.on("call:settle", ({ wait, waitedMs }) => {
    let tally = waits.get(wait);
    if (tally === undefined) waits.set(wait, (tally = new Tally(WAIT_BUCKETS_S)));
    tally.observe(waitedMs / 1e3);
  });
  events.on("call:undone", ({ outcomes }) => {
    for (const outcome of outcomes) undone.inc({ outcome });
  });
  events.on("call:decide", ({ decision }) => decisions.inc({ decision }));
}

/** Gauges of waiting calls in the store, which is read once for all of them. */
function registerStanding(registry: Registry, standing: () => Promise<CallStanding | null>): void {
  let asked: Promise<CallStanding | undefined> | null = null;
  const ask = async (): Promise<CallStanding | undefined> => (await standing()) ?? undefined;
  const gauge = gaugesOf(registry, () => {
    asked ??= ask().finally(() => {
      asked = null;
    });
    return asked;
  });
  gauge("calls_paused", "Calls that wait for a person, a signal or a time.", ({ paused }) => paused);
  gauge("calls_in_doubt", "Calls with an effect of which nobody knows whether it happened.", ({ inDoubt }) => inDoubt);
  gauge(
    "calls_oldest_approval_seconds",
    "Age of the oldest approval that nobody has decided, in seconds; 0 where none is open.",
    ({ oldestApprovalMs }) => Math.max(0, oldestApprovalMs ?? 0) / 1e3,
  );
}
