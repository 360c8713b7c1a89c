import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { SqliteEntries } from "../../../../../src/kernel/broker/capabilities/kv/sqlite-store.ts";
import { layOut } from "../../../../../src/kernel/store/sqlite/layout.ts";
import { callOf, MIB, openKv, temporaryFile } from "./open.ts";

interface Page {
  readonly keys: readonly { readonly key: string }[];
  readonly cursor: string | null;
}

/** Another connection to the file, as another program would have it. */
function connect(path: string): DatabaseSync {
  const database = new DatabaseSync(path);
  onTestFinished(() => {
    if (database.isOpen) database.close();
  });
  return database;
}

/** Starts a program that sets keys until it is refused. */
function write(path: string, prefix: string, quotaBytes: number) {
  const program = fileURLToPath(new URL("programs/writes.ts", import.meta.url));
  const args = ["--no-warnings", program, path, prefix, `${quotaBytes}`];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines: string[] = [];
  const reader = createInterface({ input: child.stdout });
  reader.on("line", (line) => lines.push(line));
  return { child, lines, ended: Promise.all([once(child, "exit"), once(reader, "close")]) };
}

const messageOf = (promise: Promise<unknown>) =>
  promise.then(
    () => "it went well",
    (error: unknown) => (error as Error).message,
  );

describe("the file", () => {
  test("is made when it is first used, for its owner alone", async () => {
    const path = await temporaryFile("a/b/kv.sqlite");
    const invoke = callOf(openKv(path));
    expect(existsSync(dirname(path))).toBe(false);
    await invoke("set", { key: "k", value: 1 });
    for (const file of [path, `${path}-wal`, `${path}-shm`]) expect(statSync(file).mode & 0o777).toBe(0o600);
    for (const folder of [dirname(path), dirname(dirname(path))]) expect(statSync(folder).mode & 0o777).toBe(0o700);
  });

  test("keeps everything over a restart, versions too", async () => {
    const path = await temporaryFile();
    const first = openKv(path);
    await callOf(first)("set", { key: "k", value: { a: 1 } });
    await first.close?.();
    const invoke = callOf(openKv(path));
    expect(await invoke("getEntry", { key: "k" })).toEqual({ value: { a: 1 }, version: 1, expiresAt: null });
    expect(await invoke("set", { key: "k", value: 2 })).toBe(2);
  });

  test("is one for two engines, and each sees at once what the other did", async () => {
    const path = await temporaryFile();
    const [one, other] = [callOf(openKv(path)), callOf(openKv(path))];
    await Promise.all([one("set", { key: "a", value: 1 }), other("set", { key: "b", value: 2 })]);
    expect([await one("get", { key: "b" }), await other("get", { key: "a" })]).toEqual([2, 1]);
  });

  test("has everything in it that was acknowledged before its process was killed", async () => {
    const path = await temporaryFile();
    const { child, lines, ended } = write(path, "k", 512 * MIB);
    await expect.poll(() => lines.length, { timeout: 60_000 }).toBeGreaterThan(20);
    child.kill("SIGKILL");
    await ended;
    const invoke = callOf(openKv(path));
    const missing: string[] = [];
    for (const key of lines) if ((await invoke("get", { key })) === null) missing.push(key);
    expect(missing).toEqual([]);
  });

  test("holds no more than the quota where two processes write to it", async () => {
    const path = await temporaryFile();
    const quotaBytes = 100_000;
    const writers = ["a", "b"].map((prefix) => write(path, prefix, quotaBytes));
    await Promise.all(writers.map(({ ended }) => ended));
    const acknowledged = writers.flatMap(({ lines }) => lines.filter((line) => /^[ab]\d+$/.test(line)));
    for (const { lines } of writers) expect(lines.at(-1)).toMatch(/^CapabilityRefusal: .* is full/);
    const { keys } = (await callOf(openKv(path))("list", { limit: 1_000 })) as Page;
    expect(keys.map(({ key }) => key).toSorted()).toEqual(acknowledged.toSorted());
    const used = connect(path).prepare("SELECT bytes, (SELECT sum(bytes) FROM entry) AS sum FROM namespace").get();
    expect(used?.["bytes"]).toBe(used?.["sum"]);
    expect(Number(used?.["bytes"])).toBeLessThanOrEqual(quotaBytes);
  });
});

