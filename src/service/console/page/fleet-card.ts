import { badge, card, fill, h, table } from "./elements.ts";
import { formatMs, plural } from "./format.ts";
import type { Fleet } from "./wire.ts";

/** Silence after which a machine may be lost; machines send a heartbeat every second. */
const SILENT_MS = 3_000;

/** Card with the worker machines of a server's fleet; hidden without a fleet. */
export class FleetCard {
  readonly element: HTMLElement;
  readonly #content = h("div", { class: "stack tight" });

  constructor() {
    this.element = card("Fleet", this.#content);
    this.element.hidden = true;
  }

  update(fleet: Fleet | undefined): void {
    this.element.hidden = fleet === undefined;
    if (fleet === undefined) return;
    const { problem, seen } = fleet;
    fill(
      this.#content,
      problem === null ? null : h("p", { class: "notice warn" }, `No calls run: ${problem}.`),
      h("p", {}, summaryOf(fleet)),
      seen.length === 0 ? null : machines(fleet),
    );
  }
}

function summaryOf({ machines, slots, busySlots, waitingJobs, unlisted, unreadable }: Fleet): string {
  const parts = [
    `${plural(machines, "machine")} ${machines === 1 ? "takes" : "take"} calls`,
    `${busySlots} of ${plural(slots, "slot")} busy`,
    `${plural(waitingJobs, "job")} waiting`,
  ];
  if (unlisted > 0) parts.push(`${plural(unlisted, "machine")} not listed`);
  if (unreadable > 0) parts.push(`${plural(unreadable, "machine")} with another secret`);
  return `${parts.join(", ")}.`;
}

function machines({ seen }: Fleet): HTMLElement {
  const rows = seen.map(({ id, host, state, slots, busySlots, protocols, isSandboxed, silentMs }) => [
    h("span", { class: "mono" }, id),
    host ?? "—",
    badge(state, state === "ready" ? "good" : "warn"),
    figure(`${busySlots} of ${slots}`),
    figure(protocols.join(", ")),
    isSandboxed ? "sandbox" : badge("no sandbox", "warn"),
    silentMs < SILENT_MS ? "now" : badge(`${formatMs(silentMs)} ago`, "warn"),
  ]);
  return table("Worker machines", ["Machine", "Host", "State", "Busy slots", "Protocol", "Walls", "Heard"], rows);
}

function figure(text: string): HTMLElement {
  return h("span", { class: "figures" }, text);
}
