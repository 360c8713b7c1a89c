import { expect, test } from "vitest";
import { runGuarded } from "../load/guarded.ts";
import type { ChaosReport } from "./report.ts";

const SECONDS = 8;
/** Calls may take their 30 seconds, and be waited for twice as long. */
const GUARD_MS = 400_000;
const PROGRAM = new URL("program.ts", import.meta.url);

test(
  "no innocent call fails, ends twice or has an effect twice while executors are killed under it",
  { timeout: GUARD_MS + 10_000 },
  async () => {
    const args = ["--seconds", String(SECONDS), "--patient"];
    const { lines, stderr, code } = await runGuarded(PROGRAM, args, GUARD_MS);
    const seed = lines[0];
    const report = JSON.parse(lines[1] ?? "null") as ChaosReport | null;
    expect({ seed, complaints: report?.innocents.firstComplaints, stderr, code }).toEqual({
      seed,
      complaints: [],
      stderr: "",
      code: 0,
    });
    expect(report).toMatchObject({ childrenLeft: [], effects: { happened: report?.effects.expected } });
    // Where nothing was killed and nobody attacked, nothing was shown.
    expect(report?.restarts["killed"]).toBeGreaterThan(0);
    expect(Object.keys(report?.hostiles ?? {}).length).toBeGreaterThan(5);
    expect(report?.effects.happened).toBeGreaterThan(0);
  },
);
