import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createEngine, defineCapability, type Engine } from "../../../src/glovebox/index.ts";
import type { IdempotencyOptions } from "../../../src/kernel/engine/options.ts";
import { freePort } from "../../redis-server.ts";
import { type KeyedStore, type KeyedStores, STORES, temporaryFolder } from "./keyed-stores.ts";

const PROGRAM = fileURLToPath(new URL("programs/keyed.ts", import.meta.url));
const DEADLINE_MS = 120_000;

interface Said {
  readonly item: string;
  readonly output: unknown;
  readonly code: string | null;
  readonly isRepeated: boolean;
}

/** A file of effects, to which several processes write. */
async function openEffects() {
  const path = join(await temporaryFolder(), "effects");
  writeFileSync(path, "");
  return {
    path,
    /** What was done so far, one thing after the other. */
    done: () => readFileSync(path, "utf8").split("\n").filter(Boolean),
  };
}

/** Another process on the same store. */
function startOther({ options }: KeyedStore, effects: string, tool: string, keys: readonly string[]) {
  const flags = ["--no-warnings"];
  const child = spawn(process.execPath, [...flags, PROGRAM, JSON.stringify(options), effects, tool, ...keys], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "close");
  const kill = async () => {
    child.kill("SIGKILL");
    await ended;
  };
  onTestFinished(kill);
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => lines.push(line));
  const answers = async (): Promise<Said[]> => {
    await expect.poll(() => lines.at(-1), { timeout: DEADLINE_MS }).toBe("done");
    return lines.slice(0, -1).map((line) => JSON.parse(line) as Said);
  };
  return { kill, answers };
}

/** An engine with a tool that orders things, and one that waits until it is let go. */
async function openShop(idempotency: IdempotencyOptions) {
  let orders = 0;
  const entered = Promise.withResolvers<void>();
  const open = Promise.withResolvers<void>();
  const shop = defineCapability({
    name: "shop",
    methods: {
      order: { handler: () => ++orders },
      wait: {
        handler: async () => {
          orders++;
          entered.resolve();
          await open.promise;
          return "served";
        },
      },
    },
  });
  const engine = await createEngine({
    executor: "threads",
    workers: 1,
    capabilities: [shop],
    policy: { rules: [{ allow: { shop: true } }] },
    idempotency,
  });
  onTestFinished(() => engine.close({ drainMs: 0 }));
  const capabilities = { shop: true };
  const description = "Orders something.";
  const order = "export default async ({ item }, { host }) => ({ item, number: await host.shop.order({}) });";
  await engine.register({ name: "order", description, capabilities, source: order });
  await engine.register({
    name: "served",
    description,
    capabilities,
    source: "export default async (_, { host }) => host.shop.wait({});",
  });
  return { engine, orders: () => orders, entered: entered.promise, open: open.resolve };
}

const order = (engine: Engine, idempotencyKey: string, tenant = "", item: unknown = "tea") =>
  engine.execute({ name: "order", arguments: { item } }, { idempotencyKey, tenant });
const wait = (engine: Engine, limits = {}) =>
  engine.execute({ name: "served", arguments: {} }, { idempotencyKey: "wait", limits });

