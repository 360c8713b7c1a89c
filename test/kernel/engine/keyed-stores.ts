import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { onTestFinished } from "vitest";
import type { IdempotencyOptions } from "../../../src/kernel/engine/options.ts";
import { RedisConnection } from "../../../src/fleet/redis/connection.ts";
import { startRedis } from "../../redis-server.ts";

/** Where the ends of calls with keys are kept, for one test. */
export interface KeyedStore {
  readonly options: IdempotencyOptions;
  /** Says of all processes that they were last seen long ago, as they will be in a while. */
  forgetProcesses(): Promise<void>;
}

/** A kind of store that several processes may have in common. */
export interface KeyedStores extends AsyncDisposable {
  open(): Promise<KeyedStore>;
}

export const STORES: Readonly<Record<string, () => Promise<KeyedStores>>> = {
  file: async () => ({ open: openFile, [Symbol.asyncDispose]: async () => undefined }),
  Redis: startStores,
};

/** A folder that goes when the test ends. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "glovebox-keys-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function openFile(): Promise<KeyedStore> {
  const path = join(await temporaryFolder(), "keys.sqlite");
  return {
    options: { path },
    forgetProcesses: async () => {
      using database = new DatabaseSync(path, { timeout: 2_000 });
      database.exec("UPDATE holder SET seen_ms = 0");
    },
  };
}

async function startStores(): Promise<KeyedStores> {
  const server = await startRedis();
  const connection = RedisConnection.open(server.url, "test");
  let opened = 0;
  return {
    open: async () => {
      const fleet = `f${++opened}`;
      return {
        options: { url: server.url, fleet },
        forgetProcesses: async () => {
          const holders = `{glovebox:${fleet}:ledger}:holders`;
          for (const one of await connection.client.zrange(holders, "0", "-1"))
            await connection.client.zadd(holders, 0, one);
        },
      };
    },
    [Symbol.asyncDispose]: async () => {
      await connection.close();
      await server[Symbol.asyncDispose]();
    },
  };
}
