import { readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { Worker } from "node:worker_threads";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEngine, type Engine, type EngineOptions } from "../../../src/glovebox/index.ts";

const COUNT = 40;
/** Longest time for which the engine's thread is kept busy, in milliseconds. */
const BUSY_MS = 30_000;

/** A server on a thread of its own, which counts its requests in shared memory. */
const SERVER = `
  const { createServer } = require("node:http");
  const { parentPort, workerData } = require("node:worker_threads");
  const server = createServer((_request, response) => {
    Atomics.add(workerData, 0, 1);
    response.end("hello");
  });
  server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));`;
const counted = new Int32Array(new SharedArrayBuffer(4));
let server: Worker;
let origin = "";

beforeAll(async () => {
  server = new Worker(SERVER, { eval: true, workerData: counted });
  origin = await new Promise<string>((resolve) => {
    server.once("message", (port: number) => resolve(`http://127.0.0.1:${port}`));
  });
});
afterAll(() => server.terminate());

const count = (): number => Atomics.load(counted, 0);

async function open(options: EngineOptions): Promise<Engine> {
  const engine = await createEngine({
    workers: 1,
    kv: { path: ":memory:" },
    policy: { rules: [{ allow: { kv: true, fetch: { origins: [], privateOrigins: [origin], maxRequests: 1_000 } } }] },
    ...options,
  });
  const source = `export default async (_, { host }) => {
    for (let nth = 0; nth < ${COUNT}; nth++) {
      await (await fetch("${origin}/")).text();
      await host.kv.set("nth", nth);
    }
    return host.kv.get("nth");
  };`;
  const capabilities = { kv: true, fetch: { origins: [origin], maxRequests: 1_000 } } as const;
  await engine.register({ name: "asks", description: "Asks.", source, capabilities });
  return engine;
}

/** Keeps this thread busy from the call's first request until its last. */
async function askWhileBusy(engine: Engine): Promise<unknown> {
  Atomics.store(counted, 0, 0);
  const call = engine.execute({ name: "asks", arguments: {} });
  await expect.poll(count, { interval: 1 }).toBeGreaterThan(0);
  const endMs = performance.now() + BUSY_MS;
  while (count() < COUNT && performance.now() < endMs);
  expect(count()).toBe(COUNT);
  return (await call).output;
}

function folders(): readonly string[] {
  return readdirSync(tmpdir()).filter(
    (name) => name.startsWith("glovebox-broker-") && name.includes(`-${process.pid}-`),
  );
}

describe("what a tool asks is answered while the engine's thread is busy", () => {
  const ways: readonly (readonly [string, EngineOptions])[] = [
    ["with executor processes, in the sandbox where there is one", { executor: { kind: "process", sandbox: "auto" } }],
    ["with executor processes outside of the sandbox", { executor: { kind: "process", sandbox: "off" } }],
    ["with threads", { executor: { kind: "threads" } }],
    ['with broker: "process"', { executor: { kind: "process" }, broker: "process" }],
  ];
  test.each(ways)("%s", async (_way, options) => {
    {
      await using engine = await open(options);
      expect(await askWhileBusy(engine)).toBe(COUNT - 1);
      expect(engine.usage().asks).toBe(2 * COUNT + 1);
    }
    expect(folders()).toEqual([]);
  });
});

test('with threads and broker: "process", which no port reaches, what a tool asks goes by the engine\'s thread', async () => {
  await using engine = await open({ executor: { kind: "threads" }, broker: "process" });
  expect((await engine.execute({ name: "asks", arguments: {} })).output).toBe(COUNT - 1);
});

test("a policy that allows something for the first time gives processes their pipes while calls run", async () => {
  await using engine = await open({ policy: { rules: [] } });
  const recycled: string[] = [];
  engine.on("executor:recycle", ({ reason }) => recycled.push(reason));
  expect(await engine.execute({ name: "asks", arguments: {} })).toMatchObject({ error: { code: "capability_denied" } });
  engine.setPolicy({
    rules: [{ allow: { kv: true, fetch: { origins: [], privateOrigins: [origin], maxRequests: 1_000 } } }],
  });
  expect((await engine.execute({ name: "asks", arguments: {} })).output).toBe(COUNT - 1);
  await expect.poll(() => recycled, { timeout: 120_000 }).toContain("broker");
  await expect.poll(() => engine.stats().executor.ready, { timeout: 120_000 }).toBe(true);
  expect(await askWhileBusy(engine)).toBe(COUNT - 1);
});

test.runIf(process.platform === "linux")(
  "an executor process keeps its connection, and the engine's process none",
  async () => {
    await using engine = await open({ executor: { kind: "process", spare: false } });
    expect((await engine.execute({ name: "asks", arguments: {} })).success).toBe(true);
    // The listener and the accepted connection have the socket's name; the end that was given away has none.
    const named = readFileSync("/proc/net/unix", "utf8")
      .split("\n")
      .filter((line) => line.includes(`glovebox-broker-`) && line.includes(`-${process.pid}-`));
    expect(named).toHaveLength(2);
  },
);
