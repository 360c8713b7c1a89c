import { describe, expect, test } from "vitest";
import type { Answer, Ask } from "../../src/executor/executor.ts";
import { script, startExecutor } from "./jobs.ts";
import { executorSuite } from "./suite.ts";

executorSuite("process");

const WEDGE = "() => { Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1); }";
const SLOW = "async () => { await new Promise((done) => setTimeout(done, 400)); return 'done'; }";

const childPid = (events: { kind: string }[]): number => {
  const started = events.filter((event) => event.kind === "started").at(-1) as { pid: number } | undefined;
  return started?.pid ?? 0;
};

describe("a lost executor process", () => {
  test("ends a turn that only SIGKILL ends with cpu_limit, and runs the innocent calls again", async () => {
    await using bench = await startExecutor("process");
    const innocents = Array.from({ length: 5 }, () => bench.executor.run(bench.job(script(SLOW))));
    const culprit = await bench.executor.run(bench.job(script(WEDGE), {}, { limits: { cpuMs: 50 } }));
    expect(culprit.outcome).toMatchObject({ ok: false, failure: { code: "cpu_limit" } });
    for (const reply of await Promise.all(innocents)) {
      expect(reply).toMatchObject({ outcome: { ok: true, json: '"done"' }, attempts: 2 });
    }
    expect(bench.events).toContainEqual(expect.objectContaining({ kind: "lost", reason: "overrun" }));
  });

  test("blames a crash on the call whose turn it was, and on nobody else", async () => {
    await using bench = await startExecutor("process");
    const innocents = Array.from({ length: 5 }, () => bench.executor.run(bench.job(script(SLOW))));
    const culprit = bench.executor.run(bench.job(script("() => { for (;;); }"), {}, { limits: { cpuMs: 5_000 } }));
    await new Promise((done) => setTimeout(done, 200));
    process.kill(childPid(bench.events), "SIGABRT");
    expect((await culprit).outcome).toMatchObject({ ok: false, failure: { code: "executor_crashed" } });
    for (const reply of await Promise.all(innocents)) expect(reply.outcome).toMatchObject({ ok: true, json: '"done"' });
    expect(bench.events).toContainEqual(expect.objectContaining({ kind: "lost", reason: "crash" }));
  });

  test("runs the suspects of a crash apart, where two workers were in a turn", async () => {
    await using bench = await startExecutor("process", 2);
    const spin = "() => { for (let i = 0; i < 4e8; i++); return 'done'; }";
    const limits = { cpuMs: 20_000 };
    const suspects = [1, 2].map(() => bench.executor.run(bench.job(script(spin), {}, { limits })));
    await new Promise((done) => setTimeout(done, 150));
    process.kill(childPid(bench.events), "SIGABRT");
    for (const reply of await Promise.all(suspects)) {
      expect(reply).toMatchObject({ outcome: { ok: true, json: '"done"' }, attempts: 2 });
    }
    expect(bench.events).toContainEqual({ kind: "lost", reason: "crash", culprits: [] });
  });

  test("ends a call whose memory V8 does not count with memory_limit", async () => {
    await using bench = await startExecutor("process");
    const tool = script("() => 'a,'.repeat(2e8).split(',').length", { memoryMb: 32 });
    const culprit = await bench.executor.run(bench.job(tool, {}, { limits: { cpuMs: 10_000 } }));
    expect(culprit.outcome).toMatchObject({ ok: false, failure: { code: "memory_limit" } });
  });

  test("blames nobody when it is killed from outside", async () => {
    await using bench = await startExecutor("process");
    const replies = Array.from({ length: 5 }, () => bench.executor.run(bench.job(script(SLOW))));
    await new Promise((done) => setTimeout(done, 100));
    process.kill(childPid(bench.events), "SIGKILL");
    for (const reply of await Promise.all(replies)) expect(reply.outcome).toMatchObject({ ok: true, json: '"done"' });
    expect(bench.events).toContainEqual({ kind: "lost", reason: "killed", culprits: [] });
  });

  test("repeats to the tool what the host answered before, under the same steps", async () => {
    await using bench = await startExecutor("process");
    const asked: Ask[] = [];
    const ask = (asking: Ask): Promise<Answer> => {
      asked.push(asking);
      return Promise.resolve({ kind: "value", nowMs: 1_000, json: `${asking.step}` });
    };
    const body = `async (i, { host }) => {
      const first = await host.counter.add({ at: Date.now(), random: Math.random() });
      await new Promise((done) => setTimeout(done, 300));
      return first;
    }`;
    const reply = bench.executor.run(bench.job(script(body), {}, { ask }));
    await new Promise((done) => setTimeout(done, 150));
    process.kill(childPid(bench.events), "SIGKILL");
    expect(await reply).toMatchObject({ outcome: { ok: true, json: "1" }, attempts: 2 });
    expect(asked).toHaveLength(2);
    expect(asked[1]).toEqual(asked[0]);
  });

  test("gives a call up after three executors", async () => {
    await using bench = await startExecutor("process");
    const reply = bench.executor.run(bench.job(script("() => new Promise(() => {})")));
    for (let kill = 0; kill < 3; kill++) {
      const pid = childPid(bench.events);
      await new Promise((done) => setTimeout(done, 100));
      process.kill(pid, "SIGKILL");
      await expect.poll(() => childPid(bench.events)).not.toBe(pid);
    }
    expect((await reply).outcome).toMatchObject({ ok: false, failure: { code: "executor_lost" } });
  });

  test("refuses a tool that has ended three executors, and lets others run", async () => {
    await using bench = await startExecutor("process");
    const tool = script(WEDGE);
    for (let strike = 0; strike < 3; strike++) {
      await bench.executor.run(bench.job(tool, {}, { limits: { cpuMs: 20 } }));
    }
    expect(bench.executor.refusedForMs(tool.name)).toBeGreaterThan(0);
    expect(bench.executor.stats().quarantined).toEqual([tool.name]);
    const other = await bench.executor.run(bench.job(script("() => 1")));
    expect(other.outcome).toEqual({ ok: true, json: "1" });
  });

  test("runs tools in a process that has neither files nor children nor the host's environment", async () => {
    await using bench = await startExecutor("process");
    const body = "() => [typeof process, typeof require, typeof fetch, typeof WebAssembly, typeof SharedArrayBuffer]";
    const reply = await bench.executor.run(bench.job(script(body)));
    expect(reply.outcome).toEqual({ ok: true, json: JSON.stringify(Array.from({ length: 5 }, () => "undefined")) });
  });
});
