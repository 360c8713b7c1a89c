import { createEngine, type Engine } from "../../src/glovebox/index.ts";
import { startMachineProcess } from "../../test/fleet/fleet.ts";
import { startRedis } from "../../test/redis-server.ts";
import { BareQueue } from "../baselines/bare-queue.ts";
import { openEngine } from "../engines.ts";
import { runInEngine } from "../runs.ts";
import { combine, measure, type Subject } from "../sampling.ts";
import type { Context, Effort, Findings, Scenario } from "../scenario.ts";
import { addArguments, addTool, expectedSum } from "../tools.ts";

interface QueueEffort extends Effort {
  /** Worker machines, and processes of BullMQ. */
  readonly machines: readonly number[];
}

const CONCURRENCY = 256;
const PROCESS = "glovebox process";
const QUEUE = "glovebox queue";
/** As its guide shows it: each job is added by itself, and the producer hears of it from Redis. */
const BARE_SINGLE = "bullmq, job by job";
/** … those of one turn of the event loop are added together. */
const BARE_EVENTS = "bullmq, told by its events";
/** … from the workers themselves, which no fleet could: what BullMQ can do at most. */
const BARE_PIPE = "bullmq, told past redis";

/** Cost of a fleet: a call compared with one on this machine, and many at once compared with empty BullMQ jobs. */
export const queue: Scenario<QueueEffort> = {
  name: "queue",
  description:
    "a small warm tool on worker machines, against jobs of BullMQ that do nothing; server, machines and Redis share this one machine",
  smoke: { states: ["quiet"], rounds: 1, sampleMs: 20, machines: [1] },
  full: { states: ["quiet"], rounds: 7, sampleMs: 1_000, machines: [1, 2, 4] },
  async run(context) {
    await using redis = await startRedis();
    const parts: Findings[] = [await measureLatency(context, redis.url)];
    for (const machines of context.size.machines) parts.push(await measureThroughput(context, redis.url, machines));
    return combine(parts);
  },
};

async function measureLatency(context: Context<QueueEffort>, url: string): Promise<Findings> {
  await using opened = new AsyncDisposableStack();
  const local = opened.use(await openEngine("process"));
  await local.register(addTool("add"));
  const fleet = await openFleet(opened, url, "latency", 1);
  const subjects: Subject[] = [
    { name: QUEUE, against: [PROCESS], run: runInEngine(fleet, "add", addArguments) },
    { name: PROCESS, against: [], run: runInEngine(local, "add", addArguments) },
  ];
  return await measure(context, { subjects, expected: expectedSum, latency: { name: "latency_us", unit: "us" } });
}

async function measureThroughput(context: Context<QueueEffort>, url: string, machines: number): Promise<Findings> {
  await using opened = new AsyncDisposableStack();
  const single = opened.use(await BareQueue.start(url, machines, "events", "single"));
  const events = opened.use(await BareQueue.start(url, machines, "events"));
  const pipe = opened.use(await BareQueue.start(url, machines, "pipe"));
  const fleet = await openFleet(opened, url, `throughput-${machines}`, machines);
  const subjects: Subject[] = [
    { name: QUEUE, against: [BARE_SINGLE, BARE_EVENTS, BARE_PIPE], run: runInEngine(fleet, "add", addArguments) },
    { name: BARE_SINGLE, against: [], run: (index) => single.add(index) },
    { name: BARE_EVENTS, against: [], run: (index) => events.add(index) },
    { name: BARE_PIPE, against: [], run: (index) => pipe.add(index) },
  ];
  const suffix = `_m${machines}`;
  const concurrency = { concurrencies: [CONCURRENCY], cpuConcurrency: CONCURRENCY };
  return await measure(context, { subjects, expected: expectedSum, ...concurrency, suffix });
}

/** A server, and so many machines with one isolate thread each. */
async function openFleet(opened: AsyncDisposableStack, url: string, fleet: string, machines: number): Promise<Engine> {
  const started = Array.from({ length: machines }, async () =>
    opened.use(await startMachineProcess(url, fleet, { workers: 1 })),
  );
  await Promise.all(started);
  const engine = await createEngine({ executor: { kind: "queue", url, fleet }, queue: { concurrency: CONCURRENCY } });
  opened.use(engine);
  await engine.register(addTool("add"));
  return engine;
}
