import { Chart, type ChartSpec } from "./chart.ts";
import { badge, card, fill, h, table } from "./elements.ts";
import { formatBytes, formatCount, formatMs, formatSpan, plural } from "./format.ts";
import { FleetCard } from "./fleet-card.ts";
import { LoginsCard } from "./logins-card.ts";
import type { FeedState } from "./stats-feed.ts";
import type { Stats } from "./wire.ts";

const CHARTS: readonly ChartSpec[] = [
  {
    heading: "Calls per second",
    format: formatCount,
    leastMax: 5,
    lines: [
      { label: "Ended", colour: 1, read: ({ calls }) => calls.perSecond },
      { label: "Failed", colour: 3, dash: [4, 4], read: ({ calls }) => calls.errorsPerSecond },
    ],
  },
  {
    heading: "Latency",
    format: formatMs,
    leastMax: 5,
    lines: [
      { label: "p50", colour: 1, read: ({ calls }) => calls.p50Ms },
      { label: "p95", colour: 2, dash: [8, 4], read: ({ calls }) => calls.p95Ms },
      { label: "p99", colour: 3, dash: [2, 3], read: ({ calls }) => calls.p99Ms },
    ],
  },
  {
    heading: "Calls under way",
    format: formatCount,
    leastMax: 5,
    lines: [
      { label: "Running", colour: 1, read: ({ running }) => running },
      { label: "Waiting", colour: 2, dash: [8, 4], read: ({ queued }) => queued },
    ],
  },
  {
    heading: "Processor time of tools",
    format: (share) => `${formatCount(share)} %`,
    leastMax: 10,
    lines: [
      {
        label: "Of one processor",
        colour: 1,
        read: ({ tools }) => tools.reduce((sum, { cpuMsPerSecond }) => sum + cpuMsPerSecond / 10, 0),
      },
    ],
  },
  {
    heading: "Executor memory",
    format: formatBytes,
    leastMax: 64 * 1024 ** 2,
    steps: Array.from({ length: 16 }, (_, power) => 2 ** power * 1024 ** 2),
    lines: [{ label: "Resident", colour: 1, read: ({ executor }) => executor.rssBytes }],
  },
  {
    heading: "Executor restarts",
    format: formatCount,
    leastMax: 3,
    lines: [{ label: "Since the start", colour: 3, read: ({ restarts }) => restarts }],
  },
];

/** Live overview of the engine. */
export class Overview {
  readonly element: HTMLElement;
  readonly #facts = h("div", { class: "tiles" });
  readonly #notice = h("div", { role: "status" });
  readonly #charts = CHARTS.map((spec) => new Chart(spec));
  readonly #fleet = new FleetCard();
  readonly #logins = new LoginsCard();
  readonly #quarantine = h("div");
  readonly #busiest = h("div");

  constructor() {
    this.element = h(
      "div",
      { class: "stack" },
      h("h1", { tabindex: -1 }, "Overview"),
      this.#notice,
      this.#logins.element,
      this.#facts,
      h("div", { class: "charts" }, ...this.#charts.map(({ element }) => element)),
      this.#fleet.element,
      h("div", { class: "columns" }, card("Busiest tools", this.#busiest), card("Quarantine", this.#quarantine)),
    );
    fill(this.#busiest, h("p", { class: "empty" }, "No tool was called in the last second."));
    fill(this.#quarantine, h("p", { class: "empty" }, "No numbers yet."));
  }

  update(history: readonly Stats[], state: FeedState): void {
    this.#showState(state);
    const last = history.at(-1);
    if (last === undefined) return;
    fill(this.#facts, ...facts(last).map(([name, value, note]) => tile(name, value, note)));
    for (const chart of this.#charts) chart.update(history);
    this.#fleet.update(last.executor.fleet);
    this.#logins.update(last.needLogin);
    fill(this.#busiest, busiest(last));
    fill(this.#quarantine, quarantine(last));
  }

  close(): void {
    for (const chart of this.#charts) chart.close();
  }

  #showState(state: FeedState): void {
    const text =
      state.kind === "lost"
        ? `No numbers at the moment: ${state.reason}. The page tries again.`
        : state.kind === "refused"
          ? `The server does not show its numbers to you: ${state.reason}. A key with the role metrics may see them.`
          : "";
    if (text === this.#notice.textContent) return;
    fill(this.#notice, text === "" ? null : h("p", { class: "notice warn" }, text));
  }
}

function facts({
  state,
  uptimeMs,
  executor,
  isolates,
  restarts,
  http,
}: Stats): (readonly [string, Node | string, string])[] {
  const { kind, ready, sandbox } = executor;
  const isOpen = state === "open";
  return [
    [
      "State",
      badge(isOpen ? (ready ? "open" : "no executor") : state, isOpen && ready ? "good" : "warn"),
      `for ${formatSpan(uptimeMs)}`,
    ],
    ["Executor", kind, noteOf(executor)],
    [
      "Sandbox",
      badge(sandbox.kind, sandbox.kind === "off" ? "warn" : "good"),
      sandbox.reason ?? "the system's walls stand",
    ],
    ["Isolates", formatCount(isolates.active), `active, ${isolates.warm} warm`],
    ["Restarts", formatCount(restarts), "of executors"],
    ["Connections", formatCount(http.connections), plural(http.streams, "stream")],
  ];
}

function noteOf({ kind, spareReady, fleet }: Stats["executor"]): string {
  if (fleet !== undefined) return plural(fleet.machines, "machine");
  if (kind === "threads") return "in the server's process";
  return spareReady ? "a spare stands by" : "no spare";
}

function tile(name: string, value: Node | string, note: string): HTMLElement {
  return h(
    "div",
    { class: "tile" },
    h("p", { class: "muted" }, name),
    h("p", { class: "tile-value" }, value),
    h("p", { class: "muted note", title: note }, note),
  );
}

function busiest({ tools }: Stats): HTMLElement {
  if (tools.length === 0) return h("p", { class: "empty" }, "No tool was called in the last second.");
  const rows = tools
    .slice(0, 10)
    .map(({ name, callsPerSecond, errorsPerSecond, cpuMsPerSecond, p99Ms }) => [
      toolLink(name),
      figure(formatCount(callsPerSecond)),
      figure(formatCount(errorsPerSecond)),
      figure(`${formatCount(cpuMsPerSecond / 10)} %`),
      figure(p99Ms === null ? "—" : formatMs(p99Ms)),
    ]);
  return table("Busiest tools", ["Tool", "Calls/s", "Errors/s", "CPU", "p99"], rows);
}

function quarantine({ quarantined }: Stats): HTMLElement {
  if (quarantined.length === 0) return h("p", { class: "empty" }, "No tool has ended an executor.");
  return h(
    "div",
    { class: "stack tight" },
    h("p", {}, "These tools ended an executor. They run in a process of their own until enough calls went well."),
    h(
      "ul",
      { class: "plain-list" },
      ...quarantined.slice(0, 100).map((name) => h("li", {}, toolLink(name), " ", badge("quarantined", "bad"))),
    ),
  );
}

function toolLink(name: string): HTMLElement {
  return h("a", { href: `#/tools/${encodeURIComponent(name)}`, class: "mono" }, name);
}

function figure(text: string): HTMLElement {
  return h("span", { class: "figures" }, text);
}
