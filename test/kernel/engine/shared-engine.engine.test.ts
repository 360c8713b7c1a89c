import { expect, test, vi } from "vitest";
import { createEngine, sharedEngine } from "../../../src/glovebox/index.ts";

const make = vi.fn(() => createEngine({ executor: "threads", workers: 1 }));

test("callers of one key share an engine, until it is closed", async () => {
  const [one, other] = await Promise.all([sharedEngine("a", make), sharedEngine("a", make)]);
  expect(other).toBe(one);
  expect(make).toHaveBeenCalledOnce();
  await one.close();
  const next = await Promise.all([sharedEngine("a", make), sharedEngine("a", make)]);
  expect(next[0]).not.toBe(one);
  expect(next[1]).toBe(next[0]);
  await next[0].close();
});

const MODULE = new URL("../../../src/kernel/engine/shared-engine.ts", import.meta.url).href;

test("a module that is evaluated again finds the engine", async () => {
  const one = await sharedEngine("b", make);
  const again = (await import(`${MODULE}?again`)) as typeof import("../../../src/kernel/engine/shared-engine.ts");
  expect(again.sharedEngine).not.toBe(sharedEngine);
  expect(await again.sharedEngine("b", make)).toBe(one);
  await one.close();
});

test("an engine that could not be made is made by the next caller", async () => {
  const failing = () => Promise.reject(new Error("no"));
  await expect(sharedEngine("c", failing)).rejects.toThrow("no");
  const engine = await sharedEngine("c", make);
  await engine.close();
});
