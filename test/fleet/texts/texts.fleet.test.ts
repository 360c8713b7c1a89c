import { execFileSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, stat, symlink, truncate, utimes, writeFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { FleetKeys } from "../../../src/fleet/wire/keys.ts";
import type { BucketCredentials } from "../../../src/fleet/texts/bucket.ts";
import { openTextStore, readBucketCredentials } from "../../../src/fleet/texts/open-store.ts";
import { pack } from "../../../src/fleet/texts/packing.ts";
import { TextFailure, type TextFailureKind } from "../../../src/fleet/texts/text-store.ts";
import { TextPublisher, TextReader, type TextRef, type TextSeal } from "../../../src/fleet/texts/texts.ts";
import { RedisConnection } from "../../../src/fleet/redis/connection.ts";
import { type RedisServer, startRedis } from "../../redis-server.ts";
import { type BucketServer, startBucket } from "../bucket-server.ts";

const KEYS = new FleetKeys("texts");
const MINUTE_MS = 60_000;
const CREDENTIALS: BucketCredentials = { accessKeyId: "AKIATEST", secretAccessKey: "no/secret+to-anybody" };
const SMALL = "export const answer = () => 42; // ä € 😀";
/** Of which nothing becomes shorter, so that it is too large for what these tests let Redis have. */
const LARGE = randomBytes(6_000).toString("base64");
const CODE_MAX_BYTES = 4_096;

/** Not secret at all, but it holds texts to their secret and their place as one that is would. */
function sealOf(secret: string): TextSeal {
  return {
    close: (text, about) => `${secret}|${about}|${text}`,
    open: (sealed, about) => {
      const head = `${secret}|${about}|`;
      if (!sealed.startsWith(head)) throw new Error("not this secret's");
      return sealed.slice(head.length);
    },
  };
}

let server: RedisServer;
let connection: RedisConnection;
const parts = () => ({ connection, keys: KEYS, seal: sealOf("a"), codeMaxBytes: CODE_MAX_BYTES, waitMs: 5_000 });
const keyOf = ({ hash }: TextRef) => KEYS.of("text", hash);

beforeAll(async () => {
  server = await startRedis();
  connection = RedisConnection.open(server.url, "test");
});
afterAll(async () => {
  await connection.close();
  await server[Symbol.asyncDispose]();
});
beforeEach(async () => {
  await connection.client.flushall();
});

async function expectFailure(promise: Promise<unknown>, kind: TextFailureKind, words: RegExp | string): Promise<void> {
  const failure = await promise.then(
    () => null,
    (error: unknown) => error,
  );
  if (!(failure instanceof TextFailure)) throw new Error(`no TextFailure but ${String(failure)}`);
  expect(failure.kind).toBe(kind);
  expect(failure.message).toMatch(words);
  expect(failure.cause).toBeUndefined();
  expect(failure.message).not.toMatch(/127\.0\.0\.1|localhost|AKIATEST|no\/secret|\/tmp\//);
}

/** Lets time go by for whoever looks at the monotonic clock. */
function letPass(ms: number): void {
  const now = performance.now.bind(performance);
  vi.spyOn(performance, "now").mockImplementation(() => now() + ms);
}

describe("a text in Redis", () => {
  test("comes out as it went in, whatever it is", async () => {
    const publisher = new TextPublisher(parts());
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "binary", maxLength: 1_000 }), async (text) => {
        const ref = await publisher.publish(text);
        expect(await new TextReader(parts()).fetch(ref)).toBe(text);
      }),
      { numRuns: 200 },
    );
  });

  test("is named by its SHA-256, with its length in UTF-8", async () => {
    expect(await new TextPublisher(parts()).publish(SMALL)).toEqual({
      hash: createHash("sha256").update(SMALL).digest("hex"),
      bytes: Buffer.byteLength(SMALL),
      place: "redis",
    });
  });

  test("is refused where it has half of a character, which UTF-8 cannot say", async () => {
    await expectFailure(new TextPublisher(parts()).publish("a\ud800b"), "damaged", "unpaired surrogate");
    expect(await connection.client.dbsize()).toBe(0);
  });

  test("is not in the clear, and expires", async () => {
    const ref = await new TextPublisher({ ...parts(), ttlMs: 10 * MINUTE_MS }).publish(SMALL);
    expect(await connection.client.get(keyOf(ref))).not.toContain("answer");
    expect(await connection.client.pttl(keyOf(ref))).toBeGreaterThan(MINUTE_MS);
  });

  test("is sent once by a publisher", async () => {
    const publisher = new TextPublisher(parts());
    const ref = await publisher.publish(SMALL);
    expect(publisher.isPublished(ref.hash)).toBe(true);
    await connection.client.del(keyOf(ref));
    expect(await publisher.publish(SMALL)).toEqual(ref);
    expect(await connection.client.exists(keyOf(ref))).toBe(0);
  });

  test("is sent once where many ask for it at the same time", async () => {
    let closed = 0;
    const seal = sealOf("a");
    const close: TextSeal["close"] = (text, about) => {
      closed += 1;
      return seal.close(text, about);
    };
    const publisher = new TextPublisher({ ...parts(), seal: { ...seal, close } });
    await Promise.all(Array.from({ length: 10 }, () => publisher.publish(SMALL)));
    expect(closed).toBe(1);
  });

  test("is not sent again by a second server, but its time begins anew", async () => {
    const ref = await new TextPublisher(parts()).publish(SMALL);
    await connection.client.set(keyOf(ref), "the first server's", "PX", MINUTE_MS);
    expect(await new TextPublisher(parts()).publish(SMALL)).toEqual(ref);
    expect(await connection.client.get(keyOf(ref))).toBe("the first server's");
    expect(await connection.client.pttl(keyOf(ref))).toBeGreaterThan(MINUTE_MS);
  });

  test("stays while it is used: when half of its time is over, that begins anew", async () => {
    const publisher = new TextPublisher(parts());
    const ref = await publisher.publish(SMALL);
    await connection.client.pexpire(keyOf(ref), MINUTE_MS);
    letPass(31 * MINUTE_MS);
    expect(await publisher.publish(SMALL)).toEqual(ref);
    await expect.poll(() => connection.client.pttl(keyOf(ref))).toBeGreaterThan(MINUTE_MS);
  });

  test("is sent again when its time is over", async () => {
    const publisher = new TextPublisher(parts());
    const ref = await publisher.publish(SMALL);
    await connection.client.del(keyOf(ref));
    letPass(61 * MINUTE_MS);
    expect(publisher.isPublished(ref.hash)).toBe(false);
    await publisher.publish(SMALL);
    expect(await new TextReader(parts()).fetch(ref)).toBe(SMALL);
  });

  test("that Redis has lost is missing until its server publishes it again", async () => {
    const publisher = new TextPublisher(parts());
    const reader = new TextReader(parts());
    const ref = await publisher.publish(SMALL);
    await connection.client.flushall();
    await expectFailure(reader.fetch(ref), "missing", "missing in the store");
    publisher.forget(ref.hash);
    expect(publisher.isPublished(ref.hash)).toBe(false);
    expect(await publisher.publish(SMALL)).toEqual(ref);
    expect(await reader.fetch(ref)).toBe(SMALL);
  });

  test("that is damaged is used by nobody, and written over when its server hears of it", async () => {
    const publisher = new TextPublisher(parts());
    const reader = new TextReader(parts());
    const ref = await publisher.publish(SMALL);
    const stored = `${await connection.client.get(keyOf(ref))}`;
    await connection.client.set(keyOf(ref), stored.slice(0, -8), "PX", MINUTE_MS);
    await expectFailure(reader.fetch(ref), "damaged", "cannot be read");
    publisher.forget(ref.hash, "damaged");
    await publisher.publish(SMALL);
    expect(await reader.fetch(ref)).toBe(SMALL);
  });

  test("that is another one, however well it is packed, is used by nobody", async () => {
    const ref = await new TextPublisher(parts()).publish(SMALL);
    const other = SMALL.replace("42", "43");
    await connection.client.set(keyOf(ref), await pack(other, sealOf("a"), keyOf(ref)), "PX", MINUTE_MS);
    await expectFailure(new TextReader(parts()).fetch(ref), "damaged", "its hash differs");
  });

  test("that becomes larger than its server said is not unpacked", async () => {
    const ref = await new TextPublisher(parts()).publish(SMALL);
    const bomb = await pack("0".repeat(10_000_000), sealOf("a"), keyOf(ref));
    expect(bomb.length).toBeLessThan(CODE_MAX_BYTES);
    await connection.client.set(keyOf(ref), bomb, "PX", MINUTE_MS);
    await expectFailure(new TextReader(parts()).fetch(ref), "damaged", "cannot be read");
  });

  test("is read no further than it can be long", async () => {
    const ref = await new TextPublisher(parts()).publish(SMALL);
    await connection.client.set(keyOf(ref), Buffer.alloc(1_000_000, 0xff), "PX", MINUTE_MS);
    await expectFailure(new TextReader(parts()).fetch(ref), "damaged", "larger than the tool's code can be");
  });

  test("is nothing to a machine that has another secret", async () => {
    const ref = await new TextPublisher(parts()).publish(SMALL);
    await expectFailure(new TextReader({ ...parts(), seal: sealOf("b") }).fetch(ref), "damaged", "another secret");
  });

  test.each<TextRef>([
    { hash: "../../../etc/passwd", bytes: 10, place: "redis" },
    { hash: "A".repeat(64), bytes: 10, place: "redis" },
    { hash: "a".repeat(64), bytes: -1, place: "redis" },
    { hash: "a".repeat(64), bytes: 2 ** 40, place: "redis" },
    { hash: "a".repeat(64), bytes: Number.NaN, place: "redis" },
    { hash: "a".repeat(64), bytes: 10, place: "elsewhere" as "redis" },
  ])("is not looked for where its reference is invalid: %j", async (ref) => {
    await expectFailure(new TextReader(parts()).fetch(ref), "damaged", "invalid reference");
  });

  test("that is too large for it is refused where there is no store, in words that name the options", async () => {
    const words = /executor\.codeMaxBytes.*executor\.store/;
    await expectFailure(new TextPublisher(parts()).publish(LARGE), "too_large", words);
  });

  test("cannot be had from a store of which a machine knows nothing", async () => {
    const ref: TextRef = { hash: "a".repeat(64), bytes: 10, place: "store" };
    await expectFailure(new TextReader(parts()).fetch(ref), "unreachable", "executor.store names none");
  });

  test("is refused in words of its own where Redis has no memory left", async () => {
    await connection.client.config("SET", "maxmemory", "1");
    try {
      await expectFailure(new TextPublisher(parts()).publish(SMALL), "unreachable", "is full");
    } finally {
      await connection.client.config("SET", "maxmemory", "0");
    }
  });
});

