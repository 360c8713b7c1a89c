// needs: redis
import { Queue } from "bullmq";
import { expect, test } from "vitest";
import { shortName } from "../../src/fleet/gate/caps.ts";
import { orderKeys } from "../../src/fleet/gate/turn.ts";
import { Seal } from "../../src/kernel/store/seal.ts";
import { PROTOCOL } from "../../src/fleet/wire/messages.ts";
import { monitorRedis } from "../redis-monitor.ts";
import type { RedisServer } from "../redis-server.ts";
import { machineIn, type Siege, siegeOf, startSiege } from "../fleet/siege.ts";

/** Whoever can read and write a fleet's Redis: with the secret of another fleet where this one has one. */
const SECRET = "the secret of this fleet";
const OTHERS = Seal.of("the secret of another fleet");
const DAMAGE = "an unreadable message from the fleet was dropped";
const MIB = 1024 * 1024;
const MEMBER = "0123456789abcdef";
/** Lines of damage that a server and a machine may each write in ten seconds. */
const LINES_MAX = 10;
/** Time in which so many lines may be written. */
const WINDOW_MS = 10_000;

const sealed = siegeOf(SECRET, { queue: { perTool: 8 } });

/** Listens to letters that are sent to these boxes, as Redis tells everybody, until it is disposed of. */
async function overhear(
  redis: RedisServer,
  boxes: readonly string[],
): Promise<{ readonly letters: readonly string[] } & Disposable> {
  const letters: string[] = [];
  const ear = await monitorRedis(redis, ([command, key, ...rest]) => {
    if (command?.toLowerCase() === "xadd" && key !== undefined && boxes.includes(key)) letters.push(rest.at(-1) ?? "");
  });
  return { letters, [Symbol.dispose]: () => ear[Symbol.dispose]() };
}

function boxesOf({ keys, serverId, machineId }: Siege): readonly [string, string] {
  return [keys.of("mail", serverId), keys.of("mail", machineId)];
}

/** Says of every call that there may be that it has ended, and asks for a deed in its name. */
function forgedMessages(server: string): readonly object[] {
  const reply = {
    outcome: { ok: true, json: '"forged"' },
    cpuMs: 0,
    waitedMs: 0,
    wallMs: 0,
    heapBytes: 0,
    attempts: 1,
    logs: "",
    dropped: 0,
  };
  const ask = {
    step: 1,
    attempt: 1,
    nowMs: 1,
    deliveredCount: 0,
    capability: "deeds",
    method: "wait",
    args: '["forged"]',
  };
  return Array.from({ length: 40 }, (_, run) => run).flatMap((run) => [
    { kind: "done", callNumber: run, start: 1, reply },
    { kind: "ask", callNumber: run, start: 1, job: `${server}-${run}`, ...ask },
    { kind: "cancel", callNumber: run, start: 1, job: `${server}-${run}` },
    {
      kind: "answer",
      callNumber: run,
      step: 1,
      attempt: 1,
      answer: '{"kind":"value","nowMs":1,"json":"\\"forged\\""}',
    },
  ]);
}

test("letters that nobody of the fleet has sealed end no call, and have nothing done", async () => {
  const { redis, client, serverId, machineId, keys, wait, open, deeds, add } = sealed();
  const [ofServer, ofMachine] = boxesOf(sealed());
  using heard = await overhear(redis, [ofServer, ofMachine]);
  expect(await add(1, 1)).toBe(2);
  const waiting = wait("by letter");
  await expect.poll(() => deeds).toEqual([{ what: "by letter" }]);
  await expect.poll(() => heard.letters.length).toBeGreaterThan(1);
  const letters = [...heard.letters];
  for (const [box, from] of [
    [ofServer, machineId],
    [ofMachine, serverId],
  ] as const) {
    const letter = JSON.stringify({ v: PROTOCOL, from, seq: 1_000_000, messages: forgedMessages(serverId) });
    const key = keys.of("side", "forged");
    await client.set(key, OTHERS.close(letter, `${keys.prefix} ${box} ${key}`), "PX", 60_000);
    const forged = [
      letter,
      `=plain1:${letter}`,
      `=${OTHERS.close(letter, `${keys.prefix} ${box}`)}`,
      `@${key}`,
      "",
      "=",
      "@",
      "=gcm1:",
      ...letters.flatMap((one) => [one, one, one.slice(0, -8), `${one.slice(0, -8)}AAAAAAAA`]),
    ];
    for (const packed of forged) await client.xadd(box, "*", "m", packed);
    await client.xadd(box, "*", "m", "=", "n", "=");
  }
  open();
  expect(await waiting).toMatchObject({ success: true, output: { what: "by letter" } });
  expect(deeds).toEqual([{ what: "by letter" }]);
  expect(await add(1, 2)).toBe(3);
});

