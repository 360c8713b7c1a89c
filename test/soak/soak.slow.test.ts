import { expect, test } from "vitest";
import { type Guarded, runGuarded } from "../load/guarded.ts";
import { byLength, IS_LONG } from "../length.ts";
import type { SoakReport } from "./report.ts";

const GUARD_MS = 400_000;
const CALLS = byLength(6_000, 20_000);
const PROGRAM = new URL("program.ts", import.meta.url);

async function soak(...args: string[]): Promise<[SoakReport, Guarded]> {
  const ended = await runGuarded(PROGRAM, ["--seed", "1", "--settle", "260", ...args], GUARD_MS);
  expect({ code: ended.code, stderr: ended.stderr }).toEqual({ code: 0, stderr: "" });
  return [JSON.parse(ended.lines.at(-1) ?? "null") as SoakReport, ended];
}

/** Resident memory, and what executors hold, take more calls than these to settle: that is for the whole run to show. */
const SETTLED = [
  "host heap, after a collection",
  "host memory outside the heap",
  "host handles",
  "host threads",
  "host files",
  "executors",
  "executors' files",
] as const;

test(`${CALLS} calls over twenty tools leave nothing behind in the host`, { timeout: GUARD_MS + 10_000 }, async () => {
  const [{ load, trends, childrenLeft }] = await soak("--calls", String(CALLS));
  expect(load.firstComplaints).toEqual([]);
  expect(load.calls).toBeGreaterThanOrEqual(CALLS);
  expect(SETTLED.filter((name) => trends[name].verdict === "grows")).toEqual([]);
  expect(childrenLeft).toEqual([]);
});

// `trend.test.ts` shows in every run what is found to grow.
test.runIf(IS_LONG)(
  "a host that keeps something of every call is found to grow",
  { timeout: GUARD_MS + 10_000 },
  async () => {
    const [{ load, trends }] = await soak("--calls", "6000", "--leak", "4000");
    expect(load.firstComplaints).toEqual([]);
    expect(trends["host heap, after a collection"].verdict).toBe("grows");
    expect(trends["host handles"].verdict).toBe("flat");
  },
);