describe("a machine's memory", () => {
  test("gives a text again without asking anybody", async () => {
    const reader = new TextReader(parts());
    const ref = await new TextPublisher(parts()).publish(SMALL);
    await reader.fetch(ref);
    await connection.client.flushall();
    expect(await reader.fetch(ref)).toBe(SMALL);
  });

  test("forgets what was used longest ago where there is no room for more", async () => {
    const publisher = new TextPublisher(parts());
    const reader = new TextReader({ ...parts(), cacheBytes: 2_500 });
    const [first, second, third] = await Promise.all(
      ["a", "b", "c"].map((one) => publisher.publish(one.repeat(1_000))),
    );
    if (first === undefined || second === undefined || third === undefined) throw new Error("three were published");
    for (const ref of [first, second, first, third]) await reader.fetch(ref);
    await connection.client.flushall();
    expect(await reader.fetch(first)).toHaveLength(1_000);
    expect(await reader.fetch(third)).toHaveLength(1_000);
    await expectFailure(reader.fetch(second), "missing", "missing in the store");
  });

  test("keeps what it has when a text comes that there is no room for at all", async () => {
    const publisher = new TextPublisher(parts());
    const reader = new TextReader({ ...parts(), cacheBytes: 500 });
    const small = await publisher.publish(SMALL);
    const large = await publisher.publish("x".repeat(501));
    await reader.fetch(small);
    expect(await reader.fetch(large)).toHaveLength(501);
    await connection.client.flushall();
    expect(await reader.fetch(small)).toBe(SMALL);
    await expectFailure(reader.fetch(large), "missing", "missing in the store");
  });
});

