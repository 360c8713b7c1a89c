import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { watchPressure } from "../../../src/kernel/base/os/pressure.ts";
import { createEngine, type EventMap } from "../../../src/glovebox/index.ts";

/** A folder that imitates the kernel's files. */
let root: string;

beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), "glovebox-pressure-"));
  mkdirSync(path.join(root, "proc/pressure"), { recursive: true });
  set("cpu", 0);
  set("memory", 0);
});

afterEach(() => rmSync(root, { recursive: true }));

function set(resource: "cpu" | "memory", percent: number): void {
  const text = `some avg10=${percent.toFixed(2)} avg60=0.00 avg300=0.00 total=0\n`;
  writeFileSync(path.join(root, "proc/pressure", resource), text);
}

test("a machine short of processor time gets no spare process, and has one once it is not", async () => {
  set("cpu", 95);
  using _watch = watchPressure(root, 50);
  await using engine = await createEngine({ executor: { kind: "process", spare: true }, workers: 1 });
  const told: EventMap["host:pressure"][0][] = [];
  engine.on("host:pressure", (event) => told.push(event));
  // One is looked for at the start, and each second.
  await delay(1_500);
  expect(engine.stats().executor.spareReady).toBe(false);
  expect(await engine.metrics()).toContain('glovebox_host_pressure{resource="cpu"} 1');
  set("cpu", 10);
  await expect.poll(() => engine.stats().executor.spareReady).toBe(true);
  expect(told).toEqual([{ resource: "cpu", isHigh: false, percent: 10 }]);
  expect(await engine.metrics()).toContain('glovebox_host_pressure{resource="cpu"} 0');
});

test("a machine short of memory has idle isolates ended, and calls go on", async () => {
  using _watch = watchPressure(root, 50);
  await using engine = await createEngine({ executor: { kind: "process", spare: false }, workers: 1 });
  for (const name of ["one", "two", "three"]) {
    await engine.register({ name, description: "says its name", source: `export default () => "${name}";` });
    expect(await engine.execute({ name, arguments: {} })).toMatchObject({ success: true });
  }
  const kept: unknown[] = [];
  engine.on("executor:lost", (event) => kept.push(event));
  const starts = async (): Promise<string> => {
    const lines = (await engine.metrics()).split("\n");
    return lines.filter((line) => line.startsWith("glovebox_isolate_starts_total{")).join("\n");
  };
  // Workers tell what they started some time later, and on a busy machine may start something for the next call then.
  const startsMeanwhile = async (): Promise<boolean> => {
    const before = await starts();
    for (const name of ["one", "two", "three"]) await engine.execute({ name, arguments: {} });
    await delay(1_500);
    return (await starts()) !== before;
  };
  await expect.poll(startsMeanwhile).toBe(false);
  const before = await starts();
  set("memory", 50);
  // Tools whose isolates were ended need new ones.
  const startsAfterCalls = async (): Promise<string> => {
    for (const name of ["one", "two", "three"]) {
      expect(await engine.execute({ name, arguments: {} })).toMatchObject({ success: true, output: name });
    }
    return await starts();
  };
  await expect.poll(startsAfterCalls, { interval: 1_000 }).not.toBe(before);
  set("memory", 0);
  await startsAfterCalls();
  expect(kept).toEqual([]);
});
