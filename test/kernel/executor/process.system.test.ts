import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CapabilityResponse, CapabilityCall } from "../../../src/kernel/executor/executor.ts";
import { MODES } from "./bubblewrap.ts";
import { type Bench, script, startExecutor, type TestEvent } from "./jobs.ts";
import { executorSuite } from "./suite.ts";

executorSuite("process");

const WEDGE = "() => { Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1); }";
/** Waits for the host's answer, which its first attempt does not get. */
const WAITING = "async (input, { host }) => { await host.gate.pass(); return 'done'; }";
/** Spins at its first attempt, and says so from within that turn. */
const SPINNING = `async (input, { host }) => {
  if (await host.gate.pass()) return "done";
  for (let n = 1; ; n++) if (n % 1e5 === 0) console.log("spins", n);
}`;

/** Answers from the second attempt on, with `true`; `all` resolves when so many calls wait for it at their first one. */
function gate(calls: number) {
  const { promise: all, resolve } = Promise.withResolvers<void>();
  let left = calls;
  const ask = ({ attempt, nowMs }: CapabilityCall): Promise<CapabilityResponse> => {
    if (attempt > 1) return Promise.resolve({ kind: "value", nowMs, json: "true" });
    if (--left === 0) resolve();
    return new Promise(() => undefined);
  };
  return { ask, all };
}

/** Has a tool that spins know which attempt it is; `begun` resolves in the turn that spins. */
function spins() {
  const { promise: begun, resolve } = Promise.withResolvers<void>();
  const ask = ({ attempt, nowMs }: CapabilityCall): Promise<CapabilityResponse> =>
    Promise.resolve({ kind: "value", nowMs, json: `${attempt > 1}` });
  return { ask, begun, onLog: () => resolve(), limits: { cpuMs: 20_000 } };
}

const childPid = (events: readonly TestEvent[]): number =>
  Number(events.findLast(({ name, ward }) => name === "executor:start" && ward === "main")?.["pid"] ?? 0);

const lost = (reason: string, more: object = {}) => expect.objectContaining({ name: "executor:lost", reason, ...more });

type Extra = Parameters<Bench["job"]>;

/** One executor for the tests of a group: a loss leaves nothing behind that concerns the next test. */
function useExecutor(options: Parameters<typeof startExecutor>[2]) {
  let bench: Bench;
  beforeAll(async () => {
    bench = await startExecutor("process", 1, options);
  });
  afterAll(() => bench[Symbol.asyncDispose]());
  return {
    run: (...args: Extra) => bench.run(bench.job(...args)),
    kill: (signal: NodeJS.Signals) => process.kill(childPid(bench.events), signal),
    refusedForMs: (tool: Extra[0]) => bench.executor.refusedForMs(tool, ""),
    /** What it tells from now on, and which tools are quarantined from now on. */
    fromNow: () => {
      const before = bench.events.length;
      const known = new Set(bench.executor.stats().quarantined);
      return {
        events: () => bench.events.slice(before),
        quarantined: () => bench.executor.stats().quarantined.filter((name) => !known.has(name)),
      };
    },
  };
}

// The sandbox is around the process: what depends on how that ends is tested with and without one.
describe.each(MODES)("a lost executor process, sandbox: %s", (sandbox) => {
  const { run, kill, fromNow } = useExecutor({ sandbox, rssMaxMb: 512 });

  const waitingCalls = async () => {
    const { ask, all } = gate(5);
    const replies = Array.from({ length: 5 }, () => run(script(WAITING), {}, { ask }));
    await all;
    return replies;
  };

  test("ends a turn that only SIGKILL ends with cpu_limit, and runs the innocent calls again", async () => {
    const { events } = fromNow();
    const innocents = await waitingCalls();
    const culprit = await run(script(WEDGE), {}, { limits: { cpuMs: 50 } });
    expect(culprit.outcome).toMatchObject({ ok: false, failure: { code: "cpu_limit" } });
    for (const reply of await Promise.all(innocents)) {
      expect(reply).toMatchObject({ outcome: { ok: true, json: '"done"' }, attempts: 2 });
    }
    expect(events()).toContainEqual(lost("overrun"));
  });

  test("blames a crash on the call whose turn it was, and on nobody else", async () => {
    const { events } = fromNow();
    const innocents = await waitingCalls();
    const { begun, ...extra } = spins();
    const culprit = run(script(SPINNING), {}, extra);
    await begun;
    kill("SIGABRT");
    expect((await culprit).outcome).toMatchObject({ ok: false, failure: { code: "executor_crashed" } });
    for (const reply of await Promise.all(innocents)) expect(reply.outcome).toMatchObject({ ok: true, json: '"done"' });
    expect(events()).toContainEqual(lost("crash"));
  });

  test("ends a call whose memory V8 does not count with memory_limit", async () => {
    const tool = script("() => 'a,'.repeat(1e8).split(',').length", { memoryMb: 32 });
    const culprit = await run(tool, {}, { limits: { cpuMs: 10_000 } });
    expect(culprit.outcome).toMatchObject({ ok: false, failure: { code: "memory_limit" } });
  });

  test("blames nobody when it is killed from outside", async () => {
    const { events } = fromNow();
    const replies = await waitingCalls();
    kill("SIGKILL");
    for (const reply of await Promise.all(replies)) expect(reply.outcome).toMatchObject({ ok: true, json: '"done"' });
    expect(events()).toContainEqual(lost("killed", { culprits: [] }));
  });

  test("runs tools in a process that has neither files nor children nor the host's environment", async () => {
    const body = "() => [typeof process, typeof require, typeof Buffer, typeof WebAssembly, typeof SharedArrayBuffer]";
    const reply = await run(script(body));
    expect(reply.outcome).toEqual({ ok: true, json: JSON.stringify(Array.from({ length: 5 }, () => "undefined")) });
  });
});