test("a Redis that is gone ends a publication and a fetch in time, and both go on when it is back", async () => {
  await using lost = await startRedis();
  await using other = RedisConnection.open(lost.url, "test");
  const options = { ...parts(), connection: other, waitMs: 1_000 };
  const publisher = new TextPublisher(options);
  const reader = new TextReader(options);
  await other.ready(5_000);
  const ref = await publisher.publish(SMALL);
  await lost.stop();
  await expectFailure(reader.fetch(ref), "unreachable", "Redis");
  await expectFailure(publisher.publish(`${SMALL} `), "unreachable", "Redis");
  await lost.start();
  expect(await other.ready(2 * MINUTE_MS)).toBe(true);
  expect(await reader.fetch(ref)).toBe(SMALL);
  expect(await reader.fetch(await publisher.publish(`${SMALL} `))).toBe(`${SMALL} `);
});

describe("a folder as the store", () => {
  let folder: string;
  const withFolder = () => ({ ...parts(), store: openTextStore(folder) });
  const fileOf = async () => {
    const [name = "", ...more] = await readdir(folder);
    expect(more).toEqual([]);
    return join(folder, name);
  };

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "glovebox-texts-"));
  });
  afterEach(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  test("has what is too large for Redis, for its owner only, under a name that says nothing", async () => {
    const ref = await new TextPublisher(withFolder()).publish(LARGE);
    expect(ref.place).toBe("store");
    expect(await connection.client.dbsize()).toBe(0);
    const file = await fileOf();
    expect(file).toMatch(/\/[0-9a-f]{64}\.text$/);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await new TextReader(withFolder()).fetch(ref)).toBe(LARGE);
  });

  test("has nothing of what Redis takes", async () => {
    expect((await new TextPublisher(withFolder()).publish(SMALL)).place).toBe("redis");
    expect(await readdir(folder)).toEqual([]);
  });

  test("may be given as a file: URL", async () => {
    const options = { ...parts(), store: openTextStore(pathToFileURL(folder).href) };
    const ref = await new TextPublisher(options).publish(LARGE);
    expect(await new TextReader(withFolder()).fetch(ref)).toBe(LARGE);
  });

  test("is written to once by two servers, and the second one's use is noted", async () => {
    await new TextPublisher(withFolder()).publish(LARGE);
    const file = await fileOf();
    const { ino } = await stat(file);
    await utimes(file, 0, 0);
    await new TextPublisher(withFolder()).publish(LARGE);
    const state = await stat(await fileOf());
    expect(state.ino).toBe(ino);
    expect(state.mtimeMs).toBeGreaterThan(0);
  });

  test("gives no text that was cut off, and gets it whole when its server hears of that", async () => {
    const publisher = new TextPublisher(withFolder());
    const reader = new TextReader(withFolder());
    const ref = await publisher.publish(LARGE);
    await truncate(await fileOf(), 5_000);
    await expectFailure(reader.fetch(ref), "damaged", "cannot be read");
    publisher.forget(ref.hash, "damaged");
    await publisher.publish(LARGE);
    expect(await reader.fetch(ref)).toBe(LARGE);
  });

  test("gives no text where it is missing, and gets it again", async () => {
    const publisher = new TextPublisher(withFolder());
    const reader = new TextReader(withFolder());
    const ref = await publisher.publish(LARGE);
    await rm(await fileOf());
    await expectFailure(reader.fetch(ref), "missing", "missing in the store");
    publisher.forget(ref.hash);
    await publisher.publish(LARGE);
    expect(await reader.fetch(ref)).toBe(LARGE);
  });

  test("leads nowhere else: neither by a link, nor by a pipe that never ends, nor by a file without end", async () => {
    const ref = await new TextPublisher(withFolder()).publish(LARGE);
    const file = await fileOf();
    const elsewhere = join(folder, "elsewhere");
    await writeFile(elsewhere, await readFile(file));
    await rm(file);
    await symlink(elsewhere, file);
    await expectFailure(new TextReader(withFolder()).fetch(ref), "unreachable", "ELOOP");
    await rm(file);
    execFileSync("sh", ["-c", 'mkfifo "$0"', file]);
    await expectFailure(new TextReader(withFolder()).fetch(ref), "missing", "missing in the store");
    await rm(file);
    await writeFile(file, "");
    await truncate(file, 2 ** 40);
    await expectFailure(new TextReader(withFolder()).fetch(ref), "damaged", "larger than");
  });

  test("loses what nobody has used for a month, and nothing that is not its own", async () => {
    const old = join(folder, `${"0".repeat(64)}.text`);
    const fresh = join(folder, `${"1".repeat(64)}.text`);
    const draft = join(folder, `${"2".repeat(64)}.text.${"3".repeat(36)}`);
    const foreign = join(folder, "notes.text");
    for (const file of [old, fresh, draft, foreign]) await writeFile(file, "x");
    for (const file of [old, draft, foreign]) await utimes(file, 0, 0);
    await new TextPublisher(withFolder()).publish(LARGE);
    const names = await readdir(folder);
    expect(names).toHaveLength(3);
    expect(names).toEqual(expect.arrayContaining(["notes.text", `${"1".repeat(64)}.text`]));
  });

  test("that is not there is said so, without its path", async () => {
    const options = withFolder();
    await rm(folder, { recursive: true });
    await expectFailure(new TextPublisher(options).publish(LARGE), "unreachable", "ENOENT");
  });
});

