import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import {
  createEngine,
  type Engine,
  type EngineOptions,
  type ExecuteOptions,
  type LateEvent,
} from "../../../src/glovebox/index.ts";

const TOOLS = [
  {
    name: "loop",
    description: "Never ends.",
    limits: { cpuMs: 20_000, wallMs: 60_000 },
    source: "export default async ({ later }) => { if (later) await null; for (;;); }",
  },
  { name: "quick", description: "Ends at once.", source: "export default ({ n }) => n" },
  {
    name: "mixed",
    description: "Waits, or loops after it has waited.",
    limits: { cpuMs: 20_000, wallMs: 60_000 },
    source: `export default async ({ loops }) => {
      await new Promise((done) => setTimeout(done, 200));
      if (loops) for (;;);
      await new Promise((done) => setTimeout(done, 400));
      return "done";
    }`,
  },
];

/** Long enough to be charged for 100 ms, also beside much other work. */
const WORK_MS = 1_500;

/** Runs an endless call for a while; resolves once its work has ended, with what it was charged and how long it went on. */
async function interrupt(engine: Engine, options: ExecuteOptions, cancel?: () => void) {
  const { promise: late, resolve: onLate } = Promise.withResolvers<LateEvent>();
  engine.on("tool:late", onLate);
  let charged = 0;
  const startMs = performance.now();
  const running = engine.execute({ name: "loop", arguments: {} }, { ...options, onCpu: (cpuMs) => (charged += cpuMs) });
  if (cancel !== undefined) {
    await sleep(WORK_MS);
    cancel();
  }
  const result = await running;
  const answeredMs = performance.now();
  const next = await engine.execute({ name: "quick", arguments: { n: 1 } });
  const nextMs = performance.now() - answeredMs;
  const { cpuMs } = await late;
  return { result, next, nextMs, charged, cpuMs, tookMs: performance.now() - startMs };
}

describe.each(["process", "threads"] as const)("with the executor %s", (executor) => {
  test.each(["cancelled", "wall_limit"])(
    "an endless call that ends with %s stops working, and is charged",
    async (code) => {
      await using engine = await open({ executor, workers: 1 });
      const controller = new AbortController();
      const { result, next, nextMs, charged, cpuMs, tookMs } =
        code === "cancelled"
          ? await interrupt(engine, { signal: controller.signal }, () => controller.abort())
          : await interrupt(engine, { limits: { wallMs: WORK_MS } });
      expect(result.error?.code).toBe(code);
      expect(next.output).toBe(1);
      // It has twenty seconds.
      expect(nextMs).toBeLessThan(10_000);
      expect(charged).toBe(cpuMs);
      expect(charged).toBeGreaterThan(100);
      expect(charged).toBeLessThan(tookMs);
    },
  );

  test("a tenant that begins endless calls and cancels them does not hold up another one, and pays", async () => {
    await using engine = await open({ executor, workers: 1, queue: { perTenant: 1 } });
    await engine.execute({ name: "quick", arguments: { n: 0 } });
    let charged = 0;
    let isOver = false;
    const attacking = (async () => {
      // On a busy machine its calls get little of the processor: it goes on until it has paid.
      while (!isOver || charged <= 100) {
        const signal = AbortSignal.timeout(60);
        await engine.execute({ name: "loop", arguments: {} }, { tenant: "t", signal, onCpu: (ms) => (charged += ms) });
      }
    })();
    const waits: number[] = [];
    for (let n = 0; n < 20; n++) {
      const startMs = performance.now();
      const { output } = await engine.execute({ name: "quick", arguments: { n } }, { tenant: "other" });
      expect(output).toBe(n);
      waits.push(performance.now() - startMs);
      await sleep(20);
    }
    isOver = true;
    await attacking;
    expect(waits.toSorted((a, b) => a - b)[10]).toBeLessThan(1_000);
  });

  test("the slot of a cancelled call is free when its work has ended, not before", async () => {
    await using engine = await open({ executor, workers: 2, queue: { concurrency: 1 } });
    await engine.execute({ name: "quick", arguments: { n: 0 } });
    const controller = new AbortController();
    const running = engine.execute({ name: "loop", arguments: {} }, { signal: controller.signal });
    await sleep(200);
    const order: string[] = [];
    engine.on("tool:late", () => order.push("late"));
    controller.abort();
    await running;
    expect(engine.stats().running).toBe(1);
    await engine.execute({ name: "quick", arguments: { n: 1 } });
    order.push("next");
    expect(order).toEqual(["late", "next"]);
    expect(engine.stats().running).toBe(0);
  });

  test("the other calls in a cancelled call's isolate run again, and end as if nothing had happened", async () => {
    await using engine = await open({ executor, workers: 1 });
    const controller = new AbortController();
    const others = Array.from({ length: 8 }, () => engine.execute({ name: "mixed", arguments: {} }));
    const running = engine.execute({ name: "mixed", arguments: { loops: true } }, { signal: controller.signal });
    await sleep(600);
    controller.abort();
    expect((await running).error?.code).toBe("cancelled");
    expect((await Promise.all(others)).map(({ output }) => output)).toEqual(others.map(() => "done"));
  });

  test("a cancelled call that only waits costs the others in its isolate nothing", async () => {
    await using engine = await open({ executor, workers: 1 });
    const controller = new AbortController();
    const others = Array.from({ length: 8 }, () => engine.execute({ name: "mixed", arguments: {} }));
    const running = engine.execute({ name: "mixed", arguments: {} }, { signal: controller.signal });
    await sleep(300);
    controller.abort();
    expect((await running).error?.code).toBe("cancelled");
    const results = await Promise.all(others);
    expect(results.map(({ metadata }) => metadata.attempts)).toEqual(others.map(() => 1));
  });
});

function open(options: EngineOptions): Promise<Engine> {
  return createEngine({ ...options, tools: TOOLS });
}
