/** A whole fleet, its server and its machines, by sentinels and in a cluster: the Redis under it changes, and calls go on. */
import { describe, expect, test } from "vitest";
import { FleetKeys } from "../../src/fleet/wire/keys.ts";
import { defineCapability, type Engine } from "../../src/glovebox/index.ts";
import { createFleetEngine, startMachineProcess } from "./fleet.ts";
import { startCluster, startSentinels } from "./topologies.ts";

const FLEET = "test";
const CALLS = 40;
const STEPS = 60;
const POLL = { timeout: 60_000, interval: 100 };

interface Served extends AsyncDisposable {
  readonly engine: Engine;
  /** The steps of walks, in their order. */
  readonly steps: number[];
}

/** A server and two machines in processes of their own, with caps, so that all that a fleet asks of Redis is asked. */
async function serve(url: string): Promise<Served> {
  await using stack = new AsyncDisposableStack();
  const started = await Promise.allSettled([1, 2].map(() => startMachineProcess(url, FLEET, { slots: 4, workers: 1 })));
  for (const each of started) if (each.status === "fulfilled") stack.use(each.value);
  const steps: number[] = [];
  const engine = await createFleetEngine({
    executor: { kind: "queue", url, fleet: FLEET, lostMs: 60_000 },
    queue: { perTenant: 20, perTool: 10 },
    limits: { wallMs: 100_000, queueMs: 100_000 },
    capabilities: [
      defineCapability({
        name: "ledger",
        methods: { add: { handler: ({ step }: { readonly step: number }) => steps.push(step) } },
      }),
    ],
    policy: { rules: [{ tools: ["*"], allow: { ledger: true, kv: true } }] },
    kv: { url },
    idempotency: { url },
    calls: { url, secret: "a secret of the fleet" },
    tools: [
      { name: "double", description: "Doubles a number.", source: "export default ({ n }) => n * 2;" },
      { name: "asked", description: "Waits.", approval: "always", source: "export default ({ n }) => n;" },
      {
        name: "keep",
        description: "Keeps a number, and reads it again.",
        capabilities: { kv: true },
        source: `export default async ({ n }, { host }) => {
          await host.kv.set("n" + n, n);
          return host.kv.get("n" + n);
        };`,
      },
      {
        name: "walk",
        description: "Takes steps that have an effect.",
        capabilities: { ledger: true },
        source: `export default async ({ steps }, { host }) => {
          for (let step = 0; step < steps; step++) {
            await host.ledger.add({ step });
            await new Promise((done) => setTimeout(done, 100));
          }
          return steps;
        };`,
      },
    ],
  });
  stack.defer(() => engine.close({ drainMs: 0 }));
  const owned = stack.move();
  return { engine, steps, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** Calls that are more than the caps let go at once, one that keeps something, one that two ask for with a key, and one that waits. */
async function expectCalls({ engine }: Served, key: string): Promise<void> {
  const numbers = Array.from({ length: CALLS }, (_, n) => n);
  const doubled = await Promise.all(numbers.map((n) => engine.execute({ name: "double", arguments: { n } })));
  expect(doubled.map((result) => (result.success ? result.output : result.error))).toEqual(numbers.map((n) => n * 2));
  expect(await engine.execute({ name: "keep", arguments: { n: 7 } })).toMatchObject({ output: 7 });
  const keyed = () => engine.execute({ name: "double", arguments: { n: 4 } }, { idempotencyKey: key });
  expect(await Promise.all([keyed(), keyed()])).toMatchObject([{ output: 8 }, { output: 8 }]);
  const kept = async () => (await engine.calls.list({ tool: "double", limit: 200 }).catch(() => ({ calls: [] }))).calls;
  await expect.poll(async () => (await kept()).length, POLL).toBeGreaterThan(CALLS);
  const { durable } = engine.calls;
  const { error } = await engine.execute({ name: "asked", arguments: { n: 3 } });
  const id = error?.code === "paused" ? (error.details?.id ?? "") : "";
  const [wait] = (await durable.get(id))?.waits ?? [];
  await durable.decide(id, { decision: "approve", digest: wait?.kind === "approval" ? wait.digest : "" });
  await expect.poll(async () => (await durable.result(id))?.output, POLL).toBe(3);
}

/** While `fail` is done there is a call under way, and one comes. */
async function expectToGoOn(served: Served, fail: () => Promise<void>): Promise<void> {
  const { engine, steps } = served;
  await expectCalls(served, "before");
  const walking = engine.execute({ name: "walk", arguments: { steps: STEPS } });
  await expect.poll(() => steps.length, POLL).toBeGreaterThan(2);
  await fail();
  await expect.poll(() => engine.stats().executor.ready, POLL).toBe(false);
  const coming = engine.execute({ name: "double", arguments: { n: 21 } });
  await expect.poll(() => engine.stats().executor.ready, POLL).toBe(true);
  expect(await coming).toMatchObject({ output: 42 });
  expect(await walking).toMatchObject({ output: STEPS });
  expect(steps).toEqual(Array.from({ length: STEPS }, (_, step) => step));
  await expectCalls(served, "after");
}

describe("a fleet", { timeout: 180_000 }, () => {
  test("by sentinels has its calls done, and goes on with the new master when the old one is killed", async () => {
    await using sentinels = await startSentinels("p@ss:word");
    await using served = await serve(sentinels.url);
    await expectToGoOn(served, () => sentinels.master.stop("SIGKILL"));
    // The other sentinels, or nodes, hear of the failover from the one that led it.
    await expect.poll(() => sentinels.masterPort(), POLL).toBe(sentinels.replica.port);
  });

  test("in a cluster has its calls done, and goes on with the replica of the node that has it when that is killed", async () => {
    await using cluster = await startCluster(1);
    await using served = await serve(cluster.url);
    const key = new FleetKeys(FLEET).prefix;
    const node = await cluster.nodeOf(key);
    await expectToGoOn(served, () => node.stop("SIGKILL"));
    await expect.poll(() => cluster.nodeOf(key), POLL).not.toBe(node);
  });
});