test(
  "letters by the thousand and by the hundred megabytes fill neither memory nor log",
  { timeout: 400_000 },
  async () => {
    const { client, add, lines } = sealed();
    const startMs = Date.now();
    const isDamage = ({ message }: { readonly message: string }): boolean => message === DAMAGE;
    const before = lines.filter(isDamage).length;
    for (const box of boxesOf(sealed())) {
      const giant = Buffer.alloc(64 * MIB, "=gcm1:AAAA");
      for (let count = 0; count < 2; count++) await client.xadd(box, "*", "m", giant);
      const flood = client.pipeline();
      for (let count = 0; count < 3_000; count++) flood.xadd(box, "*", "m", `=gcm1:${count}`);
      await flood.exec();
    }
    expect(await add(2, 3)).toBe(5);
    for (const box of boxesOf(sealed()))
      await expect.poll(() => client.xlen(box), { timeout: 150_000 }).toBeLessThan(10);
    // For the server and for the machine.
    const windows = 2 * (2 + Math.floor((Date.now() - startMs) / WINDOW_MS));
    expect(lines.filter(isDamage).length - before).toBeLessThanOrEqual(windows * LINES_MAX);
  },
);

test("an inbox that is blocked, or has another type, is made anew", async () => {
  const { client, add } = sealed();
  // A second ahead, because the fleet writes to its inboxes meanwhile.
  for (const box of boxesOf(sealed())) await client.xadd(box, `${Date.now() + 1_000}-18446744073709551615`, "m", "=");
  await expect.poll(() => add(1, 4), { timeout: 60_000 }).toBe(5);
  for (const box of boxesOf(sealed())) await client.xadd(box, "18446744073709551615-18446744073709551615", "m", "=");
  await expect.poll(async () => (await client.exists(...boxesOf(sealed()))) < 2, { timeout: 60_000 }).toBe(true);
  await expect.poll(() => add(3, 4), { timeout: 60_000 }).toBe(7);
  for (const box of boxesOf(sealed())) await client.set(box, "none");
  const kinds = async (): Promise<boolean> =>
    (await Promise.all(boxesOf(sealed()).map((box) => client.type(box)))).includes("string");
  await expect.poll(kinds, { timeout: 60_000 }).toBe(false);
  await expect.poll(() => add(4, 5), { timeout: 60_000 }).toBe(9);
});

/** The queue in which servers of a siege put their jobs. */
async function queueOf({ client, keys }: Siege): Promise<Queue> {
  const [meta = ""] = await client.keys(`${keys.prefix}:calls-*:meta`);
  const name = meta.slice(keys.prefix.length + 1, -":meta".length);
  return new Queue(name, { connection: client, prefix: keys.prefix, skipVersionCheck: true });
}

