import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { RedisDurableCalls } from "../../../src/fleet/durable-calls/redis-durable-calls.ts";
import type { RedisConnection } from "../../../src/fleet/redis/connection.ts";
import { ScriptRunner } from "../../../src/fleet/redis/script.ts";
import { Seal } from "../../../src/kernel/store/seal.ts";
import type { DurableCapacity } from "../../../src/kernel/store/calls/durable/durable-call.ts";
import { RedisSnippets } from "../../../src/fleet/durable-calls/redis-snippets.ts";
import { describeSnippets } from "../../kernel/store/calls/durable/snippet-suite.ts";
import { describeNotes } from "../../kernel/store/calls/durable/note-suite.ts";
import { describeDurableCalls } from "../../kernel/store/calls/durable/suite.ts";
import { connectTo, type RedisServer, startRedis } from "../../redis-server.ts";

const SEAL = Seal.of("a secret of the fleet");

let server: RedisServer;
let connection: RedisConnection;
beforeAll(async () => {
  server = await startRedis({ args: ["--appendfsync", "no"] });
  connection = await connectTo(server.url);
});
afterAll(async () => {
  await connection.close();
  await server[Symbol.asyncDispose]();
});

/** Sum of what calls and scripts have, as their own texts say. */
async function bytesOf(prefix: string): Promise<number> {
  const { client } = connection;
  const keys = await client.keys("*");
  const sizes = keys.map(async (key) => {
    if (key.startsWith(`${prefix}:waits:script:`)) return (await client.hget(key, "text"))?.length ?? 0;
    if (!key.startsWith(`${prefix}:waits:call:`)) return 0;
    return (JSON.parse((await client.hget(key, "ix")) ?? "{}") as { readonly bytes: number }).bytes;
  });
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

function openCalls(room: DurableCapacity) {
  const prefix = `{glovebox:${randomUUID()}:calls}`;
  const clock = { nowMs: 1_000_000 };
  const runner = new ScriptRunner(connection);
  const calls = new RedisDurableCalls({ runner, seal: SEAL, prefix, room, clockMs: () => clock.nowMs });
  onTestFinished(() => calls.close());
  return { calls, prefix, clock };
}

describe("calls that wait, in Redis", () => {
  describeDurableCalls((room) => {
    const { calls, prefix, clock } = openCalls(room);
    return {
      take: (step) => {
        if ("nowMs" in step) clock.nowMs = step.nowMs;
        return calls.take(step);
      },
      sweep: (nowMs) => {
        clock.nowMs = nowMs;
        return calls.sweep();
      },
      books: async () => [
        Number(await connection.client.hget(`${prefix}:waits:total`, "bytes")),
        await bytesOf(prefix),
      ],
      pass: async (fromMs, toMs) => {
        for (clock.nowMs = fromMs; clock.nowMs < toMs; clock.nowMs += 4_000)
          await calls.take({ kind: "see", holder: "another", nowMs: clock.nowMs });
      },
    };
  }, 15);
});

describe("notes of calls, in Redis", () => {
  describeNotes((room) => {
    const { calls, prefix, clock } = openCalls(room);
    const { client } = connection;
    return {
      take: (step) => {
        if ("nowMs" in step) clock.nowMs = step.nowMs;
        return calls.take(step);
      },
      sweep: (nowMs) => {
        clock.nowMs = nowMs;
        return calls.sweep();
      },
      count: () => client.zcard(`${prefix}:waits:notes:a`),
      fill: async () => {
        const older = Array.from({ length: 10_000 }, (_, at) => [900_000 + at, `ended c_old${at}`]).flat();
        await client.zadd(`${prefix}:waits:notes:a`, ...older);
      },
    };
  });
});

describe("snippets, in Redis", () => {
  const openSnippets = (seal = SEAL, prefix = `{glovebox:${randomUUID()}:calls}`) =>
    new RedisSnippets(new ScriptRunner(connection), seal, prefix);
  describeSnippets(() => {
    const snippets = openSnippets();
    return (step) => snippets.take(step);
  });

  test("are sealed: who has another secret, or changes one, gets nothing of it", async () => {
    const prefix = `{glovebox:${randomUUID()}:calls}`;
    const [own, foreign] = [
      openSnippets(SEAL, prefix),
      openSnippets(Seal.of("another secret of another fleet"), prefix),
    ];
    for (const name of ["payroll", "bonus"])
      await own.take({ kind: "save", snippet: { tenant: "acme", name, text: "private" }, revision: name });
    const read = { kind: "snippets", known: null } as const;
    const { client } = connection;
    const stored = await client.hgetall(`${prefix}:snippets`);
    expect(JSON.stringify(stored)).not.toMatch(/acme|payroll|bonus|private/);
    expect(await foreign.take(read)).toMatchObject({ snippets: [] });
    const [one = "", other = ""] = Object.keys(stored);
    await client.hset(`${prefix}:snippets`, one, stored[other] ?? "");
    const left = await own.take(read);
    expect(left.kind === "snippets" ? left.snippets : null).toHaveLength(1);
  });
});
