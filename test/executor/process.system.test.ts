import { describe, expect, test } from "vitest";
import type { CapabilityResponse, CapabilityCall } from "../../src/executor/executor.ts";
import { MODES } from "./bubblewrap.ts";
import { script, startExecutor, type TestEvent } from "./jobs.ts";
import { executorSuite } from "./suite.ts";

executorSuite("process");

const WEDGE = "() => { Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1); }";
const SLOW =
  "async () => { console.log('begun'); await new Promise((done) => setTimeout(done, 2_000)); return 'done'; }";

/** A tool that says when it has begun, and then spins. */
const spinning = (until: string) => `async () => {
  console.log("begun");
  await new Promise((done) => setTimeout(done, 1));
  for (let i = 0; ${until}; i++);
  return "done";
}`;

/** Resolves when a job with this `onLog` has said so many lines. */
function heard(lines: number): { onLog: () => void; all: Promise<void> } {
  const { promise, resolve } = Promise.withResolvers<void>();
  let left = lines;
  return { onLog: () => void (--left === 0 && resolve()), all: promise };
}

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));

const childPid = (events: readonly TestEvent[]): number =>
  Number(events.findLast(({ name, ward }) => name === "executor:start" && ward === "main")?.["pid"] ?? 0);

describe.each(MODES)("a lost executor process, sandbox: %s", (sandbox) => {
  const start = (workers = 1) => startExecutor("process", workers, { sandbox });

  test("ends a turn that only SIGKILL ends with cpu_limit, and runs the innocent calls again", async () => {
    await using bench = await start();
    const { onLog, all } = heard(5);
    const innocents = Array.from({ length: 5 }, () => bench.run(bench.job(script(SLOW), {}, { onLog })));
    await all;
    const culprit = await bench.run(bench.job(script(WEDGE), {}, { limits: { cpuMs: 50 } }));
    expect(culprit.outcome).toMatchObject({ ok: false, failure: { code: "cpu_limit" } });
    for (const reply of await Promise.all(innocents)) {
      expect(reply).toMatchObject({ outcome: { ok: true, json: '"done"' }, attempts: 2 });
    }
    expect(bench.events).toContainEqual(expect.objectContaining({ name: "executor:lost", reason: "overrun" }));
  });

  test("blames a crash on the call whose turn it was, and on nobody else", async () => {
    await using bench = await start();
    const innocents = Array.from({ length: 5 }, () => bench.run(bench.job(script(SLOW))));
    const { onLog, all } = heard(1);
    const job = bench.job(script(spinning("true")), {}, { onLog, limits: { cpuMs: 20_000 } });
    const culprit = bench.run(job);
    await all;
    await pause(300);
    process.kill(childPid(bench.events), "SIGABRT");
    expect((await culprit).outcome).toMatchObject({ ok: false, failure: { code: "executor_crashed" } });
    for (const reply of await Promise.all(innocents)) expect(reply.outcome).toMatchObject({ ok: true, json: '"done"' });
    expect(bench.events).toContainEqual(expect.objectContaining({ name: "executor:lost", reason: "crash" }));
  });

  test("runs the suspects of a crash apart, where two workers were in a turn", async () => {
    await using bench = await start(2);
    const { onLog, all } = heard(2);
    const extra = { onLog, limits: { cpuMs: 20_000 } };
    const suspects = [1, 2].map(() => bench.run(bench.job(script(spinning("i < 4e9")), {}, extra)));
    await all;
    await pause(200);
    process.kill(childPid(bench.events), "SIGABRT");
    for (const reply of await Promise.all(suspects)) {
      expect(reply).toMatchObject({ outcome: { ok: true, json: '"done"' }, attempts: 2 });
    }
    expect(bench.events).toContainEqual(
      expect.objectContaining({ name: "executor:lost", reason: "crash", culprits: [] }),
    );
  });

  test("ends a call whose memory V8 does not count with memory_limit", async () => {
    await using bench = await start();
    const tool = script("() => 'a,'.repeat(2e8).split(',').length", { memoryMb: 32 });
    const culprit = await bench.run(bench.job(tool, {}, { limits: { cpuMs: 10_000 } }));
    expect(culprit.outcome).toMatchObject({ ok: false, failure: { code: "memory_limit" } });
  });

  test("finds out which of the calls that went together wedged it", async () => {
    await using bench = await start();
    const tool = script(
      "({ n }) => { if (n === 20) Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1); return n; }",
    );
    const run = (n: number) => bench.run(bench.job(tool, { n }, { limits: { cpuMs: 200 } }));
    for (let n = 0; n < 12; n++) await run(n);
    const replies = await Promise.all(Array.from({ length: 50 }, (_, n) => run(n)));
    for (const [n, { outcome }] of replies.entries()) {
      if (n === 20) expect(outcome).toMatchObject({ ok: false, failure: { code: "cpu_limit" } });
      else expect(outcome).toEqual({ ok: true, json: `${n}` });
    }
  });

  test("blames nobody when it is killed from outside", async () => {
    await using bench = await start();
    const { onLog, all } = heard(5);
    const replies = Array.from({ length: 5 }, () => bench.run(bench.job(script(SLOW), {}, { onLog })));
    await all;
    process.kill(childPid(bench.events), "SIGKILL");
    for (const reply of await Promise.all(replies)) expect(reply.outcome).toMatchObject({ ok: true, json: '"done"' });
    expect(bench.events).toContainEqual(
      expect.objectContaining({ name: "executor:lost", reason: "killed", culprits: [] }),
    );
  });

  test("repeats to the tool what the host answered before, under the same steps", async () => {
    await using bench = await start();
    const asked: CapabilityCall[] = [];
    const ask = (asking: CapabilityCall): Promise<CapabilityResponse> => {
      asked.push(asking);
      return Promise.resolve({ kind: "value", nowMs: 1_000, json: `${asking.step}` });
    };
    const body = `async (i, { host }) => {
      const first = await host.counter.add({ at: Date.now(), random: Math.random() });
      console.log("answered");
      await new Promise((done) => setTimeout(done, 400));
      return first;
    }`;
    const { onLog, all } = heard(1);
    const reply = bench.run(bench.job(script(body), {}, { ask, onLog }));
    await all;
    process.kill(childPid(bench.events), "SIGKILL");
    expect(await reply).toMatchObject({ outcome: { ok: true, json: "1" }, attempts: 2 });
    expect(asked).toHaveLength(2);
    expect(asked[1]).toEqual({ ...asked[0], attempt: 2 });
  });

  test("knows whom to blame even when nobody waits for the call any more", async () => {
    await using bench = await start();
    const tool = script(WEDGE);
    const reply = await bench.run(bench.job(tool, {}, { limits: { cpuMs: 300, wallMs: 60 } }));
    expect(reply.outcome).toMatchObject({ ok: false, failure: { code: "wall_limit" } });
    await expect
      .poll(() => bench.events, { timeout: 60_000 })
      .toContainEqual(expect.objectContaining({ name: "executor:lost", reason: "overrun", culprits: [tool.name] }));
    expect(bench.executor.stats().quarantined).toEqual([tool.name]);
  });

  test("gives a call up that loses its executor again and again", async () => {
    await using bench = await start();
    const asking = script("(input, { host }) => host.any.thing()");
    const kill = (): Promise<CapabilityResponse> => {
      // It is moved to quarantine on the way, because it might be why.
      const started = bench.events.findLast(({ name }) => name === "executor:start");
      process.kill(Number(started?.["pid"]), "SIGKILL");
      return new Promise(() => undefined);
    };
    const reply = bench.run(bench.job(asking, {}, { ask: kill }));
    expect(await reply).toMatchObject({ outcome: { ok: false, failure: { code: "executor_lost" } }, attempts: 10 });
  });

  test("refuses a tool that has ended three executors, and lets others run", async () => {
    await using bench = await start();
    const tool = script(WEDGE);
    for (let strike = 0; strike < 3; strike++) {
      await bench.run(bench.job(tool, {}, { limits: { cpuMs: 20 } }));
    }
    expect(bench.executor.refusedForMs(tool, "")).toBeGreaterThan(0);
    expect(bench.executor.stats().quarantined).toEqual([tool.name]);
    const other = await bench.run(bench.job(script("() => 1")));
    expect(other.outcome).toEqual({ ok: true, json: "1" });
  });

  test("runs tools in a process that has neither files nor children nor the host's environment", async () => {
    await using bench = await start();
    const body = "() => [typeof process, typeof require, typeof Buffer, typeof WebAssembly, typeof SharedArrayBuffer]";
    const reply = await bench.run(bench.job(script(body)));
    expect(reply.outcome).toEqual({ ok: true, json: JSON.stringify(Array.from({ length: 5 }, () => "undefined")) });
  });
});
