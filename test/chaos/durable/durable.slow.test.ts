import { expect, test } from "vitest";
import { runGuarded } from "../../load/guarded.ts";
import { byLength } from "../../length.ts";

interface Report {
  readonly calls: number;
  readonly kills: number;
  readonly effects: number;
  readonly twice: readonly string[];
  readonly wrong: readonly string[];
}

const PROGRAM = new URL("programs/durable.ts", import.meta.url);
const SECONDS = byLength(8, 60);
const GUARD_MS = (SECONDS + 170) * 1_000;

test.each([["a file", []] as const, ["Redis", ["--redis"]] as const])(
  "no stored call in %s is lost, and no effect happens twice, while the processes that run them are killed",
  { timeout: GUARD_MS + 10_000 },
  async (_where, options) => {
    const load = byLength(["--calls", "12", "--every", "5000"], ["--calls", "200", "--every", "5000"]);
    const { lines, stderr, code } = await runGuarded(
      PROGRAM,
      [...options, "--seconds", `${SECONDS}`, ...load],
      GUARD_MS,
    );
    const report = JSON.parse(lines[0] ?? "null") as Report | null;
    expect({ stderr, code }).toEqual({ stderr: "", code: 0 });
    expect(report).toMatchObject({ twice: [], wrong: [], effects: 3 * (report?.calls ?? 0) });
    expect(report?.kills).toBeGreaterThan(0);
  },
);
