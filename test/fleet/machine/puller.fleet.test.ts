import { Queue } from "bullmq";
import { expect, test } from "vitest";
import { Fleet } from "../../../src/fleet/wire/fleet.ts";
import { PROTOCOL, queueName } from "../../../src/fleet/wire/messages.ts";
import { JobPuller } from "../../../src/fleet/machine/puller.ts";
import { Slots } from "../../../src/fleet/machine/slots.ts";
import { startRedis } from "../../redis-server.ts";

test("a machine with as many open jobs as it may have takes those that they wait for, and no others", async () => {
  await using redis = await startRedis();
  const fleet = new Fleet({ url: redis.url, fleet: "test", secret: undefined }, "machine");
  const slots = new Slots(1);
  while (!slots.isCrowded) {
    slots.enter();
    slots.change(false);
  }
  const taken: string[] = [];
  const awaited = Promise.withResolvers<void>();
  const puller = new JobPuller({
    fleet,
    protocol: PROTOCOL,
    slots,
    onJob: ({ id = "" }) => {
      slots.enter();
      taken.push(id);
      awaited.resolve();
    },
  });
  const queue = new Queue(queueName(PROTOCOL), { connection: fleet.connection.client, prefix: fleet.keys.prefix });
  try {
    puller.start();
    await queue.add("calls", {}, { jobId: "ordered", priority: 1 });
    await queue.add("calls", {}, { jobId: "awaited", priority: 0 });
    await awaited.promise;
    expect(taken).toEqual(["awaited"]);
    expect(await queue.getPrioritizedCount()).toBe(1);
  } finally {
    await puller.close();
    await queue.close();
    await fleet.close();
  }
});
