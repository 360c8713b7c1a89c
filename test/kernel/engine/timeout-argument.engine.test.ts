import { afterAll, beforeAll, expect, test } from "vitest";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";

let engine: Engine;

beforeAll(async () => {
  engine = await createEngine({ workers: 1, executor: "threads", maxLimits: { cpuMs: 2_000 } });
  const source = `export default async ({ busy }) => {
    if (busy) for (;;);
    await new Promise((done) => setTimeout(done, 60_000));
  }`;
  await engine.register({
    name: "slow",
    description: "Does not end.",
    source,
    limits: { cpuMs: 500, wallMs: 30_000 },
    inputSchema: { type: "object", properties: { seconds: { type: "number", default: 0.2 }, busy: true } },
    timeoutArgument: "seconds",
  });
});

afterAll(() => engine.close());

const messageOf = async (args: Record<string, unknown>, options: object = {}) =>
  (await engine.execute({ name: "slow", arguments: args }, options)).error?.message;

test("an argument says how long a call may take, busy or idle", async () => {
  // On a busy machine the time may be over before the processor time is used.
  expect(await messageOf({ seconds: 0.1, busy: true })).toMatch(/ 100 ms of processor time| 350 ms/);
  expect(await messageOf({ seconds: 0.1 })).toContain("350 ms");
});

test("its default does where the call says nothing", async () => {
  expect(await messageOf({ busy: true })).toMatch(/ 200 ms of processor time| 450 ms/);
});

test("it never gives more than the tool and the call have", async () => {
  expect(await messageOf({ seconds: 100, busy: true })).toContain("500 ms of processor time");
  expect(await messageOf({ seconds: 100 }, { limits: { wallMs: 300 } })).toContain("300 ms");
});

test("what is no time changes nothing", async () => {
  for (const seconds of [0, -1]) expect(await messageOf({ seconds, busy: true })).toContain("500 ms");
});
