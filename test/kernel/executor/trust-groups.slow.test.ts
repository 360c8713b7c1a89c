import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { test } from "vitest";
import { resolveTrust } from "../../../src/kernel/executor/trust-groups.ts";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";
import { byLength } from "../../length.ts";
import { descendants, isAlive } from "../../processes.ts";
import { script, startExecutor } from "./jobs.ts";

/** V8 cannot interrupt it, so that its executor is ended. */
const WEDGE = "export default () => { for (;;) [].indexOf.call({ length: 2 ** 53 - 1 }, 1); }";
const SLEEP = "export default async ({ n }) => { await new Promise((done) => setTimeout(done, 20)); return n; }";
const GROUPS = [
  { name: "red", tenants: ["red"] },
  { name: "blue", tenants: ["blue"] },
] as const;
const WEDGES = 40;
/** Chaos lasts for so many rounds, and until so many processes are lost; a number of rounds ends it if none are. */
const { rounds: ROUNDS, lost: LOST } = byLength({ rounds: 250, lost: 3 }, { rounds: 2_000, lost: 20 });
const ROUNDS_MAX = 8_000;
const WEDGE_EVERY = 25;
const KILL_EVERY = 100;
/** Calls of a group at once: more would wait for their slots on a busy machine, longer than a queue keeps them. */
const UNDER_WAY_MAX = 32;
/** Built, a process has 36 to 40 MiB of its own; one that runs TypeScript has Node's stripping of types besides. */
const PRIVATE_MAX_MB = 64;
const MIB = 1024 * 1024;

/** Group and process of each event about processes that serve calls, and both for each lost one. */
function watch(engine: Engine): { readonly groupsOf: Map<number, Set<string>>; readonly lost: string[] } {
  const groupsOf = new Map<number, Set<string>>();
  const lost: string[] = [];
  const record = (pid: number, group: string) =>
    void groupsOf.set(pid, (groupsOf.get(pid) ?? new Set<string>()).add(group));
  engine.on("executor:start", ({ pid, group }) => record(pid, group));
  engine.on("executor:recycle", ({ pid, group }) => record(pid, group));
  engine.on("executor:lost", ({ pid, group }) => {
    record(pid, group);
    lost.push(group);
  });
  return { groupsOf, lost };
}

function pidsOf(engine: Engine, name: string): readonly number[] {
  return engine.stats().executor.groups?.find((group) => group.name === name)?.pids ?? [];
}

// Both wait most of their time.
test.concurrent(
  "two trust groups never share a process, and what one loses is nothing to the other",
  async ({ expect }) => {
    const wedges = Array.from({ length: WEDGES }, (_, n) => ({ name: `wedge-${n}`, description: "d", source: WEDGE }));
    await using engine = await createEngine({
      workers: 1,
      executor: { kind: "process", trust: GROUPS },
      limits: { cpuMs: 50 },
      tools: [{ name: "sleep", description: "d", source: SLEEP }, ...wedges],
    });
    const { groupsOf, lost } = watch(engine);
    const shared: unknown[] = [];
    const call = (tenant: string, name: string, n = 0) => engine.execute({ name, arguments: { n } }, { tenant });
    expect((await call("blue", "sleep")).success).toBe(true);
    const blue: ReturnType<typeof call>[] = [];
    const red: ReturnType<typeof call>[] = [];
    /** The call that has to end before the next of its group is made. */
    const room = (calls: typeof blue) => calls.at(-UNDER_WAY_MAX);
    const lostOf = (name: string) => lost.filter((group) => group === name).length;
    for (let n = 0; n < ROUNDS || (lostOf("red") < LOST && n < ROUNDS_MAX); n++) {
      blue.push(call("blue", "sleep", n), call("blue", "sleep", n));
      red.push(call("red", n % WEDGE_EVERY === 0 ? `wedge-${(n / WEDGE_EVERY) % WEDGES}` : "sleep", n));
      if (n % KILL_EVERY === KILL_EVERY - 1) {
        for (const pid of pidsOf(engine, "red").slice(0, 1)) process.kill(pid, "SIGKILL");
      }
      const ofBlue = new Set(pidsOf(engine, "blue"));
      for (const pid of pidsOf(engine, "red")) if (ofBlue.has(pid)) shared.push(pid);
      await Promise.all([delay(10), room(blue), room(red)]);
    }
    const results = await Promise.all(blue);
    await Promise.all(red);
    expect(results.length).toBeGreaterThanOrEqual(500);
    expect(results.filter(({ success, metadata }) => !success || metadata.attempts !== 1)).toEqual([]);
    expect(lostOf("red")).toBeGreaterThanOrEqual(LOST);
    expect(lostOf("blue")).toBe(0);
    expect(shared).toEqual([]);
    // Spares that died unused count for the group that would have had them first.
    expect([...groupsOf].filter(([, groups]) => groups.size > 1)).toEqual([]);
  },
);

/** Memory of a process and its descendants that no other process has, in MiB. */
function privateMb(pid: number): number {
  let bytes = 0;
  for (const each of [pid, ...descendants(pid)]) {
    const rollup = readFileSync(`/proc/${each}/smaps_rollup`, "utf8");
    for (const [, kib] of rollup.matchAll(/^Private_\w+:\s+(\d+) kB$/gm)) bytes += Number(kib) * 1024;
  }
  return bytes / MIB;
}

test.concurrent("an idle group costs little memory, and a rested one none", async ({ expect }) => {
  // The long form waits for the minute that is the default.
  const rest = byLength({ restMs: 1_000 }, {});
  await using bench = await startExecutor("process", 1, { trust: resolveTrust(GROUPS), ...rest });
  const pids = () => bench.executor.stats().groups?.find(({ name }) => name === "blue")?.pids ?? [];
  const tool = script(SLEEP.replace("export default ", ""));
  const run = async (n: number) => (await bench.run(bench.job(tool, { n }, { tenant: "blue" }))).outcome;
  expect(pids()).toEqual([]);
  expect(await run(1)).toEqual({ ok: true, json: "1" });
  const [pid = 0, ...more] = pids();
  expect(more).toEqual([]);
  const mb = privateMb(pid);
  console.log(`private memory of an idle group: ${mb.toFixed(1)} MiB`);
  expect(mb).toBeLessThan(PRIVATE_MAX_MB);
  await expect.poll(pids).toEqual([]);
  await expect.poll(() => isAlive(pid)).toBe(false);
  expect(bench.events).toContainEqual(
    expect.objectContaining({ name: "executor:recycle", group: "blue", reason: "idle" }),
  );
  expect(bench.events.filter(({ name }) => name === "executor:lost")).toEqual([]);
  // It wakes with the next call.
  expect(await run(2)).toEqual({ ok: true, json: "2" });
});