describe("a file that is not a store", () => {
  test.each([
    [
      "is no database",
      (path: string) => writeFileSync(path, "not a database, but long enough for one".repeat(100)),
      /corrupt/,
    ],
    ["is somebody else's", (path: string) => connect(path).exec("CREATE TABLE theirs (a)"), /other data/],
    [
      "is of a later version",
      (path: string) => connect(path).exec(`PRAGMA application_id = ${0x47_62_4b_76}; PRAGMA user_version = 2`),
      /a newer Glovebox has written it \(its layout is 2, and this one reads 1\); run that version/,
    ],
    [
      "has values that are no JSON",
      (path: string) => {
        const database = connect(path);
        layOut(database, MIB);
        database.exec(`INSERT INTO namespace (name) VALUES ('["t",""]');
          INSERT INTO entry (namespace, key, version, bytes, value) VALUES (1, 'k', 1, 2, '{')`);
      },
      /corrupt/,
    ],
    ["is a folder", (path: string) => mkdirSync(path), /cannot be opened/],
  ])("fails where it %s, without a path, and stays as it is", async (_what, make, why) => {
    const path = await temporaryFile();
    make(path);
    const content = () => (statSync(path).isFile() ? readFileSync(path, "base64") : "");
    const before = content();
    const invoke = callOf(openKv(path));
    const message = await messageOf(invoke("get", { key: "k" }));
    expect(content()).toBe(before);
    expect(message).toMatch(why);
    expect(message).not.toContain(dirname(path));
  });
});

describe("a file that somebody else writes to", () => {
  test("is read at once, and written when it is free, without the thread standing still", async () => {
    const path = await temporaryFile();
    const invoke = callOf(openKv(path));
    await invoke("set", { key: "k", value: 1 });
    const other = connect(path);
    other.exec("BEGIN IMMEDIATE");
    expect(await invoke("get", { key: "k" })).toBe(1);
    const order: string[] = [];
    const writing = ["first", "second"].map(async (value) => {
      const version = await invoke("set", { key: "k", value });
      order.push(`${value} ${String(version)}`);
    });
    for (let turns = 0; turns < 5; turns++) await new Promise((done) => setTimeout(done, 1));
    expect(order).toEqual([]);
    other.exec("COMMIT");
    await Promise.all(writing);
    expect(order).toEqual(["first 2", "second 3"]);
  });

  test("is not written any more for a call that has ended", async () => {
    const path = await temporaryFile();
    const kv = openKv(path);
    const ending = new AbortController();
    await callOf(kv)("set", { key: "k", value: "before" });
    const other = connect(path);
    other.exec("BEGIN IMMEDIATE");
    const writing = callOf(kv, { signal: ending.signal })("set", { key: "k", value: "after" });
    ending.abort();
    await expect(writing).rejects.toThrow("the call has ended");
    other.exec("COMMIT");
    expect(await callOf(kv)("get", { key: "k" })).toBe("before");
  });

  test("fails for whoever waits too long, and for nobody after that", async () => {
    const path = await temporaryFile();
    const invoke = callOf(openKv(path));
    await invoke("set", { key: "k", value: 1 });
    const other = connect(path);
    other.exec("BEGIN IMMEDIATE");
    const messages = await Promise.all([1, 2, 3].map((value) => messageOf(invoke("set", { key: "k", value }))));
    expect(new Set(messages)).toEqual(new Set(["the store is busy: try again later"]));
    expect(await invoke("get", { key: "k" })).toBe(1);
    other.exec("COMMIT");
    expect(await invoke("set", { key: "k", value: 2 })).toBe(2);
  });
});

