import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { createEngine, defineCapability } from "../../../src/glovebox/index.ts";

/**
 * Found by a review: an honest tenant's tool was blamed for memory that another's isolates held, and its process was
 * lost with the calls of all.
 */
test("the tenant that holds most gives memory back, and no call of another tenant fails", async () => {
  // All of them hold what they have until the other tenant's calls are over, however slow the machine is.
  const { promise: isOver, resolve: end } = Promise.withResolvers<void>();
  const gate = defineCapability({ name: "gate", methods: { wait: { handler: () => isOver } } });
  await using engine = await createEngine({
    executor: { kind: "process", rssMb: 300, spare: false },
    workers: 2,
    capabilities: [gate],
    policy: { rules: [{ allow: { gate: true } }] },
  });
  const lost: unknown[] = [];
  engine.on("executor:lost", (event) => lost.push(event));
  const limits = { memoryMb: 64, wallMs: 60_000, cpuMs: 20_000 };
  for (let n = 0; n < 10; n++) {
    await engine.register({
      name: `hog-${n}`,
      description: "holds memory while it waits",
      capabilities: { gate: true },
      source: `export default async (input, { host }) => {
        const kept = [];
        // Slowly enough to be seen in time, on a busy machine too: what grows at once costs the process.
        for (let i = 0; i < 40; i++) {
          kept.push(new Array(128 * 1024).fill(i + 0.5));
          await new Promise((done) => setTimeout(done, 25));
        }
        await host.gate.wait();
        return kept.length;
      };`,
      limits,
    });
  }
  await engine.register({
    name: "honest",
    description: "needs a little memory",
    source: "export default ({ n }) => new Array(256 * 1024).fill(n).length;",
    limits,
  });
  const hogs = Promise.all(
    Array.from({ length: 10 }, (_, n) => engine.execute({ name: `hog-${n}`, arguments: {} }, { tenant: "hog" })),
  );
  const honest = [];
  for (let n = 0; n < 40; n++) {
    honest.push(await engine.execute({ name: "honest", arguments: { n } }, { tenant: "honest" }));
    await delay(100);
  }
  end();
  expect(honest.filter(({ success }) => !success)).toEqual([]);
  expect(honest.filter(({ metadata }) => metadata.attempts > 1)).toEqual([]);
  const ends = (await hogs).map(({ error }) => error?.code ?? "ok");
  expect(ends).toContain("memory_limit");
  expect(ends.filter((end) => end !== "ok" && end !== "memory_limit")).toEqual([]);
  expect(lost).toEqual([]);
});
