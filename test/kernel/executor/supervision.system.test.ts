import { describe, expect, test } from "vitest";
import { runGuarded } from "../../load/guarded.ts";
import { executors } from "../../processes.ts";
import { type Bench, NEVER, script, startExecutor, type TestEvent } from "./jobs.ts";

const WEDGE = "Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1);";
const LIMITS = { cpuMs: 50 };

const named = (events: readonly TestEvent[], name: TestEvent["name"]) => events.filter((event) => event.name === name);

const codeOf = ({ outcome }: Awaited<ReturnType<Bench["run"]>>) => (outcome.ok ? "ok" : outcome.failure.code);

/** Runs a job that ends its executor. */
function strike(bench: Bench, tool: ReturnType<typeof script>, tenant = "") {
  return bench.run(bench.job(tool, { wedge: true }, { limits: LIMITS, tenant }));
}

/** Harmless, but for calls that ask for it. */
const moody = () => script(`({ wedge }) => { if (wedge) ${WEDGE} return "fine"; }`);

describe("a process that has served enough", () => {
  test("makes room after its calls have ended, and none of them starts again", async () => {
    await using bench = await startExecutor("process", 1, { spare: false, recycle: { ...NEVER, calls: 5 } });
    const slow = script("async (input, { host }) => { await host.gate.pass(); return 'slow'; }");
    const [begun, served] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const ask = async () => {
      begun.resolve();
      await served.promise;
      return { kind: "value", nowMs: Date.now(), json: "1" } as const;
    };
    const long = bench.run(bench.job(slow, {}, { ask }));
    await begun.promise;
    const tool = script("() => 1");
    for (let call = 0; call < 5; call++) await bench.run(bench.job(tool));
    await expect
      .poll(() => named(bench.events, "executor:recycle"), { timeout: 60_000 })
      .toEqual([expect.objectContaining({ reason: "calls", ward: "main" })]);
    expect(codeOf(await bench.run(bench.job(tool)))).toBe("ok");
    served.resolve();
    expect(await long).toMatchObject({ outcome: { ok: true, json: '"slow"' }, attempts: 1 });
    expect(named(bench.events, "executor:lost")).toEqual([]);
    expect(named(bench.events, "call:restart")).toEqual([]);
  });
});

// Some of them wait, for the quarantine's process to rest, while others work.
describe.concurrent("a tool that ended an executor", () => {
  test("takes no further one along with the calls of it that wait or run", async ({ expect }) => {
    await using bench = await startExecutor("process", 1, { spare: false });
    const tool = moody();
    const calls = Array.from({ length: 30 }, () => strike(bench, tool));
    const innocents = Array.from({ length: 5 }, () =>
      bench.run(bench.job(script("async () => { await new Promise((done) => setTimeout(done, 300)); return 1; }"))),
    );
    const codes = (await Promise.all(calls)).map(codeOf);
    expect(new Set(codes)).toEqual(new Set(["cpu_limit", "tool_quarantined"]));
    expect(codes.filter((code) => code === "cpu_limit").length).toBeLessThan(6);
    expect((await Promise.all(innocents)).map(codeOf)).toEqual(["ok", "ok", "ok", "ok", "ok"]);
    expect(named(bench.events, "executor:lost").filter(({ ward }) => ward === "main")).toHaveLength(1);
  });

  test("is refused to the tenant whose calls did it, and serves the others apart", async ({ expect }) => {
    await using bench = await startExecutor("process", 1, { spare: false });
    const tool = moody();
    for (let call = 0; call < 3; call++) await strike(bench, tool, "bad");
    expect(bench.executor.refusedForMs(tool, "bad")).toBeGreaterThan(0);
    expect(codeOf(await bench.run(bench.job(tool, {}, { tenant: "bad" })))).toBe("tool_quarantined");
    expect(codeOf(await bench.run(bench.job(tool, {}, { tenant: "good" })))).toBe("ok");
    expect(named(bench.events, "tool:refuse")).toEqual([expect.objectContaining({ tool: tool.name, tenant: "bad" })]);
  });

  test("runs among the others again after enough clean calls, and the quarantine's process ends", async ({
    expect,
  }) => {
    await using bench = await startExecutor("process", 1, { spare: false });
    const tool = moody();
    await strike(bench, tool);
    for (let call = 0; call < 20; call++) await bench.run(bench.job(tool));
    expect(named(bench.events, "tool:clear")).toEqual([{ name: "tool:clear", tool: tool.name }]);
    await expect
      .poll(() => named(bench.events, "executor:recycle"), { timeout: 60_000 })
      .toEqual([expect.objectContaining({ reason: "idle", ward: "quarantine" })]);
    await strike(bench, tool);
    expect(codeOf(await bench.run(bench.job(tool)))).toBe("ok");
  });
});