describe("a store that fails", () => {
  test("says that there is no room where the file may not grow, and takes entries again when some have gone", async () => {
    const invoke = callOf(openKv(await temporaryFile(), MIB), { quotaBytes: 64 * MIB });
    const value = "x".repeat(200_000);
    let message = "it went well";
    let last = 0;
    for (; message === "it went well" && last < 20; last++) {
      message = await messageOf(invoke("set", { key: `k${last}`, value }));
    }
    expect(message).toContain("is full");
    expect(await invoke("get", { key: `k${last - 1}` })).toBeNull();
    await invoke("delete", { key: "k0" });
    expect(await messageOf(invoke("set", { key: "again", value }))).toBe("it went well");
  });

  test("works again when its file is mended, without a new engine", async () => {
    const path = await temporaryFile();
    writeFileSync(path, "no database".repeat(1_000));
    const invoke = callOf(openKv(path));
    await expect(invoke("get", { key: "k" })).rejects.toThrow("corrupt");
    await rm(path);
    expect(await invoke("set", { key: "k", value: 1 })).toBe(1);
  });

  test("says so where its file is damaged, and goes on with a new one when that has gone", async () => {
    const path = await temporaryFile();
    const first = openKv(path);
    await callOf(first)("set", { key: "k", value: "x".repeat(200_000) });
    await first.close?.();
    truncateSync(path, 40_960);
    const invoke = callOf(openKv(path));
    const message = await messageOf(invoke("get", { key: "k" }));
    expect(message).toContain("corrupt");
    expect(message).not.toContain(dirname(path));
    await Promise.all([path, `${path}-wal`, `${path}-shm`].map((file) => rm(file, { force: true })));
    expect(await invoke("get", { key: "k" })).toBeNull();
    expect(await invoke("set", { key: "k", value: 1 })).toBe(1);
  });

  test("does nothing any more when its engine has closed", async () => {
    const path = await temporaryFile();
    const kv = openKv(path);
    const invoke = callOf(kv);
    await invoke("set", { key: "k", value: 1 });
    await kv.close?.();
    await expect(invoke("get", { key: "k" })).rejects.toThrow("the engine has closed");
    expect(existsSync(`${path}-wal`)).toBe(false);
  });
});

test("expired entries leave the file in steps, the oldest first, and give back what they took of the quota", () => {
  const database = new DatabaseSync(":memory:");
  layOut(database, MIB);
  const entries = new SqliteEntries(database);
  const condition = { kind: "always" } as const;
  for (let at = 0; at < 250; at++) {
    entries.set("n", { key: `k${at}`, value: "1", ttlMs: 1_000 + at, condition, quotaBytes: MIB }, 0);
  }
  entries.set("n", { key: "stays", value: "1", ttlMs: null, condition, quotaBytes: MIB }, 0);
  const used = () => database.prepare("SELECT bytes FROM namespace").get()?.["bytes"];
  expect(used()).toBe(251 * 64);
  expect([entries.sweep(1_149), entries.sweep(1_149), entries.sweep(1_149)]).toEqual([100, 50, 0]);
  expect(used()).toBe(101 * 64);
  expect(entries.get("n", "k150", 1_149)).not.toBeNull();
  database.close();
});

test("an entry is there to the last millisecond of its time, and not a millisecond longer", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: 1_000_000 });
  onTestFinished(() => void vi.useRealTimers());
  const invoke = callOf(openKv());
  await invoke("set", { key: "k", value: 1, ttlMs: 100 });
  vi.setSystemTime(1_000_099);
  expect(await invoke("getEntry", { key: "k" })).toEqual({ value: 1, version: 1, expiresAt: 1_000_100 });
  vi.setSystemTime(1_000_100);
  expect(await invoke("getEntry", { key: "k" })).toBeNull();
});

test("a store takes out what has expired by itself, a step at a time, for as long as it is open", async () => {
  const path = await temporaryFile();
  const kv = openKv(path);
  const invoke = callOf(kv);
  vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  for (let at = 0; at < 250; at++) await invoke("set", { key: `k${at}`, value: 1, ttlMs: 1 });
  const count = connect(path).prepare("SELECT count(*) AS count FROM entry");
  const left: unknown[] = [];
  for (const ms of [29_999, 1, 50, 50]) {
    vi.advanceTimersByTime(ms);
    left.push(count.get()?.["count"]);
  }
  expect(left).toEqual([250, 150, 50, 0]);
  await kv.close?.();
  expect(vi.getTimerCount()).toBe(0);
});
