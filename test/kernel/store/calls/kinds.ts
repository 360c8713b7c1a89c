import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createFile, layOut } from "../../../../src/kernel/store/sqlite/layout.ts";
import type { ClaimResult, KeyedCall, LedgerCapacity } from "../../../../src/kernel/store/calls/ledger.ts";
import { RedisCalls } from "../../../../src/fleet/ledger/redis-calls.ts";
import { CALLS_LAYOUT } from "../../../../src/kernel/store/calls/call-tables.ts";
import { LedgerTables } from "../../../../src/kernel/store/calls/ledger-tables.ts";
import { RedisConnection } from "../../../../src/fleet/redis/connection.ts";
import { Seal } from "../../../../src/kernel/store/seal.ts";
import { type RedisServer, startRedis } from "../../../redis-server.ts";

export const HOLDERS = 3;
const MIB = 1024 * 1024;

/** What one process does with a ledger, at the times that the test says. */
export interface Holder {
  claim(call: KeyedCall, nowMs: number): Promise<ClaimResult>;
  settle(call: KeyedCall, result: string, nowMs: number): Promise<void>;
  release(call: KeyedCall, nowMs: number): Promise<void>;
  see(nowMs: number): Promise<void>;
  leave(): Promise<void>;
  sweep(nowMs: number): Promise<void>;
}

interface Sums {
  readonly calls: number;
  readonly bytes: number;
}

/** A ledger that is open in several processes. */
export interface Opened extends AsyncDisposable {
  /** A process of its own, on one of the connections. */
  holder(at: number, name: string): Holder;
  /** What is there, what the books say of it in sum, and what by tenant. */
  books(): Promise<{ readonly kept: Sums; readonly total: Sums; readonly tenants: Sums }>;
  isKept(call: KeyedCall): Promise<boolean>;
}

export interface LedgerKind extends AsyncDisposable {
  open(room: LedgerCapacity): Promise<Opened>;
}

export const KINDS: Readonly<Record<string, () => Promise<LedgerKind>>> = {
  "in a file": async () => ({ open: async (room) => openFile(room), [Symbol.asyncDispose]: async () => undefined }),
  "in Redis": startKind,
};

function openFile(room: LedgerCapacity): Opened {
  const folder = mkdtempSync(join(tmpdir(), "glovebox-ledger-"));
  const path = join(folder, "keys.sqlite");
  createFile(path);
  const connect = () => {
    const database = new DatabaseSync(path);
    layOut(database, 256 * MIB, CALLS_LAYOUT);
    return { database, calls: new LedgerTables(database, room) };
  };
  const first = connect();
  const all = [first, ...Array.from({ length: HOLDERS - 1 }, connect)];
  const sums = async (sql: string): Promise<Sums> => {
    const { calls, bytes } = first.database.prepare(sql).get() ?? {};
    return { calls: Number(calls), bytes: Number(bytes) };
  };
  return {
    holder: (at, name) => {
      const { calls } = all[at] ?? first;
      return {
        claim: async (call, nowMs) =>
          calls.take([{ kind: "claim", call, holder: name }], nowMs)[0] ?? { kind: "unknown", hasEnded: false },
        settle: async (call, result, nowMs) => void calls.take([{ kind: "settle", call, holder: name, result }], nowMs),
        release: async (call, nowMs) => void calls.take([{ kind: "release", call, holder: name }], nowMs),
        see: async (nowMs) => void calls.take([{ kind: "see", holder: name }], nowMs),
        leave: async () => void calls.take([{ kind: "leave", holder: name }], 0),
        sweep: async (nowMs) => void calls.sweep(nowMs),
      };
    },
    books: async () => ({
      kept: await sums("SELECT count(*) AS calls, ifnull(sum(bytes), 0) AS bytes FROM keyed"),
      total: await sums("SELECT calls, bytes FROM keyed_total"),
      tenants: await sums("SELECT ifnull(sum(calls), 0) AS calls, ifnull(sum(bytes), 0) AS bytes FROM keyed_tenant"),
    }),
    isKept: async ({ digest }) =>
      first.database.prepare("SELECT 1 FROM keyed WHERE digest = ?").get(digest) !== undefined,
    [Symbol.asyncDispose]: async () => {
      for (const { database } of all) database.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function startKind(): Promise<LedgerKind> {
  const server: RedisServer = await startRedis();
  const connections = Array.from({ length: HOLDERS }, (_, at) => RedisConnection.open(server.url, `test${at}`));
  let opened = 0;
  return {
    open: async (room) => openRedis(connections, `f${++opened}`, room),
    [Symbol.asyncDispose]: async () => {
      await Promise.all(connections.map((each) => each.close()));
      await server[Symbol.asyncDispose]();
    },
  };
}

function openRedis(connections: readonly RedisConnection[], fleet: string, room: LedgerCapacity): Opened {
  const all = connections.map((each) => new RedisCalls(each, { fleet, room, seal: Seal.of(undefined) }));
  const [first] = connections;
  const client = first?.client;
  if (client === undefined) throw new Error("no connection");
  const key = (name: string) => `{glovebox:${fleet}:ledger}:${name}`;
  let claims = 0;
  const sumsOf = async (name: string): Promise<number> => {
    const scored = await client.zrange(key(name), "0", "-1", "WITHSCORES");
    return scored.filter((_, at) => at % 2 === 1).reduce((sum, each) => sum + Number(each), 0);
  };
  return {
    holder: (at, name) => {
      const calls = all[at] as RedisCalls;
      /** By which claim of this process a call is its own. */
      const own = new Map<string, string>();
      const hex = ({ digest }: KeyedCall) => Buffer.from(digest).toString("hex");
      const ownOf = (call: KeyedCall) => own.get(hex(call)) ?? `${name}:none`;
      return {
        claim: async (call, nowMs) => {
          const holder = `${name}:${++claims}`;
          const claim = await calls.claim(call, holder, nowMs);
          if (claim.kind === "mine") own.set(hex(call), holder);
          return claim;
        },
        settle: async (call, result, nowMs) => void (await calls.settle(hex(call), ownOf(call), result, nowMs)),
        release: async (call, nowMs) => calls.release(hex(call), ownOf(call), nowMs),
        see: async (nowMs) => calls.see(name, nowMs),
        leave: async () => calls.leave(name),
        sweep: async (nowMs) => calls.sweep(nowMs),
      };
    },
    books: async () => {
      const marks = await client.zrange(key("ended"), "0", "-1");
      const hashes = await client.keys(key("call:*").replace(/[{}]/g, "\\$&"));
      const sizes = marks.map((mark) => Number(mark.split(":").at(-1)));
      const [calls, bytes] = await client.hmget(key("books"), "calls", "bytes");
      return {
        kept: { calls: hashes.length, bytes: sizes.reduce((sum, each) => sum + each, 0) },
        total: { calls: Number(calls), bytes: Number(bytes) },
        tenants: { calls: await sumsOf("calls"), bytes: await sumsOf("bytes") },
      };
    },
    isKept: async ({ digest }) => (await client.exists(key(`call:${Buffer.from(digest).toString("hex")}`))) === 1,
    [Symbol.asyncDispose]: async () => undefined,
  };
}