test("modules that end executors when they are loaded are refused, and do no harm to the tool of that name", async ({
  expect,
}) => {
  await using bench = await startExecutor("process", 1, { spare: false });
  const good = moody();
  const bad = { ...script("() => 1", { before: WEDGE }), name: good.name };
  for (let load = 0; load < 3; load++) {
    expect(await bench.executor.inspect(bad)).toMatchObject({ ok: false, error: { code: "load_error" } });
  }
  expect(await bench.executor.inspect(bad)).toMatchObject({
    ok: false,
    error: { code: "tool_quarantined", details: { retryAfterMs: expect.any(Number) } },
  });
  expect(codeOf(await bench.run(bench.job(good)))).toBe("ok");
  expect(named(bench.events, "executor:lost").filter(({ ward }) => ward === "main")).toHaveLength(1);
});

describe("a call in whose turn its executor is killed from outside", () => {
  /** Kills the executor of a call, in the turn in which it spins, so many times, and answers how it ended. */
  async function killInTurn(bench: Bench, times: number) {
    const spinning = script(`async (input, { host }) => {
      if (await host.now.begin()) return "done";
      for (let n = 1; ; n++) if (n % 1e5 === 0) console.log("spins", n);
    }`);
    let spinsLeft = times;
    let isSpinning = false;
    const ask = () => {
      isSpinning = spinsLeft-- > 0;
      return Promise.resolve({ kind: "value", nowMs: Date.now(), json: `${!isSpinning}` } as const);
    };
    /** What it says comes from within the turn. */
    const onLog = () => {
      if (!isSpinning) return;
      isSpinning = false;
      // The third start is apart, beside a process that has taken the place of the one that was killed.
      const ward = times - spinsLeft > 2 ? "quarantine" : "main";
      const started = named(bench.events, "executor:start").findLast((event) => event["ward"] === ward);
      process.kill(Number(started?.["pid"]), "SIGKILL");
    };
    return bench.run(bench.job(spinning, {}, { ask, onLog, limits: { cpuMs: 20_000 } }));
  }

  const wardsOf = ({ events }: Bench) => named(events, "executor:start").map(({ ward }) => ward);

  test("runs apart from the second time on, as it may be why", async () => {
    await using bench = await startExecutor("process", 1, { spare: false });
    expect(await killInTurn(bench, 2)).toMatchObject({ outcome: { ok: true, json: '"done"' }, attempts: 3 });
    expect(wardsOf(bench)).toContain("quarantine");
    expect(bench.executor.stats().quarantined).toEqual([]);
  });

  test("is to blame where that happens again while nothing else runs", async () => {
    await using bench = await startExecutor("process", 1, { spare: false });
    const reply = await killInTurn(bench, 3);
    expect(reply).toMatchObject({ outcome: { ok: false, failure: { code: "executor_crashed" } }, attempts: 3 });
    expect(bench.executor.stats().quarantined).toHaveLength(1);
  });
});

/** How fast losses of processes that work must follow each other, the unit test of `Backoff` says. */
test("the loss of a process that was not ready yet is told, and the next process waits", async () => {
  await using bench = await startExecutor("process");
  const killAll = () => {
    for (const pid of executors()) process.kill(pid, "SIGKILL");
    return named(bench.events, "executor:delay").length;
  };
  await expect.poll(killAll, { timeout: 60_000, interval: 10 }).toBeGreaterThan(0);
  expect(codeOf(await bench.run(bench.job(script("() => 1"))))).toBe("ok");
});

/** The review that found it had `uncaughtException` end the host: the error of the start was thrown in a timer. */
test("a host without descriptors says why it starts no process, and goes on when it can again", async () => {
  const program = new URL("programs/starved.ts", import.meta.url);
  const { lines, code } = await runGuarded(program, [], 240_000);
  expect({ said: lines.map((line) => JSON.parse(line) as unknown), code }).toEqual({
    said: [
      {
        crashed: false,
        served: "fine",
        ready: false,
        problem: "EMFILE",
        isAdvised: true,
        after: null,
        reasons: ["overrun", "spawn"],
        causes: ["EMFILE"],
      },
    ],
    code: 0,
  });
}, 300_000);
