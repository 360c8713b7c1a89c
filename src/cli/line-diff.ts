import { structuredPatch } from "diff";
import { isObject } from "../kernel/base/json.ts";

/** Limits of one comparison: texts of tools are hostile, and the effort grows with the number of changes. */
const CHANGES_MAX = 1_000;
const TEXT_MAX = 256 * 1024;
const LINES_SHOWN_MAX = 60;

/** The lines that differ, those of `before` with `-` and those of `after` with `+`, and some context. */
export function lineDiff(before: string, after: string): readonly string[] {
  const patch =
    before.length + after.length > TEXT_MAX
      ? undefined
      : structuredPatch("", "", before, after, "", "", { context: 2, maxEditLength: CHANGES_MAX });
  const lines =
    patch === undefined
      ? [...signed("-", before), ...signed("+", after)]
      : patch.hunks.flatMap((hunk) => hunk.lines.filter((line) => !line.startsWith("\\")).map(spaced));
  const more = lines.length - LINES_SHOWN_MAX;
  return more > 0 ? [...lines.slice(0, LINES_SHOWN_MAX), `… ${more} more lines`] : lines;
}

function signed(sign: string, text: string): readonly string[] {
  return text
    .split("\n", LINES_SHOWN_MAX)
    .map((line) => `${sign} ${line.length > TEXT_MAX ? `${line.slice(0, TEXT_MAX)}…` : line}`);
}

function spaced(line: string): string {
  return `${line.slice(0, 1)} ${line.slice(1)}`;
}

/** JSON of several lines that ignores the order of members: equal values have equal texts. */
export function comparableJson(value: unknown): string {
  return JSON.stringify(value ?? null, (_name, part: unknown) => (isObject(part) ? byName(part) : part), 2);
}

function byName(value: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}