test("jobs that are forged, or are no jobs at all, are dropped, and run nothing", async () => {
  const siege = sealed();
  const { client, deeds, add, machine, serverId } = siege;
  const before = deeds.length;
  const queue = await queueOf(siege);
  const call = {
    callNumber: 1,
    script: 0,
    limits: 0,
    tenant: "",
    callId: "",
    args: "{}",
    seed: "00",
    nowMs: 1,
    stream: false,
  };
  const forged = JSON.stringify({ v: PROTOCOL, server: serverId, scripts: [], limits: [], calls: [call] });
  const deep = JSON.parse("[".repeat(900) + "]".repeat(900)) as unknown;
  const packed = [
    "",
    "=",
    "@",
    `=plain1:${forged}`,
    `=${OTHERS.close(forged, "x")}`,
    1,
    null,
    {},
    forged,
    "x".repeat(MIB),
  ];
  const datas = [
    null,
    1,
    "x",
    [],
    {},
    deep,
    ...packed.map((text) => ({ turn: { tag: "x", level: [] }, packed: text })),
  ];
  for (const [at, data] of datas.entries()) await queue.add("calls", data, { jobId: `forged-${at}`, priority: 1 });
  await queue.upsertJobScheduler("forged", { every: 200 }, { name: "calls", data: {} });
  // What BullMQ itself cannot read, or would act on.
  for (const [at, fields] of [
    { data: "{" },
    { data: "[".repeat(200_000) },
    { data: "{}", opts: "{" },
    { data: "{}", progress: "{" },
    { data: "{}", ats: "-1" },
    { data: "{}", ats: "none" },
    { data: "{}", parent: '{"id":"x","queueKey":"y"}', parentKey: "y:x" },
    { data: "{}", rjk: "forged", opts: '{"repeat":{"every":1}}' },
  ].entries()) {
    await client.hset(queue.toKey(`raw-${at}`), { name: "calls", opts: "{}", timestamp: 1, ...fields });
    await client.lpush(queue.toKey("wait"), `raw-${at}`);
  }
  await client.lpush(queue.toKey("wait"), "there-is-none");
  await client.zadd(queue.toKey("marker"), 0, "0");
  expect(await Promise.all([add(5, 6), add(6, 7), add(7, 8)])).toEqual([11, 13, 15]);
  await expect.poll(() => machine.stats().calls, { timeout: 60_000 }).toBe(0);
  await queue.removeJobScheduler("forged");
  expect(deeds.length).toBe(before);
  await queue.close();
});

test("a job of ours that is put back again and again is done once", async () => {
  const siege = sealed();
  const { client, deeds, wait, open, add, serverId } = siege;
  const queue = await queueOf(siege);
  const before = deeds.length;
  const waiting = wait("once");
  await expect.poll(() => deeds.length).toBe(before + 1);
  const [key = ""] = await client.keys(queue.toKey(`${serverId}-*[0-9]`));
  const id = key.slice(queue.toKey("").length);
  const job = await client.hgetall(key);
  const putBack = async (times: number): Promise<void> => {
    await client.hset(key, { ...job, ats: "0" });
    await client.lpush(queue.toKey("wait"), ...Array.from({ length: times }, () => id));
    await client.zadd(queue.toKey("marker"), 0, "0");
  };
  // While it is under way, under another name, and when it is long over.
  await putBack(3);
  await queue.add("calls", JSON.parse(job["data"] ?? "null"), { jobId: `${serverId}-999999` });
  await expect.poll(() => client.llen(queue.toKey("wait")), { timeout: 60_000 }).toBe(0);
  open();
  expect(await waiting).toMatchObject({ success: true, output: { what: "once" } });
  await putBack(1_000);
  await expect.poll(() => client.llen(queue.toKey("wait")), { timeout: 60_000 }).toBe(0);
  expect(await add(8, 9)).toBe(17);
  expect(deeds.slice(before)).toEqual([{ what: "once" }]);
  await client.del(key);
  await queue.close();
});

test("heartbeats that nobody has sealed are nobody's", async () => {
  const { client, keys, engine, add } = sealed();
  const flood = client.pipeline();
  const absurd = { protocols: [PROTOCOL], slots: 1e9, busySlots: -1, isReady: true, isDraining: false };
  for (let count = 0; count < 20_000; count++) {
    const id = `machine-${count.toString(16).padStart(16, "0")}`;
    flood.zadd(keys.of("machines"), count % 2 === 0 ? "-inf" : "+inf", id);
    if (count < 600) flood.set(keys.of("machine", id), `plain1:${JSON.stringify({ ...absurd, id })}`, "PX", 30_000);
  }
  flood.set(keys.of("machine", `machine-${MEMBER}`), Buffer.alloc(MIB, "x"), "PX", 30_000);
  await flood.exec();
  expect(await add(9, 10)).toBe(19);
  await expect.poll(() => engine.metrics(), { timeout: 60_000 }).toMatch(/^glovebox_fleet_machines 1$/m);
  expect(await engine.metrics()).toMatch(/^glovebox_fleet_slots 4$/m);
});

