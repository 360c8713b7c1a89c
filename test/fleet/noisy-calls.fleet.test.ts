import { expect, test } from "vitest";
import { defineCapability, type Engine } from "../../src/glovebox/index.ts";
import { createFleetEngine, startFleet } from "./fleet.ts";

const LINES = 1_000;
const MIB = 1024 * 1024;
const WRITES = `export default async ({ waits }, { host }) => {
  for (let n = 0; n < ${LINES}; n++) console.log(n + " ".padEnd(4_000));
  if (waits) await host.gate.pass();
};`;

/** An engine with a tool that writes, and then may wait for ever. */
function startWriting(url: string, fleet: string): Promise<Engine> {
  const never = new Promise<never>(() => undefined);
  const gate = defineCapability({ name: "gate", methods: { pass: { handler: () => never } } });
  return createFleetEngine({
    capabilities: [gate],
    policy: { rules: [{ allow: { gate: true } }] },
    executor: { kind: "queue", url, fleet },
    limits: { logBytes: 5 * MIB },
    maxLimits: { logBytes: 5 * MIB },
    tools: [
      { name: "writes", description: "d", source: WRITES, capabilities: { gate: true } },
      { name: "adds", description: "d", source: "export default ({ a, b }) => a + b" },
    ],
  });
}

test("every line of a call is told in its order, before the call ends", async () => {
  await using fleet = await startFleet(1);
  await using engine = await startWriting(fleet.url, fleet.name);
  const told: number[] = [];
  const onLog = ({ message }: { readonly message: string }): void => void told.push(Number.parseInt(message, 10));
  const { metadata } = await engine.execute({ name: "writes", arguments: { waits: false } }, { onLog });
  expect(told).toEqual(Array.from({ length: LINES }, (_, n) => n));
  expect(metadata.logs).toHaveLength(LINES);
});

test("another call's answer does not wait behind all that a call writes", async () => {
  await using fleet = await startFleet(1);
  await using engine = await startWriting(fleet.url, fleet.name);
  const innocent = Promise.withResolvers<unknown>();
  let told = 0;
  // What the tool writes meanwhile would all be on its way; then it takes longer to hear a line than to write it.
  const onLog = (): void => {
    const isFirst = ++told === 1;
    const untilMs = performance.now() + (isFirst ? 2_000 : 5);
    while (performance.now() < untilMs);
    if (!isFirst) return;
    void engine
      .execute({ name: "adds", arguments: { a: 1, b: 2 } })
      .then(({ output }) => innocent.resolve([output, told]));
  };
  const stop = new AbortController();
  const writing = engine.execute({ name: "writes", arguments: { waits: true } }, { onLog, signal: stop.signal });
  const [output, before] = (await innocent.promise) as [unknown, number];
  stop.abort();
  await writing;
  expect(output).toBe(3);
  expect(before).toBeLessThan(LINES / 2);
});
