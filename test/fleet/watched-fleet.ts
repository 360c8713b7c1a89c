import { Queue } from "bullmq";
import { FleetKeys } from "../../src/fleet/wire/keys.ts";
import { readMachines } from "../../src/fleet/wire/members.ts";
import { type MachineInfo, PROTOCOL, queueName } from "../../src/fleet/wire/messages.ts";
import { RedisConnection } from "../../src/fleet/redis/connection.ts";
import { Seal } from "../../src/kernel/store/seal.ts";
import type { MachineProcess, TestFleet } from "./fleet.ts";

/** A queue's own: its settings, its marks for machines that wait, its counters and a stream of bounded length. */
const QUEUE_KEYS = ["meta", "marker", "pc", "id", "events"];

const LOSING_MS = 60;

/** What can be seen of a fleet from outside. */
export interface FleetWatch extends AsyncDisposable {
  readonly connection: RedisConnection;
  /** What its machines last said of themselves. */
  machines(): Promise<readonly MachineInfo[]>;
  /** One that has something to do. */
  busy(): Promise<MachineProcess | undefined>;
  /** How many jobs of BullMQ there are, whatever becomes of them. */
  jobs(): Promise<number>;
  /** Cuts off all who read letters, and takes away what comes until they are back. Answers how many letters are gone. */
  loseLetters(): Promise<number>;
  /** Names of keys that never expire, but for the few that BullMQ has for a queue. */
  lasting(): Promise<readonly string[]>;
}

export function watchFleet(fleet: Pick<TestFleet, "url" | "name" | "machines">): FleetWatch {
  const connection = RedisConnection.open(fleet.url, "watch");
  const keys = new FleetKeys(fleet.name);
  const seal = Seal.of(undefined);
  const queue = new Queue(queueName(PROTOCOL), { connection: connection.client, prefix: keys.prefix });
  queue.on("error", () => undefined);
  const machines = async (): Promise<readonly MachineInfo[]> => [
    ...((await readMachines({ connection, keys, seal }))?.machines.values() ?? []),
  ];
  return {
    connection,
    machines,
    busy: async () => {
      const info = (await machines()).find(({ busySlots }) => busySlots > 0);
      return fleet.machines.find(({ id }) => id === info?.id);
    },
    jobs: async () => Object.values(await queue.getJobCounts()).reduce((sum, count) => sum + count, 0),
    loseLetters: async () => {
      const { client } = connection;
      const clients = String(await client.client("LIST")).split("\n");
      const readers = clients.flatMap((line) => /^id=(\d+) .* name=glovebox:\S+:inbox /.exec(line)?.[1] ?? []);
      await Promise.all(readers.map((id) => client.client("KILL", "ID", id)));
      let lost = 0;
      const untilMs = performance.now() + LOSING_MS;
      while (performance.now() < untilMs) {
        for (const box of await client.keys(keys.of("mail", "*"))) {
          lost += await client.xlen(box);
          await client.del(box);
        }
      }
      return lost;
    },
    lasting: async () => {
      const { client } = connection;
      const names = await client.keys(keys.of("*"));
      const ttls = await Promise.all(names.map((name) => client.pttl(name)));
      const own = new Set(QUEUE_KEYS.map((key) => queue.toKey(key)));
      return names.filter((name, at) => ttls[at] === -1 && !own.has(name));
    },
    [Symbol.asyncDispose]: async () => {
      await queue.close();
      await connection.close();
    },
  };
}