test("caps and an order of the wrong form let calls end at their deadline, and go on when they are gone", async () => {
  const { client, keys, engine, add } = sealed();
  const cap = (part: string): string => keys.of("gate", "tool", shortName("add"), part);
  const all = [cap("leases"), cap("waits"), ...orderKeys(keys)];
  for (const key of all) {
    await client.del(key);
    await client.set(key, "none");
    const given = { name: "add", arguments: { a: 1, b: 1 } };
    const result = await engine.execute(given, { limits: { queueMs: 800 } });
    expect(result).toMatchObject({ success: false, error: { code: "queue_timeout" } });
    await client.del(key);
    await expect.poll(() => add(10, 11), { timeout: 60_000 }).toBe(21);
  }
  // Messages of the right type with wrong fields are dropped.
  await client.hset(cap("waits"), { someone: "none", [sealed().serverId]: "x:y" });
  await client.hset(orderKeys(keys)[0], { v: "nan", base: "inf", moved: "x", mover: "y" });
  await expect.poll(() => add(11, 12), { timeout: 60_000 }).toBe(23);
});

test("code that was exchanged is not run: its server puts it there again", async () => {
  const { client, keys, redis, machine, lines, add, deeds } = sealed();
  const before = deeds.length;
  await using fresh = await machineIn(redis, SECRET, [...lines]);
  await machine.drain(0);
  const names = await client.keys(keys.of("text", "*"));
  expect(names.length).toBeGreaterThan(1);
  const texts = await client.mget(...names);
  // Each under the name of the next, then what is sealed by somebody else.
  for (const [at, name] of names.entries()) await client.set(name, texts[(at + 1) % names.length] ?? "", "PX", 60_000);
  expect(await add(12, 13)).toBe(25);
  expect(fresh.stats().calls).toBe(0);
  expect(deeds.length).toBe(before);
});

test("without a secret, a text that is not a fleet message ends no process and no call", async () => {
  await using open = await startSiege(undefined);
  const { client, keys, wait, deeds, add, machine, machineId, serverId } = open;
  const waiting = wait("in the clear");
  await expect.poll(() => deeds).toHaveLength(1);
  const odd = [null, 1, "x", [], {}, { kind: "none" }, JSON.parse('{"__proto__":{"kind":"done"}}'), ["[".repeat(500)]];
  const half = forgedMessages(serverId)
    .slice(0, 8)
    .flatMap((message) =>
      Object.keys(message).flatMap((name) => odd.map((wrong: unknown) => ({ ...message, [name]: wrong }))),
    );
  const [ofServer, ofMachine] = boxesOf(open);
  for (const [box, from] of [
    [ofServer, `machine-${MEMBER}`],
    [ofMachine, `server-${MEMBER}`],
  ] as const) {
    const letters = [
      ...[...odd, ...half].map((message, at) =>
        JSON.stringify({ v: PROTOCOL, from, seq: at + 1, messages: [message] }),
      ),
      ...odd.flatMap((wrong) => [
        JSON.stringify({ v: PROTOCOL, from, seq: wrong, messages: [] }),
        JSON.stringify(wrong),
      ]),
      JSON.stringify({ v: PROTOCOL, from, seq: 1, messages: 1 }),
      "{",
      "[".repeat(100_000),
      `[${"0,".repeat(1_500_000)}0]`,
    ];
    for (const [at, letter] of letters.entries()) {
      const key = keys.of("side", `${from}-${at}`);
      const isLong = letter.length > 64 * 1024;
      if (isLong) await client.set(key, `plain1:${letter}`, "PX", 60_000);
      await client.xadd(box, "*", "m", isLong ? `@${key}` : `=plain1:${letter}`);
    }
  }
  const queue = await queueOf(open);
  const job = { v: PROTOCOL, server: serverId, scripts: [], limits: [], calls: [] };
  for (const [at, data] of [
    ...odd,
    ...Object.keys(job).flatMap((name) => odd.map((wrong: unknown) => ({ ...job, [name]: wrong }))),
  ].entries()) {
    const packed = `=plain1:${JSON.stringify(data)}`;
    await queue.add("calls", { turn: data, packed }, { jobId: `odd-${at}`, priority: 1 });
  }
  open.open();
  expect(await waiting).toMatchObject({ success: true });
  expect(await add(13, 14)).toBe(27);
  expect(machine.stats().id).toBe(machineId);
  await queue.close();
});
