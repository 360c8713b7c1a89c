import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";
import { byLength } from "../../length.ts";
import { Dice } from "../../load/dice.ts";

const MIXES = byLength(2, 100);
const MIXES_OF_ENGINE = byLength(2, 10);
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

/** One mix: some calls of one tenant that hold much, and meanwhile calls of others that hold little. */
async function mix(engine: Engine, dice: Dice): Promise<readonly string[]> {
  const hog = (n: number) =>
    engine.execute(
      { name: `holds-${n}`, arguments: { mb: dice.between(15, 60), ms: dice.between(100, 1_200) } },
      { tenant: "hog" },
    );
  const hogs = Array.from({ length: dice.between(6, HOGS) }, (_, n) => hog(n));
  const modest = [];
  for (let n = 0; n < 8; n++) {
    const call = { name: `holds-${n % HOGS}`, arguments: { mb: 2, ms: 10 } };
    modest.push(await engine.execute(call, { tenant: `modest-${n % 3}` }));
    await delay(dice.between(10, 120));
  }
  const ends = (await Promise.all(hogs)).map(({ error }) => error?.code ?? "ok");
  expect(modest.map(({ error }) => error?.message ?? null)).toEqual(modest.map(() => null));
  expect(ends.filter((end) => end !== "ok" && end !== "memory_limit")).toEqual([]);
  return ends;
}

test(
  `in ${MIXES} random mixes of tenants that hold memory, none fails that holds little`,
  { timeout: 900_000 },
  async () => {
    const dice = new Dice(30);
    const ends: string[] = [];
    // What a mix leaves behind in its process is part of the next one.
    for (let engines = 0; engines < MIXES / MIXES_OF_ENGINE; engines++) {
      await using engine = await openEngine();
      for (let at = 0; at < MIXES_OF_ENGINE; at++) ends.push(...(await mix(engine, dice)));
    }
    const shed = ends.filter((end) => end === "memory_limit").length;
    process.stdout.write(`${MIXES} mixes: ${shed} of ${ends.length} calls that held much were ended\n`);
    expect(shed).toBeGreaterThan(0);
  },
);