describe("a bucket as the store", () => {
  let bucket: BucketServer;
  const withBucket = (credentials = CREDENTIALS, waitMs = 5_000) => ({
    ...parts(),
    store: openTextStore(bucket.url, { credentials, waitMs, retryMs: 1 }),
  });
  const fail = (status: number) => (response: ServerResponse) => void response.writeHead(status).end();

  beforeEach(async () => {
    bucket = await startBucket(CREDENTIALS);
  });
  afterEach(async () => {
    await bucket[Symbol.asyncDispose]();
  });

  test("has what is too large for Redis, put there once by two servers", async () => {
    const ref = await new TextPublisher(withBucket()).publish(LARGE);
    expect(ref.place).toBe("store");
    await new TextPublisher(withBucket()).publish(LARGE);
    expect(bucket.asked).toEqual(["HEAD", "PUT", "HEAD"]);
    expect([...bucket.objects.keys()]).toEqual([expect.stringMatching(/^\/tools\/code\/[0-9a-f]{64}\.text$/)]);
    expect(await new TextReader(withBucket()).fetch(ref)).toBe(LARGE);
  });

  test("that does not say what is missing in it is given the text", async () => {
    bucket.instead.push(fail(403));
    await new TextPublisher(withBucket()).publish(LARGE);
    expect(bucket.asked).toEqual(["HEAD", "PUT"]);
  });

  test("is asked for a text in use when half of its time is over, without packing that again", async () => {
    let closed = 0;
    const seal = sealOf("a");
    const close: TextSeal["close"] = (text, about) => {
      closed += 1;
      return seal.close(text, about);
    };
    const publisher = new TextPublisher({ ...withBucket(), seal: { ...seal, close } });
    const ref = await publisher.publish(LARGE);
    letPass(31 * MINUTE_MS);
    expect(await publisher.publish(LARGE)).toEqual(ref);
    await expect.poll(() => bucket.asked).toEqual(["HEAD", "PUT", "HEAD"]);
    expect(closed).toBe(1);
  });

  test("is asked once where many want the same text", async () => {
    const ref = await new TextPublisher(withBucket()).publish(LARGE);
    const reader = new TextReader(withBucket());
    bucket.asked.length = 0;
    const texts = await Promise.all(Array.from({ length: 10 }, () => reader.fetch(ref)));
    expect(new Set(texts)).toEqual(new Set([LARGE]));
    expect(bucket.asked).toEqual(["GET"]);
  });

  test("is asked with the token of a session", async () => {
    await bucket[Symbol.asyncDispose]();
    const credentials = { ...CREDENTIALS, sessionToken: "for/an=hour" };
    bucket = await startBucket(credentials);
    const ref = await new TextPublisher(withBucket(credentials)).publish(LARGE);
    expect(await new TextReader(withBucket(credentials)).fetch(ref)).toBe(LARGE);
  });

  test("refuses whoever signs with another key", async () => {
    const ref = await new TextPublisher(withBucket()).publish(LARGE);
    const stranger = withBucket({ ...CREDENTIALS, secretAccessKey: "guessed" });
    await expectFailure(new TextReader(stranger).fetch(ref), "unreachable", "refuses with 403");
    await expectFailure(new TextPublisher(stranger).publish(`${LARGE} `), "unreachable", "refuses with 403");
    expect(bucket.objects.size).toBe(1);
  });

  test("may fail twice", async () => {
    bucket.instead.push(fail(500), fail(503));
    const ref = await new TextPublisher(withBucket()).publish(LARGE);
    bucket.instead.push(fail(429), (response) => void response.destroy());
    expect(await new TextReader(withBucket()).fetch(ref)).toBe(LARGE);
  });

  test("is asked no more than four times", async () => {
    bucket.instead.push(...Array.from({ length: 10 }, () => fail(500)));
    await expectFailure(new TextPublisher(withBucket()).publish(LARGE), "unreachable", "answers with 500");
    expect(bucket.asked).toHaveLength(4);
  });

  test("that lets a request wait is given up", async () => {
    bucket.instead.push(...Array.from({ length: 4 }, () => () => undefined));
    const publishing = new TextPublisher(withBucket(CREDENTIALS, 50)).publish(LARGE);
    await expectFailure(publishing, "unreachable", "does not answer in time");
  });

  test("that is not there is said so, without its address", async () => {
    const options = withBucket();
    await bucket[Symbol.asyncDispose]();
    await expectFailure(new TextPublisher(options).publish(LARGE), "unreachable", "ECONNREFUSED");
    bucket = await startBucket(CREDENTIALS);
  });

  test("sends nobody anywhere else", async () => {
    const ref = await new TextPublisher(withBucket()).publish(LARGE);
    bucket.instead.push((response) => void response.writeHead(307, { location: "/elsewhere" }).end());
    bucket.asked.length = 0;
    await expectFailure(new TextReader(withBucket()).fetch(ref), "unreachable", "refuses with 307");
    expect(bucket.asked).toEqual(["GET"]);
  });

  test.each<[string, (stored: Buffer) => Buffer, RegExp]>([
    ["cut off", (stored) => stored.subarray(0, 5_000), /cannot be read/],
    ["changed", (stored) => stored.fill("A", 4_000, 4_400), /cannot be read|hash differs/],
    ["without an end", () => Buffer.alloc(1_000_000), /larger than/],
  ])("whose object is %s gives no text, and gets it again", async (_, change, words) => {
    const publisher = new TextPublisher(withBucket());
    const reader = new TextReader(withBucket());
    const ref = await publisher.publish(LARGE);
    for (const [name, stored] of bucket.objects) bucket.objects.set(name, change(stored));
    await expectFailure(reader.fetch(ref), "damaged", words);
    publisher.forget(ref.hash, "damaged");
    await publisher.publish(LARGE);
    expect(await reader.fetch(ref)).toBe(LARGE);
  });

  test("that sends without end and without saying so is cut off", async () => {
    const ref = await new TextPublisher(withBucket()).publish(LARGE);
    bucket.instead.push((response) => {
      const send = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536)));
      };
      response.on("drain", send).writeHead(200);
      send();
    });
    await expectFailure(new TextReader(withBucket()).fetch(ref), "damaged", "larger than");
  });

  test("that breaks off in the midst of a text is asked again", async () => {
    const ref = await new TextPublisher(withBucket()).publish(LARGE);
    bucket.instead.push((response) => {
      response.writeHead(200, { "content-length": 8_000 }).write(Buffer.alloc(4_000));
      setTimeout(() => response.destroy(), 20);
    });
    expect(await new TextReader(withBucket()).fetch(ref)).toBe(LARGE);
  });

  test("that has no such object is missing it", async () => {
    const ref = await new TextPublisher(withBucket()).publish(LARGE);
    bucket.objects.clear();
    await expectFailure(new TextReader(withBucket()).fetch(ref), "missing", "missing in the store");
  });

  test("is shared by two fleets that know nothing of each other", async () => {
    const other = { ...withBucket(), keys: new FleetKeys("other"), seal: sealOf("b") };
    const ref = await new TextPublisher(withBucket()).publish(LARGE);
    const otherRef = await new TextPublisher(other).publish(LARGE);
    expect(bucket.objects.size).toBe(2);
    expect(await new TextReader(withBucket()).fetch(ref)).toBe(LARGE);
    expect(await new TextReader(other).fetch(otherRef)).toBe(LARGE);
  });
});

