import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Bench, script, startExecutor } from "./jobs.ts";

/** Processor time of a call beyond its budget that is tolerated here: other tests may run at the same time. */
const LATE_MS = 250;
const SPIN = script("({ n }) => { let s = 0; for (let i = 0; i < n; i++) s = (s * 31 + i) % 1000003; return s; }");

const BUSY = `setTimeout(() => process.exit(), 60000);
process.stdout.write("busy");
setInterval(() => { const end = Date.now() + 1000; while (Date.now() < end); });`;

/** Processes that keep all processors busy, and leave a call a third of one. Resolves when all of them do. */
async function startLoops(): Promise<readonly ChildProcess[]> {
  const loops = Array.from({ length: 2 * availableParallelism() }, () =>
    spawn(process.execPath, ["-e", BUSY], { stdio: ["ignore", "pipe", "inherit"] }),
  );
  await Promise.all(loops.map(({ stdout }) => once(stdout, "data")));
  return loops;
}

/** Processor time of a process, in milliseconds. */
function processMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "latin1")
    .replace(/^.*\) /s, "")
    .split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

describe("processor time", () => {
  let bench: Bench;
  /** Turns of about 100 ms. */
  let n = 1_000_000;
  beforeAll(async () => {
    bench = await startExecutor("process", 2, { sandbox: "off", spare: false });
    await bench.run(bench.job(SPIN, { n }));
    const { cpuMs } = await bench.run(bench.job(SPIN, { n }));
    n = Math.round((n * 100) / cpuMs);
  });
  afterAll(() => bench[Symbol.asyncDispose]());

  const pid = (): number => Number(bench.events.find(({ name }) => name === "executor:start")?.["pid"]);
  /** Calls one after the other on each worker; returns how they ended and what they were charged. */
  const spin = async (count: number, cpuMs: number) => {
    const limits = { cpuMs, wallMs: 60_000, queueMs: 60_000 };
    const replies = await Promise.all(
      Array.from({ length: count }, () => bench.run(bench.job(SPIN, { n }, { limits }))),
    );
    return {
      ends: new Set(replies.map(({ outcome }) => (outcome.ok ? "ok" : outcome.failure.code))),
      toldMs: replies.reduce((sum, reply) => sum + reply.cpuMs, 0),
      wallMs: Math.max(...replies.map(({ wallMs }) => wallMs)),
    };
  };

  test("a call whose process is stopped for 70 of each 100 ms is not charged for that, and is not cut", async () => {
    let isOver = false;
    const stopping = (async () => {
      while (!isOver) {
        process.kill(pid(), "SIGSTOP");
        await sleep(70);
        process.kill(pid(), "SIGCONT");
        await sleep(30);
      }
    })();
    try {
      const { ends, wallMs } = await spin(4, 250);
      expect(ends).toEqual(new Set(["ok"]));
      // Without the stops it would have taken far less, so the test proves something.
      expect(wallMs).toBeGreaterThan(250);
    } finally {
      isOver = true;
      await stopping;
    }
  });

  describe("beside busy loops", () => {
    let loops: readonly ChildProcess[] = [];
    beforeAll(async () => {
      loops = await startLoops();
    });
    afterAll(() => {
      for (const loop of loops) loop.kill("SIGKILL");
    });

    test("a call is charged what its process used, and is not cut", async () => {
      const beforeMs = processMs(pid());
      const { ends, toldMs } = await spin(8, 250);
      const usedMs = processMs(pid()) - beforeMs;
      expect(ends).toEqual(new Set(["ok"]));
      // The process's own work, on all its threads, is no call's.
      expect(toldMs).toBeLessThan(usedMs * 1.05 + 50);
      expect(toldMs).toBeGreaterThan(usedMs * 0.7 - 50);
    });

    test.each([100, 250])("an endless loop with %i ms is cut when it has used them", async (cpuMs) => {
      const limits = { cpuMs, wallMs: 60_000 };
      for (const body of [
        "() => { for (;;); }",
        "async () => { await null; for (;;); }",
        "() => /^(a+)+$/.test('a'.repeat(60) + 'b')",
      ]) {
        const reply = await bench.run(bench.job(script(body), {}, { limits }));
        expect(reply.outcome).toMatchObject({ failure: { code: "cpu_limit" } });
        expect(reply.cpuMs).toBeGreaterThanOrEqual(cpuMs * 0.95);
        expect(reply.cpuMs).toBeLessThan(cpuMs * 1.25 + LATE_MS);
      }
      expect(bench.events.filter(({ name }) => name === "executor:lost")).toEqual([]);
    });
  });
});

test("each of many workers on fewer processors has its loops cut", async () => {
  const workers = 4 * availableParallelism();
  await using bench = await startExecutor("threads", workers);
  const loop = script("() => { for (;;); }");
  const jobs = Array.from({ length: workers }, (_, at) =>
    bench.job(loop, {}, { tenant: `${at}`, limits: { cpuMs: 60, wallMs: 60_000, queueMs: 60_000 } }),
  );
  const replies = await Promise.all(jobs.map((job) => bench.run(job)));
  expect(new Set(replies.map(({ outcome }) => (outcome.ok ? "ok" : outcome.failure.code)))).toEqual(
    new Set(["cpu_limit"]),
  );
  expect(bench.events.filter(({ name }) => name === "executor:lost")).toEqual([]);
});
