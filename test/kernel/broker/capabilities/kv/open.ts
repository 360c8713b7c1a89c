import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, onTestFinished } from "vitest";
import type { Capability } from "../../../../../src/kernel/broker/capabilities/capability.ts";
import { createKv } from "../../../../../src/kernel/broker/capabilities/kv/kv.ts";
import { RedisKvStore } from "../../../../../src/fleet/kv/redis-store.ts";
import { SqliteKvStore } from "../../../../../src/kernel/broker/capabilities/kv/sqlite-store.ts";
import { type RedisServer, type RedisServerOptions, startRedis } from "../../../../redis-server.ts";

export const MIB = 1024 * 1024;

export interface Who {
  readonly tool?: string;
  readonly tenant?: string;
  readonly quotaBytes?: number;
  readonly signal?: AbortSignal;
  /** Time that the call has left. */
  readonly leftMs?: number;
  readonly onWait?: () => void;
  /** Begins the names of its writes. */
  readonly effectsId?: string;
}

/** Calls a method of `kv` on a call's behalf. */
export type Invoke = (method: string, args?: object, step?: number) => Promise<unknown>;

/** A store that is closed when the test ends; of a file, where there is one. */
export function openKv(path = ":memory:", maxBytes = 64 * MIB): Capability<number> {
  const kv = createKv(() => new SqliteKvStore({ path, maxBytes }));
  onTestFinished(() => kv.close?.());
  return kv;
}

/** Opens a store in which nobody has anything, and which is closed when the test ends. */
export type OpenStore = () => Capability<number>;

/** Databases of a Redis: each store that a test opens has one of its own. */
const DATABASES = 2_000;

/** The stores there are, for suites that hold for each of them. That of Redis has a server for as long as the suite runs. */
export const STORES: readonly (readonly [name: string, prepare: () => OpenStore])[] = [
  ["in SQLite", () => () => openKv()],
  [
    "in Redis",
    () => {
      let server: RedisServer | undefined;
      let opened = 0;
      beforeAll(async () => {
        server = await startRedis({ args: ["--databases", `${DATABASES}`, "--appendonly", "no"] });
      });
      afterAll(() => server?.[Symbol.asyncDispose]());
      return () => openRedisKv(`${server?.url}/${opened++}`);
    },
  ],
];

/** A store in Redis that is closed when the test ends. */
export function openRedisKv(url: string): Capability<number> {
  const kv = createKv(() => new RedisKvStore({ url }));
  onTestFinished(() => kv.close?.());
  return kv;
}

const NEVER = new AbortController().signal;

/** `kv` as a call has it. */
export function callOf(
  kv: Capability<number>,
  { tool = "t", tenant, quotaBytes = MIB, signal = NEVER, leftMs, onWait, effectsId }: Who = {},
): Invoke {
  const call = {
    callId: "c",
    tool,
    ...(tenant === undefined ? {} : { tenant }),
    ...(leftMs === undefined ? {} : { endsMs: performance.now() + leftMs }),
    ...(onWait === undefined ? {} : { onWait }),
    ...(effectsId === undefined ? {} : { effectsId }),
    signal,
    callTool: () => Promise.reject(new Error("there are no other tools")),
    grantsOf: () => [],
  };
  const open = kv.open(call, [quotaBytes]);
  return async (method, args = {}, step = 1) => open.invoke(method, args, step);
}

/** A path in a folder that goes when the test ends. */
export async function temporaryFile(name = "kv.sqlite"): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "glovebox-kv-")));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return join(folder, name);
}

/** A server of the test's own. */
export async function startOwnRedis(options: RedisServerOptions = {}): Promise<RedisServer> {
  const own = await startRedis(options);
  onTestFinished(() => own[Symbol.asyncDispose]());
  return own;
}

/** How something ends, with the name of its error. */
export async function messageOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => "it went well",
    (error: unknown) => `${(error as Error).name}: ${(error as Error).message}`,
  );
}