describe("where the store is", () => {
  test.each([
    ["mnt/tools", "neither a folder"],
    ["https://inside.example/bucket", "neither a folder"],
    ["file:///mnt/tools?x=1", "query or fragment after its path"],
    ["file:///mnt%2ftools", "names no local folder"],
    ["s3+https://id:key@inside.example/bucket", "credentials"],
    ["s3+https://inside.example/", "no bucket"],
    ["s3+https://inside.example/b", "no bucket"],
    ["s3+https://inside.example/bucket/a%2fb", "no bucket"],
    ["s3+https://inside.example/bucket?region=a&x=1", "?region="],
    ["s3+https://inside.example/bucket?region=a/b", "?region="],
    ["s3+https://inside.example/bucket#x", "?region="],
  ])("is not %s", (store, words) => {
    const open = () => openTextStore(store, { credentials: CREDENTIALS });
    expect(open).toThrow(TypeError);
    expect(open).toThrow(words);
    expect(open).not.toThrow(store);
  });

  test("is no bucket without credentials, which the environment has under AWS's names", () => {
    expect(() => openTextStore("s3+https://host/bucket")).toThrow("AWS_SECRET_ACCESS_KEY");
    expect(readBucketCredentials({ AWS_ACCESS_KEY_ID: "id" })).toBeUndefined();
    expect(
      readBucketCredentials({ AWS_ACCESS_KEY_ID: "id", AWS_SECRET_ACCESS_KEY: "key", AWS_SESSION_TOKEN: "token" }),
    ).toEqual({ accessKeyId: "id", secretAccessKey: "key", sessionToken: "token" });
  });
});
