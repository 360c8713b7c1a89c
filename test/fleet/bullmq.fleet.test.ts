import { type Job, Queue, Worker } from "bullmq";
import { describe, expect, test } from "vitest";
import { FleetKeys } from "../../src/fleet/wire/keys.ts";
import { JobMarker } from "../../src/fleet/machine/job-marker.ts";
import { connectTo, startRedis } from "../redis-server.ts";
import { TIMINGS } from "./fleet.ts";
import { startCluster, startSentinels } from "./topologies.ts";

const LONG_MS = 120_000;
const NAME = "calls";
const { prefix } = new FleetKeys("x");

interface Place extends AsyncDisposable {
  readonly url: string;
  /** Kills the server that has the queue. Something takes its place. */
  fail(): Promise<void>;
}

/** Waits until a replica has all that a server was told: else a failover loses jobs, as Redis may. */
async function replicated({ url }: { readonly url: string }): Promise<void> {
  await using connection = await connectTo(url);
  await connection.client.set(`${prefix}:replicated`, "yes", "PX", LONG_MS);
  await connection.client.call("WAIT", 1, LONG_MS / 3);
}

const places: Readonly<Record<string, () => Promise<Place>>> = {
  "one server": async () => {
    const redis = await startRedis({ args: ["--appendfsync", "always"] });
    const fail = async (): Promise<void> => {
      await redis.stop("SIGKILL");
      await redis.start();
    };
    return { url: redis.url, fail, [Symbol.asyncDispose]: () => redis[Symbol.asyncDispose]() };
  },
  "a master with sentinels": async () => {
    const sentinels = await startSentinels();
    const fail = async (): Promise<void> => {
      await replicated(sentinels.master);
      await sentinels.master.stop("SIGKILL");
    };
    return { url: sentinels.url, fail, [Symbol.asyncDispose]: () => sentinels[Symbol.asyncDispose]() };
  },
  "a cluster": async () => {
    const cluster = await startCluster(1);
    const fail = async (): Promise<void> => {
      const node = await cluster.nodeOf(prefix);
      await replicated(node);
      await node.stop("SIGKILL");
    };
    return { url: cluster.url, fail, [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose]() };
  },
};

describe.each(Object.entries(places))("BullMQ on %s", (_name, start) => {
  test("does jobs, and does them again after a failover, each once", async () => {
    await using place = await start();
    await using connection = await connectTo(place.url, { key: prefix });
    const done: number[] = [];
    const queue = new Queue(NAME, { connection: connection.client, prefix });
    const worker = new Worker<number>(NAME, null, { connection: connection.client, prefix, autorun: false });
    queue.on("error", () => undefined);
    worker.on("error", () => undefined);
    await using marker = new JobMarker(connection, worker.toKey("marker"), TIMINGS.blockMs);
    const closed = new AbortController();
    const work = async (): Promise<void> => {
      while (!closed.signal.aborted) {
        const job: Job<number> | undefined = await worker.getNextJob("token", { block: false });
        if (job === undefined) await marker.wait();
        else {
          done.push(job.data);
          await job.moveToCompleted(null, "token", false);
        }
      }
    };
    const working = work();
    try {
      await queue.addBulk([1, 2, 3].map((data) => ({ name: "job", data })));
      await expect.poll(() => done.toSorted((a, b) => a - b), { timeout: LONG_MS }).toEqual([1, 2, 3]);
      await expect.poll(() => queue.getCompletedCount(), { timeout: LONG_MS }).toBe(3);
      await place.fail();
      await queue.add("job", 4);
      await expect.poll(() => done.toSorted((a, b) => a - b), { timeout: LONG_MS }).toEqual([1, 2, 3, 4]);
      await expect.poll(() => queue.getCompletedCount(), { timeout: LONG_MS }).toBe(4);
      expect(done).toHaveLength(4);
    } finally {
      closed.abort();
      await marker[Symbol.asyncDispose]();
      await working;
      await worker.close();
      await queue.close();
    }
  });

  test("hands jobs to whoever pulls them, and so it does after a failover", async () => {
    await using place = await start();
    await using connection = await connectTo(place.url, { key: prefix });
    const queue = new Queue(NAME, { connection: connection.client, prefix });
    const worker = new Worker(NAME, null, { connection: connection.client, prefix, autorun: false });
    queue.on("error", () => undefined);
    worker.on("error", () => undefined);
    const pull = async (): Promise<unknown> => {
      const job: Job<unknown> | undefined = await worker.getNextJob("token", { block: false });
      await job?.moveToCompleted(null, "token", false);
      return job?.data;
    };
    try {
      await queue.add("job", 1);
      expect([await pull(), await pull()]).toEqual([1, undefined]);
      await place.fail();
      await queue.add("job", 2);
      expect([await pull(), await pull()]).toEqual([2, undefined]);
    } finally {
      await worker.close();
      await queue.close();
    }
  });
});
