import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { createEngine } from "../../../src/glovebox/index.ts";
import type { ExecutorOptions } from "../../../src/kernel/executor/executor.ts";

const KINDS: readonly ExecutorOptions["kind"][] = ["process", "threads"];

describe.each(KINDS)("low latency with executor %s", (kind) => {
  const open = () => createEngine({ workers: 1, executor: { kind, latency: "low" } });

  test("calls one after the other, and together, end as they do without it", async () => {
    await using engine = await open();
    await engine.register({ name: "add", description: "adds", source: "export default ({ a, b }) => a + b" });
    const add = async (a: number) => (await engine.execute({ name: "add", arguments: { a, b: 1 } })).output;
    for (let a = 0; a < 50; a++) expect(await add(a)).toBe(a + 1);
    expect(await Promise.all(Array.from({ length: 50 }, (_, a) => add(a)))).toEqual(
      Array.from({ length: 50 }, (_, a) => a + 1),
    );
  });

  test("a tool's timers fire, and its endless loop is ended", async () => {
    await using engine = await open();
    const source = `export default async ({ isEndless }) => {
      await new Promise((done) => setTimeout(done, 5));
      while (isEndless);
      return "done";
    }`;
    await engine.register({ name: "wait", description: "waits", source, limits: { cpuMs: 100 } });
    const wait = (isEndless: boolean) => engine.execute({ name: "wait", arguments: { isEndless } });
    expect(await wait(false)).toMatchObject({ output: "done" });
    expect(await wait(true)).toMatchObject({ error: { code: "cpu_limit" } });
    expect(await wait(false)).toMatchObject({ output: "done" });
  });

  test("the host's event loop sleeps again while nothing is sent", async () => {
    await using engine = await open();
    await engine.register({ name: "one", description: "one", source: "export default () => 1" });
    await engine.execute({ name: "one", arguments: {} });
    const before = performance.eventLoopUtilization();
    await delay(500);
    expect(performance.eventLoopUtilization(before).idle).toBeGreaterThan(0);
  });
});

test("another latency than normal and low is refused by name", async () => {
  const executor = { kind: "threads", latency: "lowest" } as unknown as ExecutorOptions;
  await expect(createEngine({ executor })).rejects.toThrow('executor.latency "lowest" is not one of normal, low');
});
