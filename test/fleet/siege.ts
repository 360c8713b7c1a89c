import type { Redis } from "ioredis";
import { afterAll, beforeAll } from "vitest";
import { resolveExecutorOptions } from "../../src/kernel/executor/options.ts";
import { defineCapability, type Engine, type EngineOptions, type ToolResult } from "../../src/glovebox/index.ts";
import { FleetKeys } from "../../src/fleet/wire/keys.ts";
import { scaled } from "../../src/fleet/wire/fleet-timings.ts";
import { PRELUDE_PARTS } from "../../src/standard/plugins.ts";
import { type Machine, startMachine } from "../../src/fleet/machine/machine.ts";
import { RedisConnection } from "../../src/fleet/redis/connection.ts";
import { type RedisServer, startRedis } from "../redis-server.ts";
import { createFleetEngine, SCALE } from "./fleet.ts";

/** A line of the log of a server or a machine. */
export interface Line {
  readonly fields: object;
  readonly message: string;
}

/** A server and a machine in this process, and somebody who can read and write their Redis. */
export interface Siege {
  readonly redis: RedisServer;
  readonly keys: FleetKeys;
  readonly engine: Engine;
  readonly machine: Machine;
  /** The ids by which boxes are named. */
  readonly serverId: string;
  readonly machineId: string;
  /** Of whoever can write to Redis. */
  readonly client: Redis;
  readonly lines: readonly Line[];
  /** What the capability `deeds` was asked to do. */
  readonly deeds: readonly unknown[];
  /** Lets calls go on that wait in `deeds.wait`. */
  readonly open: () => void;
  /** Adds two numbers in the fleet, which nothing may keep from being right. */
  readonly add: (a: number, b: number) => Promise<unknown>;
  /** Does a deed once, and answers after `open`. */
  readonly wait: (what: unknown) => Promise<ToolResult>;
}

const FLEET = "siege";
const GIVEN = { deeds: true } as const;

/** Starts a machine in this process. */
export function machineIn(
  redis: Pick<RedisServer, "url">,
  secret: string | undefined,
  lines: Line[],
  {
    scale = SCALE,
    ...more
  }: { readonly protocols?: readonly number[]; readonly fleet?: string; readonly scale?: number } = {},
): Promise<Machine> {
  const log = (fields: object, message: string): void => void lines.push({ fields, message });
  return startMachine({
    parts: PRELUDE_PARTS,
    url: redis.url,
    fleet: FLEET,
    secret,
    slots: 4,
    workers: 1,
    timings: scaled(scale),
    executor: { ...resolveExecutorOptions("process"), spare: false },
    logger: { info: log, warn: log },
    ...more,
  });
}

export async function startSiege(
  secret: string | undefined,
  more: Partial<EngineOptions> = {},
  redis?: RedisServer,
  scale = SCALE,
): Promise<Siege & AsyncDisposable> {
  // No siege restarts its Redis, and a disk that is behind makes a Redis with a file stand still.
  redis ??= await startRedis({ args: ["--appendonly", "no"] });
  const lines: Line[] = [];
  const deeds: unknown[] = [];
  const opened = Promise.withResolvers<void>();
  let open = opened;
  const machine = await machineIn(redis, secret, lines, { scale });
  const capability = defineCapability({
    name: "deeds",
    methods: {
      wait: {
        handler: async (what: unknown) => {
          deeds.push(what);
          await open.promise;
          return what;
        },
      },
    },
  });
  const log = (fields: object, message: string): void => void lines.push({ fields, message });
  const engine = await createFleetEngine(
    {
      executor: { kind: "queue", url: redis.url, fleet: FLEET, ...(secret === undefined ? {} : { secret }) },
      logger: { info: log, warn: log },
      capabilities: [capability],
      policy: { rules: [{ allow: GIVEN }] },
      ...more,
    },
    scale,
  );
  await engine.register({ name: "add", description: "adds", source: "export default ({ a, b }) => a + b" });
  await engine.register({
    name: "wait",
    description: "does a deed",
    capabilities: GIVEN,
    source: "export default (what, { host }) => host.deeds.wait(what)",
  });
  const keys = new FleetKeys(FLEET);
  const connection = RedisConnection.open(redis.url, "whoever");
  await connection.ready(5_000);
  const client = connection.client as Redis;
  const [serverId = ""] = await client.zrange(keys.of("servers"), 0, "-1");
  return {
    redis,
    keys,
    engine,
    machine,
    serverId,
    machineId: machine.stats().id,
    client,
    lines,
    deeds,
    open: () => {
      open.resolve();
      open = Promise.withResolvers<void>();
    },
    add: async (a, b) => (await engine.execute({ name: "add", arguments: { a, b } })).output,
    wait: (what) => engine.execute({ name: "wait", arguments: { what } }),
    [Symbol.asyncDispose]: async () => {
      await engine.close();
      await machine.close();
      await connection.close();
      await redis[Symbol.asyncDispose]();
    },
  };
}

/** One siege for all tests of a file, or of a part of it. */
export function siegeOf(secret: string | undefined, more: Partial<EngineOptions> = {}, scale = SCALE): () => Siege {
  let siege: (Siege & AsyncDisposable) | undefined;
  beforeAll(async () => {
    siege = await startSiege(secret, more, undefined, scale);
  }, 300_000);
  afterAll(() => siege?.[Symbol.asyncDispose]());
  return () => {
    if (siege === undefined) throw new Error("there is no siege yet");
    return siege;
  };
}
