import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import {
  createEngine,
  type Engine,
  type EngineOptions,
  type KvOptions,
  type ToolResult,
} from "../../../../../src/glovebox/index.ts";
import { type RedisServer, startRedis } from "../../../../redis-server.ts";

let folder: string;
let redis: RedisServer;
let engine: Engine;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "glovebox-kv-"));
  redis = await startRedis();
});
afterAll(async () => {
  await redis[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

/** Places of stores, each of which two engines may have in common. */
const PLACES: readonly (readonly [where: string, place: () => KvOptions])[] = [
  ["in SQLite", () => ({ path: join(folder, "kv.sqlite") })],
  ["in Redis", () => ({ url: redis.url })],
];

const open = (kv: KvOptions, more: EngineOptions = {}) =>
  createEngine({
    workers: 1,
    kv,
    policy: {
      rules: [
        { tools: ["keeps*"], allow: { kv: true } },
        { tools: ["small"], allow: { kv: { maxBytes: 200 } } },
      ],
    },
    ...more,
  });

async function register(to: Engine, name: string, body: string): Promise<void> {
  const source = `export default async (input, { host: { kv } }) => { ${body} };`;
  await to.register({ name, description: "keeps something", source, capabilities: { kv: true } });
}

async function run(name: string, input: Record<string, unknown> = {}, tenant?: string): Promise<ToolResult> {
  return engine.execute({ name, arguments: input }, tenant === undefined ? {} : { tenant });
}

test("an engine whose tools keep nothing makes no file", async () => {
  const path = join(folder, "nothing.sqlite");
  engine = await open({ path });
  await register(engine, "keeps-nothing", "return 1;");
  await run("keeps-nothing");
  expect(existsSync(path)).toBe(false);
  await engine.close();
});

describe.each(PLACES)("a tool that keeps %s", (_where, place) => {
  beforeAll(async () => {
    engine = await open(place());
  });
  afterAll(() => engine.close());

  test("keeps values from call to call", async () => {
    await register(
      engine,
      "keeps-count",
      `for (;;) {
        const old = await kv.entry("n");
        const options = old === null ? { ifAbsent: true } : { ifVersion: old.version };
        const next = (old?.value ?? 0) + 1;
        if ((await kv.set("n", next, options)) !== null) return next;
      }`,
    );
    const counts = await Promise.all(Array.from({ length: 20 }, () => run("keeps-count")));
    const outputs = counts.map(({ output }) => Number(output)).toSorted((a, b) => a - b);
    expect(outputs).toEqual(Array.from({ length: 20 }, (_, at) => at + 1));
  });

  test("finds every method, and gets null instead of an exception where there is nothing or a comparison failed", async () => {
    await register(
      engine,
      "keeps-all",
      `const answers = [await kv.get("a"), await kv.entry("a"), await kv.set("a", { b: [1] }), await kv.get("a")];
       answers.push(await kv.set("a", 2, { ifVersion: 7 }), await kv.delete("a", { ifVersion: 7 }));
       answers.push(await kv.set("later", 1, { ttlMs: 60_000 }), (await kv.entry("later")).expiresAt > Date.now());
       answers.push((await kv.list("l")).keys.map(({ key }) => key), (await kv.list({ limit: 1 })).cursor);
       answers.push(await kv.delete("a"), await kv.delete("a"));
       return answers;`,
    );
    const expected = [null, null, 1, { b: [1] }, null, false, 2, true, ["later"], "a", true, false];
    expect((await run("keeps-all")).output).toEqual(expected);
  });

  test("walks through all of its keys, page by page", async () => {
    await register(
      engine,
      "keeps-many",
      `await Promise.all(Array.from({ length: 90 }, (_, at) => kv.set("k" + at, at)));
       return 1;`,
    );
    expect((await run("keeps-many")).error).toBeNull();
    await register(
      engine,
      "keeps-many",
      `await Promise.all(Array.from({ length: 60 }, (_, at) => kv.set("m" + at, at)));
       const seen = [];
       for await (const { key } of kv.keys()) seen.push(key);
       const some = [];
       for await (const { key } of kv.keys("m")) some.push(key);
       return [seen.length, new Set(seen).size, some.length];`,
    );
    expect((await run("keeps-many")).output).toEqual([150, 150, 60]);
  });

  test("keeps the values of each tenant apart", async () => {
    await register(
      engine,
      "keeps-tenants",
      'const old = await kv.get("k"); await kv.set("k", input.value); return old;',
    );
    await run("keeps-tenants", { value: "a" }, "a");
    expect((await run("keeps-tenants", { value: "b" }, "b")).output).toBeNull();
    expect((await run("keeps-tenants", { value: "a" }, "a")).output).toBe("a");
    expect((await run("keeps-tenants", { value: "b" }, "b")).output).toBe("b");
  });

  test("may catch what is refused, and the caller reads how to grant it", async () => {
    await register(engine, "small", 'return kv.set("k", "x".repeat(300));');
    const { error } = await run("small");
    expect(error).toMatchObject({ code: "capability_limit" });
    expect(error?.message).toContain("raise maxBytes in allow.kv of a policy rule");
    await register(engine, "small", 'try { await kv.set("k", "x".repeat(300)); } catch (e) { return e.code; }');
    expect((await run("small")).output).toBe("capability_limit");
  });

  test.each([
    ["an option that there is not", 'kv.set("k", 1, { ttl: 5 })', "do not match its schema"],
    ["no value", 'kv.set("k")', "do not match its schema"],
    ["a key that is too long", 'kv.get("k".repeat(600))', "do not match its schema"],
    ["a page that is too long", "kv.list({ limit: 100_000 })", "do not match its schema"],
  ])("is told what is wrong with %s", async (_what, expression, why) => {
    await register(engine, "keeps-wrong", `return ${expression};`);
    expect((await run("keeps-wrong")).error).toMatchObject({
      code: "capability_failed",
      message: expect.stringContaining(why),
    });
  });

  test.each(["get(undefined)", "entry(5)", "set(null, 1)", "delete({})", "list(7)", "keys(7).next()"])(
    "hears of a key that is no string: %s",
    async (asked) => {
      await register(engine, "keeps-wrong", `return kv.${asked}.catch((error) => error.name + ": " + error.message);`);
      expect((await run("keeps-wrong")).output).toMatch(/^TypeError: The (?:key|prefix) must be a string, but got /);
    },
  );

  test("is denied it where no rule allows it", async () => {
    await register(engine, "stranger", 'return kv.get("k");');
    expect((await run("stranger")).error).toMatchObject({ code: "capability_denied" });
  });

  test("finds in another engine of the same store what it kept in the first", async () => {
    const body = 'return input.value === undefined ? kv.get("shared") : kv.set("shared", input.value);';
    await register(engine, "keeps-shared", body);
    await run("keeps-shared", { value: 5 });
    await using other = await open(place(), { executor: "threads" });
    await register(other, "keeps-shared", body);
    expect((await other.execute({ name: "keeps-shared", arguments: {} })).output).toBe(5);
  });
});

test("what a store in Redis cannot do is told to the tool, and the engine goes on", async () => {
  await using own = await startRedis();
  engine = await open({ url: own.url });
  await register(engine, "keeps-on", 'return kv.set("k", 1);');
  expect((await run("keeps-on")).output).toBe(1);
  await own.stop();
  expect((await run("keeps-on")).error).toMatchObject({
    code: "capability_failed",
    message: expect.stringMatching(/the store cannot be reached \([A-Za-z ]+\): try again later$/),
  });
  await own.start();
  await vi.waitUntil(async () => (await run("keeps-on")).error === null, { timeout: 60_000 });
  await engine.close();
});

test.each([
  { path: "" },
  { path: "a\0b" },
  { path: 5 },
  { maxBytes: 0.5 },
  { maxBytes: 5 },
  { url: 5 },
  { url: "" },
  { url: "http://hush" },
  { url: "redis://hush:hush@host:0" },
  { url: "redis://hush", path: "hush" },
  { url: "redis://hush", maxBytes: 2 ** 30 },
])("an engine does not start with the option kv %j, and shows nothing of it", async (kv) => {
  const refused = await createEngine({ kv } as unknown as EngineOptions).catch((error: unknown) => error);
  expect(String(refused)).toMatch(/Error: kv\.(?:url|path|maxBytes)/);
  expect(String(refused)).not.toContain("hush");
});
