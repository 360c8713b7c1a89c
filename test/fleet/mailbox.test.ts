import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FleetKeys } from "../../src/fleet/keys.ts";
import { Inbox, type MailOptions, Outbox } from "../../src/fleet/mailbox.ts";
import { PROTOCOL } from "../../src/fleet/messages.ts";
import { Payloads } from "../../src/fleet/payloads.ts";
import { RedisConnection } from "../../src/redis/connection.ts";
import { Seal } from "../../src/redis/seal.ts";
import { type RedisServer, startRedis } from "../redis-server.ts";

const KEYS = new FleetKeys("test");

let redis: RedisServer;
let connection: RedisConnection;

beforeAll(async () => {
  redis = await startRedis();
  connection = RedisConnection.open(redis.url, "test", { key: KEYS.prefix });
  await connection.ready(10_000);
});

afterAll(async () => {
  await connection.close();
  await redis[Symbol.asyncDispose]();
});

function member(): MailOptions {
  return {
    connection,
    keys: KEYS,
    payloads: new Payloads(connection, KEYS, Seal.of(undefined)),
    id: `server-${randomBytes(8).toString("hex")}`,
  };
}

describe("mail", () => {
  // Of 300,000 characters two are too long for one letter, and each is too long for a stream.
  test.each([
    ["short", Array.from({ length: 300 }, (_, nth) => `${nth}`)],
    ["long", Array.from({ length: 7 }, (_, nth) => `${nth}`.repeat(300_000))],
    ["short and long", Array.from({ length: 40 }, (_, nth) => `${nth % 8}`.repeat(nth % 8 === 7 ? 600_000 : nth + 1))],
  ])("that is sent in one turn of the event loop arrives in its order: %s", async (_what, texts) => {
    const [from, to] = [member(), member()];
    const outbox = new Outbox<string>({ ...from, protocolOf: () => PROTOCOL });
    const heard: string[] = [];
    const damage: string[] = [];
    const { promise: all, resolve } = Promise.withResolvers<void>();
    const inbox = new Inbox<string>({
      ...to,
      protocols: [PROTOCOL],
      read: String,
      onMessage: (sender, message) => {
        expect(sender).toBe(from.id);
        if (heard.push(message) === texts.length) resolve();
      },
      onDamage: (why) => damage.push(why),
    });
    inbox.start();
    for (const text of texts) outbox.send(to.id, text);
    await all;
    outbox.close();
    await inbox.close();
    expect(heard.every((text, nth) => text === texts[nth])).toBe(true);
    expect(damage).toEqual([]);
  });
});
