import { visible } from "./output.ts";
import type { Snapshot } from "./stats-feed.ts";

type Fleet = NonNullable<Snapshot["executor"]["fleet"]>;

/** Words that fit between a label and the end of a line. */
const LINES = /\S.{0,65}(?!\S)|\S{1,66}/gu;
const ID_WIDTH = 26;
const WIDTHS = [16, 10, 10, 8];
const HEADINGS = ["state", "busy", "protocol", "heard"];

/** What there is to say of a server's fleet, in lines for the narrowest screen. */
export function describeFleet(fleet: Fleet): readonly string[] {
  const { machines, slots, busySlots, waitingJobs, isRedisUp, problem, unreadable } = fleet;
  const counts = [
    `${machines} ${machines === 1 ? "machine" : "machines"}`,
    `${busySlots}/${slots} slots busy`,
    `${waitingJobs} waiting`,
    isRedisUp ? "Redis up" : "NO REDIS",
  ];
  if (unreadable > 0) counts.push(`${unreadable} unreadable`);
  return [counts.join("   "), ...(problem === null ? [] : wrap(visible(problem)))];
}

/** Its machines, one on each line. Whoever can write to Redis can write what they are called. */
export function listMachines({ seen, unlisted }: Fleet): readonly string[] {
  const lines = seen.map(({ id, host, state, slots, busySlots, protocols, isSandboxed, silentMs }) => {
    const values = [state, `${busySlots}/${slots}`, protocols.join(","), `${(silentMs / 1_000).toFixed(1)} s`];
    return line(id, values, `${host ?? ""}${isSandboxed ? "" : "  no sandbox"}`);
  });
  return ["", line("machine", HEADINGS, "host"), ...lines, ...(unlisted === 0 ? [] : [`and ${unlisted} more`])];
}

function wrap(text: string): readonly string[] {
  return text.match(LINES) ?? [];
}

function line(id: string, values: readonly string[], last: string): string {
  const columns = values.map((value, at) => column(value, WIDTHS[at] ?? 0));
  return `${visible(id).padEnd(ID_WIDTH)}${columns.join("")}${visible(last)}`.trimEnd();
}

/** What is too long for it is cut off, one space before the next. */
function column(value: string, width: number): string {
  return visible(value)
    .slice(0, width - 1)
    .padEnd(width);
}