describe.each(Object.entries(STORES))("a store that is a %s:", (_kind, start) => {
  let stores: KeyedStores;
  beforeAll(async () => {
    stores = await start();
  });
  afterAll(() => stores[Symbol.asyncDispose]());

  describe("a call with a key whose process was killed", () => {
    test("after the answer gives the same answer in another process, and is not made again", async () => {
      const [store, effects] = [await stores.open(), await openEffects()];
      const first = startOther(store, effects.path, "order", ["tea", "cake"]);
      const answers = await first.answers();
      await first.kill();
      const again = await startOther(store, effects.path, "order", ["tea", "cake"]).answers();
      const byItem = (all: readonly Said[]) => new Map(all.map(({ item, output }) => [item, output]));
      expect(byItem(again)).toEqual(byItem(answers));
      expect(answers.map(({ isRepeated }) => isRepeated)).toEqual([false, false]);
      expect(again.map(({ isRepeated }) => isRepeated)).toEqual([true, true]);
      expect(effects.done().toSorted()).toEqual(["cake", "tea"]);
    });

    test("in the middle of it is not made again: its outcome is unknown", async () => {
      const [store, effects] = [await stores.open(), await openEffects()];
      const first = startOther(store, effects.path, "never", ["tea"]);
      await expect.poll(effects.done, { timeout: DEADLINE_MS }).toEqual(["tea"]);
      await first.kill();
      await store.forgetProcesses();
      const [again] = await startOther(store, effects.path, "never", ["tea"]).answers();
      expect(again?.code).toBe("outcome_unknown");
      expect(effects.done()).toEqual(["tea"]);
    });

    test("in the middle of it is made again only where its tool cannot have acted, or may act twice", async () => {
      const store = await stores.open();
      const [first, second] = [await openShop(store.options), await openShop(store.options)];
      // Its store is open: it takes less time than the call.
      await second.engine.execute({ name: "nothing", arguments: {} }, { idempotencyKey: "opens" });
      for (const [name, capabilities, annotations, code] of [
        ["idempotent", { shop: true }, { idempotent: true }, null],
        ["reading", { shop: true }, { readOnly: true }, null],
        ["powerless", {}, {}, null],
        ["acting", { shop: true }, {}, "outcome_unknown"],
      ] as const) {
        // Of a call that may have acted the outcome is unknown as long as it runs; else it may end in between as well.
        const rest = code === null ? "new Promise((resolve) => setTimeout(resolve, 500))" : "host.shop.wait({})";
        const source = `export default async (_, { host }) => { console.log("begins"); await ${rest}; return "late"; };`;
        const tool = { name, description: "Takes its time.", source, capabilities, annotations };
        const call = { name, arguments: {} };
        for (const { engine } of [first, second]) await engine.register(tool);
        const begun = Promise.withResolvers<void>();
        const late = first.engine.execute(call, { idempotencyKey: name, onLog: () => begun.resolve() });
        await begun.promise;
        await store.forgetProcesses();
        const taken = await second.engine.execute(call, { idempotencyKey: name });
        expect(taken.error?.code ?? null, name).toBe(code);
        if (code !== null) first.open();
        expect((await late).output).toBe("late");
        // Who was thought to have ended has not: the result that there is, is everybody's.
        const { output, metadata } = await second.engine.execute(call, { idempotencyKey: name });
        expect([output, metadata["isRepeated"]]).toEqual(["late", true]);
      }
    });
  });

  describe("processes with one", () => {
    test("make each call once, whoever asks first, and all give its answer", async () => {
      const [store, effects] = [await stores.open(), await openEffects()];
      const keys = Array.from({ length: 60 }, (_, at) => `k${at}`);
      const others = [keys, keys.toReversed(), keys].map((each) => startOther(store, effects.path, "order", each));
      const answers = await Promise.all(others.map((other) => other.answers()));
      expect(effects.done().toSorted()).toEqual(keys.toSorted());
      for (const key of keys) {
        const said = answers.flatMap((all) => all.filter(({ item }) => item === key));
        expect(said.map(({ code }) => code)).toEqual([null, null, null]);
        expect(new Set(said.map(({ output }) => JSON.stringify(output))).size).toBe(1);
        expect(said.filter(({ isRepeated }) => !isRepeated)).toHaveLength(1);
      }
    });

    test("wait for the one that runs the call, and get its result", async () => {
      const store = await stores.open();
      const [first, second] = [await openShop(store.options), await openShop(store.options)];
      const running = wait(first.engine);
      await first.entered;
      const waiting = wait(second.engine);
      first.open();
      expect((await running).output).toBe("served");
      const { output, metadata } = await waiting;
      expect([output, metadata["isRepeated"], second.orders()]).toEqual(["served", true, 0]);
    });

    test("wait no longer than the call may, and say when to come again", async () => {
      const store = await stores.open();
      const [first, second] = [await openShop(store.options), await openShop(store.options)];
      const running = wait(first.engine);
      await first.entered;
      const { error } = await wait(second.engine, { queueMs: 1 });
      expect(error).toMatchObject({ code: "in_progress", retryable: true, details: { retryAfterMs: 1_000 } });
      first.open();
      await running;
      expect((await wait(second.engine)).output).toBe("served");
    });

    test("stop waiting where the caller goes away, or the engine closes", async () => {
      const store = await stores.open();
      const [first, second] = [await openShop(store.options), await openShop(store.options)];
      const running = wait(first.engine);
      await first.entered;
      const leaving = new AbortController();
      const left = second.engine.execute(
        { name: "served", arguments: {} },
        { idempotencyKey: "wait", signal: leaving.signal },
      );
      leaving.abort();
      expect((await left).error?.code).toBe("cancelled");
      const waiting = wait(second.engine);
      await second.engine.close({ drainMs: 0 });
      expect((await waiting).error?.code).toBe("engine_closed");
      first.open();
      expect((await running).success).toBe(true);
    });
  });

  describe("what it remembers", () => {
    test("ends with its time", async () => {
      const store = await stores.open();
      const { engine, orders } = await openShop({ ...store.options, ttlMs: 1 });
      await order(engine, "k");
      await delay(20);
      await order(engine, "k");
      expect(orders()).toBe(2);
    });

    test("is the latest of whoever has most, where there is no room for all", async () => {
      const { engine, orders } = await openShop({ ...(await stores.open()).options, maxEntries: 3 });
      await order(engine, "a", "one");
      for (const key of ["b", "c", "d"]) await order(engine, key, "many");
      expect((await order(engine, "a", "one")).metadata["isRepeated"]).toBe(true);
      expect((await order(engine, "d", "many")).metadata["isRepeated"]).toBe(true);
      expect((await order(engine, "b", "many")).metadata["isRepeated"]).toBeUndefined();
      expect(orders()).toBe(5);
    });

    test("is of a result that is too large no more than that there was one", async () => {
      const { engine, orders } = await openShop({ ...(await stores.open()).options, maxBytes: 1024 ** 2 });
      const large = "x".repeat(100_000);
      expect((await order(engine, "k", "", large)).success).toBe(true);
      const { error } = await order(engine, "k", "", large);
      expect(error).toMatchObject({ code: "outcome_unknown", retryable: false, details: { hasEnded: true } });
      expect(orders()).toBe(1);
    });
  });
});

