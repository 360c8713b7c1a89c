import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { FleetKeys } from "../../../src/fleet/wire/keys.ts";
import { Inbox } from "../../../src/fleet/wire/inbox.ts";
import { type MessagingOptions, MessageOutbox } from "../../../src/fleet/wire/message-outbox.ts";
import { PROTOCOL } from "../../../src/fleet/wire/messages.ts";
import { Payloads } from "../../../src/fleet/wire/payloads.ts";
import { ProtocolError } from "../../../src/kernel/base/protocol/wire.ts";
import { RedisConnection } from "../../../src/fleet/redis/connection.ts";
import { Seal } from "../../../src/kernel/store/seal.ts";
import { type RedisServer, startRedis } from "../../redis-server.ts";
import { TIMINGS } from "../fleet.ts";

const KEYS = new FleetKeys("test");
/** For what comes by itself, on a machine that is busy. */
const WAIT = { timeout: 120_000 };

/** Texts as they are. */
const READING = { protocols: [PROTOCOL], timings: TIMINGS, read: String };

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

function member(): MessagingOptions {
  return {
    connection,
    keys: KEYS,
    payloads: new Payloads({ connection, bulk: connection }, KEYS, Seal.of(undefined)),
    id: `server-${randomBytes(8).toString("hex")}`,
  };
}

/** Sends texts in one turn of the event loop, and answers what arrives when all have. */
async function deliver(texts: readonly string[], send: (outbox: MessageOutbox<string>, to: string) => void) {
  const [from, to] = [member(), member()];
  const heard: string[] = [];
  const damage: string[] = [];
  const { promise: all, resolve } = Promise.withResolvers<void>();
  const onMessage = (sender: string, message: string): void => {
    expect(sender).toBe(from.id);
    if (heard.push(message) === texts.length) resolve();
  };
  const outbox = new MessageOutbox<string>({ ...from, protocolOf: () => PROTOCOL });
  const inbox = new Inbox<string>({ ...to, ...READING, onMessage, onDamage: (why) => damage.push(why) });
  inbox.start();
  send(outbox, to.id);
  await all;
  outbox.close();
  await inbox.close();
  expect(damage).toEqual([]);
  return heard;
}

describe("mail", () => {
  // Of 300,000 characters two are too long for one letter, and each is too long for a stream.
  test.each([
    ["short", Array.from({ length: 300 }, (_, nth) => `${nth}`)],
    ["long", Array.from({ length: 7 }, (_, nth) => `${nth}`.repeat(300_000))],
    ["short and long", Array.from({ length: 40 }, (_, nth) => `${nth % 8}`.repeat(nth % 8 === 7 ? 600_000 : nth + 1))],
  ])("that is sent in one turn of the event loop arrives in its order: %s", async (_what, texts) => {
    const heard = await deliver(texts, (outbox, to) => {
      for (const text of texts) outbox.send(to, text);
    });
    expect(heard.every((text, nth) => text === texts[nth])).toBe(true);
  });

  test.each([
    [
      "alone",
      ["a", "b"],
      (outbox: MessageOutbox<string>, to: string) => ["a", "b"].forEach((text) => outbox.sendSoon(to, text)),
    ],
    [
      "before what is sent",
      ["a", "b"],
      (outbox: MessageOutbox<string>, to: string) => {
        outbox.sendSoon(to, "a");
        outbox.send(to, "b");
      },
    ],
  ])("that nobody waits for arrives in its order as well: %s", async (_how, texts, send) => {
    expect(await deliver(texts, send)).toEqual(texts);
  });

  test("is not thrown away where the clock of this process is days behind", async () => {
    const now = Date.now;
    using _clock = vi.spyOn(Date, "now").mockImplementation(() => now() - 3 * 24 * 3_600_000);
    // `deliver` expects no damage.
    expect(await deliver(["a", "b"], (outbox, to) => ["a", "b"].forEach((text) => outbox.send(to, text)))).toEqual([
      "a",
      "b",
    ]);
  });

  test("that is long leaves nothing behind in Redis once it has been read", async () => {
    const texts = Array.from({ length: 5 }, (_, nth) => `${nth}`.repeat(300_000));
    await deliver(texts, (outbox, to) => {
      for (const text of texts) outbox.send(to, text);
    });
    await expect.poll(() => connection.client.keys(KEYS.of("side", "*")), WAIT).toEqual([]);
  });

  test("lies in a box that expires by itself, also where it came too late", async () => {
    const to = member();
    const outbox = new MessageOutbox<string>({ ...member(), protocolOf: () => PROTOCOL });
    const box = KEYS.of("mail", to.id);
    const { promise: heard, resolve } = Promise.withResolvers<void>();
    const inbox = new Inbox<string>({ ...to, ...READING, onMessage: () => resolve(), onDamage: () => undefined });
    inbox.start();
    outbox.send(to.id, "text");
    await heard;
    await inbox.close();
    outbox.send(to.id, "too late");
    await expect.poll(() => connection.client.xlen(box), WAIT).toBe(1);
    expect(await connection.client.pttl(box)).toBeGreaterThan(0);
    outbox.close();
  });

  test("lies in a box that expires also where Redis has forgotten it and has been away meanwhile", async () => {
    await using own = await startRedis();
    await using sending = RedisConnection.open(own.url, "test");
    await sending.ready(5_000);
    const { payloads } = member();
    const outbox = new MessageOutbox<string>({
      ...member(),
      connection: sending,
      payloads,
      protocolOf: () => PROTOCOL,
    });
    const [first, second] = [member().id, member().id];
    const ttlOf = (to: string) => sending.client.pttl(KEYS.of("mail", to));
    outbox.send(first, "text");
    outbox.send(second, "text");
    await expect.poll(() => ttlOf(second), WAIT).toBeGreaterThan(0);
    await sending.client.flushall();
    // What is sent again with the next connection makes a box of which nothing more is said.
    await sending.client.xadd(KEYS.of("mail", first), "*", "m", "=");
    sending.client.disconnect(true);
    await expect.poll(() => ttlOf(first), WAIT).toBeGreaterThan(0);
    outbox.send(second, "text");
    await expect.poll(() => ttlOf(second), WAIT).toBeGreaterThan(0);
    outbox.close();
  });

  test("that was read is taken away when no more comes", async () => {
    const [from, to] = [member(), member()];
    const outbox = new MessageOutbox<string>({ ...from, protocolOf: () => PROTOCOL });
    const { promise: heard, resolve } = Promise.withResolvers<void>();
    const inbox = new Inbox<string>({ ...to, ...READING, onMessage: () => resolve(), onDamage: () => undefined });
    inbox.start();
    outbox.send(to.id, "text");
    await heard;
    await expect.poll(() => connection.client.xlen(KEYS.of("mail", to.id)), WAIT).toBe(0);
    outbox.close();
    await inbox.close();
  });

  test("that cannot be taken is told as damage, and what comes with it is read", async () => {
    const [from, to] = [member(), member()];
    const outbox = new MessageOutbox<string>({ ...from, protocolOf: () => PROTOCOL });
    const damage: string[] = [];
    const { promise: last, resolve } = Promise.withResolvers<void>();
    const onMessage = (_sender: string, message: string): void => {
      if (message === "good") resolve();
      else throw new ProtocolError(`it is ${message}`);
    };
    const inbox = new Inbox<string>({ ...to, ...READING, onMessage, onDamage: (why) => damage.push(why) });
    inbox.start();
    for (const text of ["bad", "good"]) outbox.send(to.id, text);
    await last;
    expect(damage).toEqual(["it is bad"]);
    outbox.close();
    await inbox.close();
  });
});
