import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEngine, defineCapability, type Engine } from "../../../src/glovebox/index.ts";

const BLOCK_MS = 20;

const ASKS = {
  name: "asks",
  description: "Asks as often as it is told.",
  source: `export default async ({ count }, { host }) => {
    for (let at = 0; at < count; at++) await host.work.block("x".repeat(100));
  };`,
  capabilities: { work: true },
};
const TICKS = {
  name: "ticks",
  description: "Asks for almost nothing.",
  source: "export default (i, { host }) => host.work.tick();",
  capabilities: { work: true },
};
const PLAIN = { name: "plain", description: "Asks for nothing.", source: "export default () => 1;" };
const ENDLESS = {
  name: "endless",
  description: "Computes without an end, and says so after a while.",
  source: `export default (i, { progress }) => {
    for (let at = 0, sum = 0; ; at++) {
      sum += at % 7;
      if (at === 3e7) progress(sum);
    }
  };`,
};
const GREEDY = {
  name: "greedy",
  description: "Computes, and then needs more memory than it may have.",
  source: `export default () => {
    for (let at = 0, sum = 0; at < 3e7; at++) sum += at % 7;
    for (const all = []; ; ) all.push(new Array(100_000).fill(all.length));
  };`,
};
const LOOPS = {
  name: "loops",
  description: "Computes.",
  source: "export default () => { let sum = 0; for (let at = 0; at < 3e7; at++) sum += at % 7; return sum; };",
};

const work = defineCapability({
  name: "work",
  methods: {
    tick: { handler: () => null },
    block: {
      handler: () => {
        const endMs = performance.now() + BLOCK_MS;
        while (performance.now() < endMs);
      },
    },
  },
});

let engine: Engine;

beforeAll(async () => {
  engine = await createEngine({
    workers: 1,
    executor: "threads",
    tools: [ASKS, TICKS, PLAIN, LOOPS, ENDLESS, GREEDY],
    capabilities: [work],
    policy: { rules: [{ allow: { work: true } }] },
  });
});
afterAll(() => engine.close());

function run(name: string, tenant: string, args = {}, options = {}) {
  return engine.execute({ name, arguments: args }, { tenant, ...options });
}

describe("what the host does for a call", () => {
  test("is told in its result", async () => {
    const { metadata } = await run("asks", "told", { count: 3 });
    expect(metadata.host).toMatchObject({ asks: 3, bytes: 3 * (102 + 4) });
    expect(metadata.host?.askMs).toBeGreaterThanOrEqual(3 * BLOCK_MS - 1);
  });

  test("is what a cancelled call has used, and not what it might have used", async () => {
    const limits = { cpuMs: 20_000, wallMs: 30_000 };
    const controller = new AbortController();
    const onProgress = () => controller.abort();
    const { error } = await run("endless", "cancels", {}, { limits, signal: controller.signal, onProgress });
    expect(error?.code).toBe("cancelled");
    await expect.poll(() => engine.usage("cancels").executorMs, { timeout: 60_000 }).toBeGreaterThan(1);
    expect(engine.usage("cancels").executorMs).toBeLessThan(10_000);
  });

  test("is also what it used before it reached its memory limit", async () => {
    const { error, metadata } = await run("greedy", "needs", {}, { limits: { cpuMs: 20_000 } });
    expect(error?.code).toBe("memory_limit");
    expect(metadata.cpuMs).toBeGreaterThan(1);
  });

  test("is not told where it asked for nothing", async () => {
    expect((await run("plain", "told")).metadata).not.toHaveProperty("host");
  });

  test("is part of the processor time that its caller pays for", async () => {
    let cpuMs = 0;
    await run("asks", "pays", { count: 3 }, { onCpu: (ms: number) => (cpuMs += ms) });
    expect(cpuMs).toBeGreaterThanOrEqual(3 * BLOCK_MS - 1);
  });
});

describe("the usage of a tenant", () => {
  test("is the sum of its calls, and part of the engine's", async () => {
    const before = engine.usage();
    const calls = [run("asks", "sum", { count: 2 }), run("asks", "sum", { count: 1 }), run("loops", "sum")];
    const cpuMs = (await Promise.all(calls)).reduce((sum, { metadata }) => sum + metadata.cpuMs, 0);
    const usage = engine.usage("sum");
    expect(usage).toMatchObject({ asks: 3, bytesAsked: 306, bytesAnswered: 12, journalBytes: 0, inFlightBytes: 0 });
    expect(usage.mainMs).toBeGreaterThanOrEqual(3 * BLOCK_MS - 1);
    expect(usage.executorMs).toBeCloseTo(cpuMs);
    expect(usage.executorMs).toBeGreaterThan(1);
    const after = engine.usage();
    expect(after.asks - before.asks).toBe(3);
    expect(after.executorMs - before.executorMs).toBeCloseTo(usage.executorMs);
  });

  test("is nothing before its first call", () => {
    expect(engine.usage("nobody")).toMatchObject({ asks: 0, executorMs: 0, mainMs: 0 });
  });

  test("is a series of its own for the twenty busiest, and one for the rest", async () => {
    await Promise.all(Array.from({ length: 25 }, (_, at) => run("asks", `series-${at}`, { count: at < 3 ? 2 : 1 })));
    const text = await engine.metrics();
    const series = [...text.matchAll(/^glovebox_tenant_host_seconds_total\{tenant="([^"]+)"\} (\S+)$/gm)];
    expect(series.length).toBe(21);
    const names = series.map(([, name]) => name);
    for (const name of ["other", "series-0", "series-1", "series-2"]) expect(names).toContain(name);
    const seconds = series.reduce((sum, [, , value]) => sum + Number(value), 0);
    const { mainMs, brokerMs } = engine.usage();
    expect(seconds).toBeCloseTo((mainMs + brokerMs) / 1e3, 3);
    expect(text).toMatch(/^glovebox_host_seconds_total\{thread="main"\} /m);
    expect(text).toMatch(/^glovebox_host_seconds_total\{thread="executor"\} /m);
  });
});

test("a tenant that uses more than its share is throttled while another one asks, and its calls still end well", async () => {
  const told: string[] = [];
  const listener = ({ tenant }: { readonly tenant: string }) => void told.push(tenant);
  engine.on("tenant:throttled", listener);
  const greedy = Promise.all(Array.from({ length: 8 }, () => run("asks", "greedy", { count: 10 })));
  let isOver = false;
  void greedy.then(() => (isOver = true));
  while (!isOver) await run("ticks", "modest");
  engine.off("tenant:throttled", listener);
  expect((await greedy).every(({ success }) => success)).toBe(true);
  expect(told).toContain("greedy");
});
