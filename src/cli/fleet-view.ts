import { visible } from "./output.ts";
import type { Snapshot } from "./stats-feed.ts";

type Fleet = NonNullable<Snapshot["executor"]["fleet"]>;

/** Text that fits on one line after a label. */
const LINES = /\S.{0,65}(?!\S)|\S{1,66}/gu;
const ID_WIDTH = 26;
const WIDTHS = [16, 10, 10, 8];
const HEADINGS = ["state", "busy", "protocol", "heard"];

/** Describes a server's fleet, in lines for the narrowest screen. */
export function describeFleet(fleet: Fleet): readonly string[] {
  const { machines, slots, busySlots, waitingJobs, isRedisUp, problem, unreadable } = fleet;
  const counts = [
    `${machines} ${machines === 1 ? "machine" : "machines"}`,
    `${busySlots}/${slots} slots busy`,
    `${waitingJobs} waiting`,
    isRedisUp ? "Redis up" : "NO REDIS",
  ];
  if (unreadable > 0) counts.push(`${unreadable} unreadable`);
  return [counts.join("   "), ...(problem === null ? [] : wrap(problem))];
}

/** Lists machines, one per line. Their names are untrusted: every client of Redis can write them. */
export function listMachines({ seen, unlisted }: Fleet): readonly string[] {
  const lines = seen.map(({ id, host, state, slots, busySlots, protocols, isSandboxed, silentMs }) => {
    const values = [state, `${busySlots}/${slots}`, protocols.join(","), `${(silentMs / 1_000).toFixed(1)} s`];
    return line(id, values, `${host ?? ""}${isSandboxed ? "" : "  no sandbox"}`);
  });
  return ["", line("machine", HEADINGS, "host"), ...lines, ...(unlisted === 0 ? [] : [`and ${unlisted} more`])];
}

/** A text of others in lines for the narrowest screen. */
export function wrap(text: string): readonly string[] {
  return visible(text).match(LINES) ?? [];
}

function line(id: string, values: readonly string[], last: string): string {
  const columns = values.map((value, at) => column(value, WIDTHS[at] ?? 0));
  return `${visible(id).padEnd(ID_WIDTH)}${columns.join("")}${visible(last)}`.trimEnd();
}

/** Truncates a text so that at least one space follows. */
function column(value: string, width: number): string {
  return visible(value)
    .slice(0, width - 1)
    .padEnd(width);
}
