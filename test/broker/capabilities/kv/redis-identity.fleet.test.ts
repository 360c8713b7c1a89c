import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { RedisKvStore } from "../../../../src/broker/capabilities/kv/redis-store.ts";
import { RedisConnection } from "../../../../src/store/redis/connection.ts";
import { type RedisServer, startRedis } from "../../../redis-server.ts";

const KEY = "glovebox:kv:identity";

let server: RedisServer;
let peek: RedisConnection;

beforeAll(async () => {
  server = await startRedis();
  peek = RedisConnection.open(server.url, "peek");
});
afterAll(async () => {
  await peek.close();
  await server[Symbol.asyncDispose]();
});

function open(url = server.url): RedisKvStore {
  const store = new RedisKvStore({ url });
  onTestFinished(() => store.close());
  return store;
}

async function identityOf(store: RedisKvStore): Promise<string> {
  await expect.poll(() => store.identity, { timeout: 10_000 }).not.toBeNull();
  return store.identity ?? "";
}

/** Ends the connections of stores, which come again. */
async function cut(): Promise<void> {
  const clients = String(await peek.client.client("LIST")).split("\n");
  const ids = clients.flatMap((line) => /^id=(\d+) .* name=glovebox:kv /.exec(line)?.[1] ?? []);
  expect(ids).not.toEqual([]);
  await Promise.all(ids.map((id) => peek.client.client("KILL", "ID", id)));
}

test("a store has one identity, whoever opens it, and another database has another", async () => {
  const first = open();
  expect(first.identity).toBeNull();
  const identity = await identityOf(first);
  expect(await identityOf(open())).toBe(identity);
  expect(await identityOf(open(`${server.url}/1`))).not.toBe(identity);
});

test("a store that was emptied has another identity, which is the same for all again", async () => {
  const stores = [open(), open()];
  const [before] = await Promise.all(stores.map(identityOf));
  await peek.client.flushall();
  await expect
    .poll(() => stores.every(({ identity }) => identity !== null && identity !== before), { timeout: 15_000 })
    .toBe(true);
  const [after, same] = await Promise.all(stores.map(identityOf));
  expect(after).toBe(same);
}, 30_000);

test("what is behind a new connection is not known until it was looked at", async () => {
  const store = open();
  const before = await identityOf(store);
  await peek.client.set(KEY, "0b0e7b8a-0000-4000-8000-000000000000");
  await cut();
  // It was the old one until then, for no longer than the connection lives.
  await expect.poll(() => store.identity, { timeout: 4_000, interval: 5 }).not.toBe(before);
  expect(await identityOf(store)).toBe("0b0e7b8a-0000-4000-8000-000000000000");
});

test.each([
  ["what is no id", () => peek.client.set(KEY, "x".repeat(100_000))],
  ["a list", () => peek.client.lpush(KEY, "a")],
])("%s is no identity", async (_, put) => {
  await peek.client.del(KEY);
  await put();
  const store = open();
  expect(store.identity).toBeNull();
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(store.identity).toBeNull();
  await peek.client.del(KEY);
});
