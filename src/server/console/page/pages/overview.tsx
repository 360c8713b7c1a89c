import type { ComponentChildren } from "preact";
import { Badge, Card, Figure, Notice, Table, ToolLink } from "../elements.tsx";
import { formatBytes, formatCount, formatMs, formatSpan, formatTime, plural } from "../format.ts";
import { incidents, last } from "../stats.ts";
import type { Stats } from "../wire.ts";
import { Chart, type ChartSpec } from "./chart.tsx";
import { FeedNotice } from "./feed-notice.tsx";
import { LoginsCard } from "./logins-card.tsx";

const CHARTS: readonly ChartSpec[] = [
  {
    heading: "Calls per second",
    format: formatCount,
    leastMax: 5,
    lines: [
      { label: "Ended", colour: 1, read: ({ calls }) => calls.perSecond },
      { label: "Failed", colour: 3, dash: "4 4", read: ({ calls }) => calls.errorsPerSecond },
    ],
  },
  {
    heading: "Latency",
    format: formatMs,
    leastMax: 5,
    lines: [
      { label: "p50", colour: 1, read: ({ calls }) => calls.p50Ms },
      { label: "p95", colour: 2, dash: "8 4", read: ({ calls }) => calls.p95Ms },
      { label: "p99", colour: 3, dash: "2 3", read: ({ calls }) => calls.p99Ms },
    ],
  },
  {
    heading: "Calls under way",
    format: formatCount,
    leastMax: 5,
    lines: [
      { label: "Running", colour: 1, read: ({ running }) => running },
      { label: "Waiting", colour: 2, dash: "8 4", read: ({ queued }) => queued },
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
export function Page() {
  return (
    <div class="stack">
      <h1 tabIndex={-1}>Overview</h1>
      <FeedNotice />
      <LoginsCard />
      {last.value?.problems.map((problem) => (
        <Notice key={problem}>{problem}</Notice>
      ))}
      {last.value !== undefined && <Facts {...last.value} />}
      <div class="charts">
        {CHARTS.map((spec) => (
          <Chart key={spec.heading} spec={spec} />
        ))}
      </div>
      <div class="columns">
        <Card heading="Busiest tools">
          <Busiest tools={last.value?.tools ?? []} />
        </Card>
        <Card heading="Quarantine">
          {last.value === undefined ? (
            <p class="empty">No numbers yet.</p>
          ) : (
            <Quarantine names={last.value.quarantined} />
          )}
        </Card>
        <Incidents />
      </div>
    </div>
  );
}

function Facts({ state, uptimeMs, executor, isolates, restarts, http }: Stats) {
  const { kind, ready, sandbox } = executor;
  const isOpen = state === "open";
  const isWell = isOpen && ready;
  return (
    <div class="tiles">
      <Tile name="State" note={`for ${formatSpan(uptimeMs)}`}>
        <Badge text={isOpen ? (ready ? "open" : "no executor") : state} tone={isWell ? "good" : "warn"} />
      </Tile>
      <Tile name="Executor" note={noteOf(executor)}>
        {kind}
      </Tile>
      <Tile name="Sandbox" note={sandbox.reason ?? "the system's walls stand"}>
        <Badge text={sandbox.kind} tone={sandbox.kind === "off" ? "warn" : "good"} />
      </Tile>
      <Tile name="Isolates" note={`active, ${isolates.warm} warm`}>
        {formatCount(isolates.active)}
      </Tile>
      <Tile name="Restarts" note="of executors">
        {formatCount(restarts)}
      </Tile>
      <Tile name="Connections" note={plural(http.streams, "stream")}>
        {formatCount(http.connections)}
      </Tile>
    </div>
  );
}

function noteOf({ kind, spareReady, fleet }: Stats["executor"]): string {
  if (fleet !== undefined) return plural(fleet.machines, "machine");
  if (kind === "threads") return "in the server's process";
  return spareReady ? "a spare stands by" : "no spare";
}

function Tile({ name, note, children }: { name: string; note: string; children?: ComponentChildren }) {
  return (
    <div class="tile">
      <p class="muted">{name}</p>
      <p class="tile-value">{children}</p>
      <p class="muted note" title={note}>
        {note}
      </p>
    </div>
  );
}

function Busiest({ tools }: Pick<Stats, "tools">) {
  return (
    <Table
      label="Busiest tools"
      heads={["Tool", "Calls/s", "Errors/s", "CPU", "p99"]}
      items={tools.slice(0, 10)}
      row={({ name, callsPerSecond, errorsPerSecond, cpuMsPerSecond, p99Ms }) => [
        <ToolLink name={name} />,
        <Figure>{formatCount(callsPerSecond)}</Figure>,
        <Figure>{formatCount(errorsPerSecond)}</Figure>,
        <Figure>{formatCount(cpuMsPerSecond / 10)} %</Figure>,
        <Figure>{p99Ms === null ? "—" : formatMs(p99Ms)}</Figure>,
      ]}
      empty="No tool was called in the last second."
    />
  );
}

function Quarantine({ names }: { names: readonly string[] }) {
  if (names.length === 0) return <p class="empty">No tool has ended an executor.</p>;
  return (
    <div class="stack tight">
      <p>These tools ended an executor. They run in a process of their own until enough calls went well.</p>
      <ul class="plain-list">
        {names.slice(0, 100).map((name) => (
          <li>
            <ToolLink name={name} /> <Badge text="quarantined" tone="bad" />
          </li>
        ))}
      </ul>
    </div>
  );
}

function Incidents() {
  const latest = incidents.value.slice(-10).toReversed();
  if (latest.length === 0) return null;
  return (
    <Card heading="Lately">
      <Table
        label="Lately"
        heads={["Time", "What happened"]}
        items={latest}
        row={({ time, text }) => [formatTime(time), text]}
      />
    </Card>
  );
}
