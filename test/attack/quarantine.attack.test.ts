import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { createEngine, type ToolResult } from "../../src/glovebox/index.ts";

/** For some arguments the tool's turn cannot be interrupted, so that its process is ended. */
const TOOL = "export default ({ n }) => { while (n < 0) [].indexOf.call({ length: 2 ** 53 - 1 }, 1); return n; }";
const HOSTILE_TENANTS = 4;
/** Three strikes, and some refusals. */
const HOSTILE_CALLS = 5;
const QUIET_CALLS = 150;
const EVERY_MS = 20;

/** Found by a review: suspects of all tenants shared one process, and each crash delayed all who called the tool. */
test("calls keep their usual time while others end executors with the tool", async () => {
  await using engine = await createEngine({
    workers: 2,
    limits: { cpuMs: 100 },
    tools: [{ name: "shared", description: "d", source: TOOL }],
  });
  let lost = 0;
  engine.on("executor:lost", () => lost++);
  const failed: ToolResult[] = [];
  /** Calls at a steady pace, and their times in order. */
  const timesMs = async (isOver: (calls: number) => boolean): Promise<number[]> => {
    const calls: Promise<number>[] = [];
    const call = async (): Promise<number> => {
      const beganMs = performance.now();
      const result = await engine.execute({ name: "shared", arguments: { n: 1 } }, { tenant: "innocent" });
      if (!result.success) failed.push(result);
      return performance.now() - beganMs;
    };
    for (let n = 0; !isOver(n); n++) {
      calls.push(call());
      await delay(EVERY_MS);
    }
    return (await Promise.all(calls)).toSorted((a, b) => a - b);
  };
  const median = (sorted: readonly number[]): number => sorted[sorted.length >> 1] ?? 0;
  const usualMs = median(await timesMs((n) => n === QUIET_CALLS));
  let isOver = false;
  const endingMs: number[] = [];
  const calls = timesMs(() => isOver);
  await Promise.all(
    Array.from({ length: HOSTILE_TENANTS }, async (_, tenant) => {
      for (let n = 1; n <= HOSTILE_CALLS; n++) {
        const beganMs = performance.now();
        const call = { name: "shared", arguments: { n: -n } };
        const { error } = await engine.execute(call, { tenant: `hostile-${tenant}` });
        if (error?.code === "cpu_limit") endingMs.push(performance.now() - beganMs);
      }
    }),
  );
  isOver = true;
  const attackedMs = await calls;
  const ofMs = `${median(attackedMs).toFixed(1)} ms (longest ${attackedMs.at(-1)?.toFixed(0)} of ${attackedMs.length})`;
  console.log(`median of a call: usually ${usualMs.toFixed(1)} ms, while ${lost} executors ended ${ofMs}`);
  expect(lost).toBeGreaterThan(2 * HOSTILE_TENANTS);
  expect(failed).toEqual([]);
  // An executor takes a second to end: who waited for one would be as late.
  expect(median(attackedMs)).toBeLessThan(Math.min(...endingMs) / 4);
});
