import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { createEngine, type Engine } from "../../src/index.ts";
import { Dice } from "../load/dice.ts";

const MIXES = 12;
const HOGS = 12;

/** Keeps so many MiB while it waits. */
const HOLDS = `export default async ({ mb, ms }) => {
  const kept = [];
  for (let i = 0; i < mb; i++) kept.push(new Array(128 * 1024).fill(i + 0.5));
  await new Promise((done) => setTimeout(done, ms));
  return kept.length;
};`;

async function openEngine(): Promise<Engine> {
  const limits = { memoryMb: 96, wallMs: 60_000, cpuMs: 20_000 };
  // Each tool has an isolate of its own.
  const tools = Array.from({ length: HOGS }, (_, n) => ({
    name: `holds-${n}`,
    description: "holds",
    source: HOLDS,
    limits,
  }));
  return await createEngine({ workers: 2, executor: { kind: "process", rssMb: 300, spare: false }, tools });
}

test(
  `in ${MIXES} random mixes of tenants that hold memory, none fails that holds little`,
  { timeout: 300_000 },
  async () => {
    const dice = new Dice(30);
    for (let mix = 0; mix < MIXES; mix++) {
      await using engine = await openEngine();
      const hog = (n: number) =>
        engine.execute(
          { name: `holds-${n}`, arguments: { mb: dice.between(15, 60), ms: dice.between(200, 2_500) } },
          { tenant: "hog" },
        );
      const hogs = Array.from({ length: dice.between(6, HOGS) }, (_, n) => hog(n));
      const modest = [];
      for (let n = 0; n < 12; n++) {
        const call = { name: `holds-${n % HOGS}`, arguments: { mb: 2, ms: 10 } };
        modest.push(await engine.execute(call, { tenant: `modest-${n % 3}` }));
        await delay(dice.between(20, 200));
      }
      const ends = (await Promise.all(hogs)).map(({ error }) => error?.code ?? "ok");
      expect(modest.map(({ error }) => error?.message ?? null)).toEqual(modest.map(() => null));
      expect(ends.filter((end) => end !== "ok" && end !== "memory_limit")).toEqual([]);
    }
  },
);
