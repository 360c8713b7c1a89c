import { EventEmitter, once } from "node:events";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Fleet } from "../../../src/fleet/wire/fleet.ts";
import { Inbox } from "../../../src/fleet/wire/inbox.ts";
import { MessageOutbox } from "../../../src/fleet/wire/message-outbox.ts";
import { PROTOCOL } from "../../../src/fleet/wire/messages.ts";
import { type RedisServer, startRedis } from "../../redis-server.ts";
import { TIMINGS } from "../fleet.ts";

let redis: RedisServer;
let fleets: Fleet[];
let outbox: MessageOutbox<number>;
let texts: MessageOutbox<string>;
let inbox: Inbox<number>;
let heard: number[];
const news = new EventEmitter();

beforeEach(async () => {
  redis = await startRedis();
  fleets = (["machine", "server"] as const).map(
    (kind) => new Fleet({ url: redis.url, fleet: "test", secret: undefined }, kind),
  );
  await Promise.all(fleets.map(({ connection }) => connection.ready(10_000)));
  heard = [];
  const onMessage = (_: string, message: number) => {
    heard.push(message);
    news.emit("heard");
  };
  const [sender, receiver] = fleets;
  if (sender === undefined || receiver === undefined) throw new Error("there are two");
  outbox = new MessageOutbox({ ...mailOf(sender), protocolOf: () => PROTOCOL });
  texts = new MessageOutbox({ ...mailOf(sender), protocolOf: () => PROTOCOL });
  const reading = { protocols: [PROTOCOL], timings: TIMINGS, read: Number };
  inbox = new Inbox({
    ...mailOf(receiver),
    ...reading,
    onMessage,
    onDamage: (why) => heard.push(Number.NaN, why.length),
  });
});
afterEach(async () => {
  outbox.close();
  texts.close();
  await inbox.close();
  await Promise.all(fleets.map((fleet) => fleet.close()));
  await redis[Symbol.asyncDispose]();
});

function mailOf({ connection, keys, payloads, id }: Fleet) {
  return { connection, keys, payloads, id };
}

const lettersOf = ({ connection, keys, id }: Fleet) => connection.client.xlen(keys.of("mail", id));

test("what is not urgent goes with what comes next, and before it", async () => {
  const [, receiver] = fleets;
  if (receiver === undefined) throw new Error("there are two");
  outbox.sendSoon(receiver.id, 1);
  await new Promise((resolve) => setImmediate(resolve));
  outbox.send(receiver.id, 2);
  await expect.poll(() => lettersOf(receiver), { timeout: 60_000 }).toBe(1);
  inbox.start();
  while (heard.length < 2) await once(news, "heard");
  expect(heard).toEqual([1, 2]);
});

test("what is not urgent goes by itself where nothing comes", async () => {
  const [, receiver] = fleets;
  if (receiver === undefined) throw new Error("there are two");
  inbox.start();
  outbox.sendSoon(receiver.id, 1);
  await once(news, "heard");
  expect(heard).toEqual([1]);
});

test("long texts that are said at once all come, and are not taken for what a lost Redis leaves waiting", async () => {
  const [, receiver] = fleets;
  if (receiver === undefined) throw new Error("there are two");
  inbox.start();
  // Numbers are read of texts, whatever stands before them.
  for (const digit of ["1", "2"]) texts.send(receiver.id, digit.padStart(40 * 1024 * 1024, " "));
  while (heard.length < 2) await once(news, "heard");
  expect(heard).toEqual([1, 2]);
});