describe("calls of a lost executor process", () => {
  const { run, kill, refusedForMs, fromNow } = useExecutor({ spare: false });

  test("runs the suspects of a crash apart, where two workers were in a turn", async () => {
    await using two = await startExecutor("process", 2, { spare: false });
    const both = [spins(), spins()];
    const suspects = both.map(({ begun: _begun, ...extra }) => two.run(two.job(script(SPINNING), {}, extra)));
    await Promise.all(both.map(({ begun }) => begun));
    process.kill(childPid(two.events), "SIGABRT");
    for (const reply of await Promise.all(suspects)) {
      expect(reply).toMatchObject({ outcome: { ok: true, json: '"done"' }, attempts: 2 });
    }
    expect(two.events).toContainEqual(lost("crash", { culprits: [] }));
    expect(two.events).toContainEqual(expect.objectContaining({ name: "executor:start", ward: "quarantine" }));
  });

  test("finds out which of the calls that went together wedged it", async () => {
    const tool = script(
      "({ n }) => { if (n === 20) Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1); return n; }",
    );
    const limits = { cpuMs: 200 };
    const call = (n: number) => run(tool, { n }, { limits });
    for (let n = 0; n < 12; n++) await call(n);
    const replies = await Promise.all(Array.from({ length: 50 }, (_, n) => call(n)));
    for (const [n, { outcome }] of replies.entries()) {
      if (n === 20) expect(outcome).toMatchObject({ ok: false, failure: { code: "cpu_limit" } });
      else expect(outcome).toEqual({ ok: true, json: `${n}` });
    }
  });

  test("repeats to the tool what the host answered before, under the same steps", async () => {
    const asked: CapabilityCall[] = [];
    const { ask: pass, all } = gate(1);
    const ask = (asking: CapabilityCall): Promise<CapabilityResponse> => {
      if (asking.capability === "gate") return pass(asking);
      asked.push(asking);
      return Promise.resolve({ kind: "value", nowMs: 1_000, json: `${asking.step}` });
    };
    const body = `async (i, { host }) => {
      const first = await host.counter.add({ at: Date.now(), random: Math.random() });
      await host.gate.pass();
      return first;
    }`;
    const reply = run(script(body), {}, { ask });
    await all;
    kill("SIGKILL");
    expect(await reply).toMatchObject({ outcome: { ok: true, json: "1" }, attempts: 2 });
    expect(asked).toHaveLength(2);
    expect(asked[1]).toEqual({ ...asked[0], attempt: 2 });
  });

  test("knows whom to blame even when nobody waits for the call any more", async () => {
    const { events, quarantined } = fromNow();
    const tool = script(WEDGE);
    const reply = await run(tool, {}, { limits: { cpuMs: 300, wallMs: 60 } });
    expect(reply.outcome).toMatchObject({ ok: false, failure: { code: "wall_limit" } });
    await expect.poll(events, { timeout: 60_000 }).toContainEqual(lost("overrun", { culprits: [tool.name] }));
    expect(quarantined()).toEqual([tool.name]);
  });

  test("refuses a tool that has ended three executors, and lets others run", async () => {
    const { quarantined } = fromNow();
    const tool = script(WEDGE);
    for (let strike = 0; strike < 3; strike++) await run(tool, {}, { limits: { cpuMs: 20 } });
    expect(refusedForMs(tool)).toBeGreaterThan(0);
    expect(quarantined()).toEqual([tool.name]);
    const other = await run(script("() => 1"));
    expect(other.outcome).toEqual({ ok: true, json: "1" });
  });

  test("gives a call up that loses its executor again and again", async () => {
    await using own = await startExecutor("process", 1, { spare: false });
    const asking = script("(input, { host }) => host.any.thing()");
    const kill = (): Promise<CapabilityResponse> => {
      // It is moved to quarantine on the way, because it might be why.
      const started = own.events.findLast(({ name }) => name === "executor:start");
      process.kill(Number(started?.["pid"]), "SIGKILL");
      return new Promise(() => undefined);
    };
    const reply = own.run(own.job(asking, {}, { ask: kill }));
    expect(await reply).toMatchObject({ outcome: { ok: false, failure: { code: "executor_lost" } }, attempts: 10 });
  });
});