describe("what a file remembers", () => {
  test("is for its owner's eyes, and has neither keys nor arguments nor tenants in it", async () => {
    const store = join(await temporaryFolder(), "keys.sqlite");
    const { engine } = await openShop({ path: store });
    await engine.register({ name: "mute", description: "Says nothing.", source: "export default () => null" });
    const options = { idempotencyKey: "the-key-itself", tenant: "the-tenant-itself" };
    await engine.execute({ name: "mute", arguments: { secret: "the-argument-itself" } }, options);
    const files = [store, `${store}-wal`];
    for (const file of files) expect(statSync(file).mode & 0o777).toBe(0o600);
    const all = files.map((file) => readFileSync(file, "latin1")).join("\n");
    expect(all).toContain('"success":true');
    expect(all).not.toMatch(/itself/);
  });

  test("is nothing, and no file is made, as long as calls have no keys", async () => {
    const store = join(await temporaryFolder(), "keys.sqlite");
    const { engine } = await openShop({ path: store });
    await engine.execute({ name: "order", arguments: { item: "tea" } });
    expect(existsSync(store)).toBe(false);
  });
});

describe("a call with a key is refused, and not made,", () => {
  const broken = "no database at all ".repeat(1_000);
  test.each([
    ["is broken", (path: string) => writeFileSync(path, broken), /is corrupt/],
    [
      "is somebody else's",
      (path: string) => {
        using database = new DatabaseSync(path);
        database.exec("CREATE TABLE theirs (a)");
      },
      /other data/,
    ],
  ])("where the store %s, until it is mended", async (_title, spoil, says) => {
    const store = join(await temporaryFolder(), "keys.sqlite");
    spoil(store);
    const before = readFileSync(store);
    const { engine, orders } = await openShop({ path: store });
    const { error } = await order(engine, "k");
    expect(error).toMatchObject({ code: "store_failed", message: expect.stringMatching(says) });
    expect(error?.message).not.toContain(store);
    expect(readFileSync(store).equals(before)).toBe(true);
    expect(orders()).toBe(0);
    await rm(store);
    expect((await order(engine, "k")).success).toBe(true);
  });

  test("where the Redis is not there, without saying where that is", async () => {
    const port = await freePort();
    const { engine, orders } = await openShop({ url: `redis://127.0.0.1:${port}` });
    const { error } = await order(engine, "k");
    expect(error).toMatchObject({
      code: "store_failed",
      retryable: true,
      message: expect.stringContaining("ECONNREFUSED"),
    });
    expect(error?.message).not.toMatch(/127|\d{4}/);
    expect(orders()).toBe(0);
    expect((await engine.execute({ name: "order", arguments: { item: "tea" } })).success).toBe(true);
  });

  test("where the engine has closed", async () => {
    const store = join(await temporaryFolder(), "keys.sqlite");
    const { engine } = await openShop({ path: store });
    await order(engine, "k");
    await engine.close();
    expect((await order(engine, "k")).error?.code).toBe("engine_closed");
  });
});
