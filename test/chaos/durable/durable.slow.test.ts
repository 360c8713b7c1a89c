import { expect, test } from "vitest";
import { runGuarded } from "../../load/guarded.ts";
import { byLength } from "../../length.ts";
import { COUNTED } from "./order.ts";

interface Report {
  readonly calls: number;
  readonly kills: number;
  readonly endedMeanwhile: number;
  readonly effects: number;
}

const PROGRAM = new URL("programs/durable.ts", import.meta.url);
const SECONDS = byLength(4, 60);
const GUARD_MS = (SECONDS + 230) * 1_000;
const LOAD = byLength(
  ["--calls", "8", "--every", "1500", "--ready", "1", "--aim", "8"],
  ["--calls", "200", "--every", "500", "--ready", "30"],
);
/** At least: on a slow machine, processes that are ready run out. */
const KILLS = byLength(1, SECONDS / 2);

/** A lost call goes on after ten seconds only, which is longer than the short form lasts. */
const ENDED_MEANWHILE = byLength(0, 1);

test.each([["a file", []] as const, ["Redis", ["--redis"]] as const])(
  "no stored call in %s is lost, no effect happens twice, and nothing is in doubt that was not under way, while the processes that run them are killed",
  { timeout: GUARD_MS + 10_000 },
  async (_where, options) => {
    const args = [...options, "--seconds", `${SECONDS}`, ...LOAD];
    const { lines, stderr, code } = await runGuarded(PROGRAM, args, GUARD_MS);
    const report = JSON.parse(lines[0] ?? "null") as Report | null;
    expect({ stderr, code }).toEqual({ stderr: "", code: 0 });
    const effects = COUNTED * (report?.calls ?? 0);
    expect(report).toMatchObject({ twice: [], unwritten: [], baseless: [], wrong: [], effects });
    expect(report?.kills).toBeGreaterThanOrEqual(KILLS);
    expect(report?.endedMeanwhile).toBeGreaterThanOrEqual(ENDED_MEANWHILE);
  },
);
