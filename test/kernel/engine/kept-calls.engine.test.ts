import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type CallOptions, createEngine, type Engine } from "../../../src/glovebox/index.ts";
import { hiddenIn, hidingOptions, makeHidingCalls, serveEcho } from "./hidden-values.ts";
import { temporaryFolder } from "../tool/temporary.ts";

const ERROR = { type: "object", properties: { why: { type: "string" } } };
const TOOLS = [
  { name: "add", description: "Adds.", source: "export default ({ a, b }) => a + b;" },
  {
    name: "fail",
    description: "Fails.",
    inputSchema: ERROR,
    source: 'export default ({ why }) => { console.warn("so", why); throw new TypeError(why); };',
  },
  {
    name: "asker",
    description: "Asks.",
    capabilities: { kv: {}, fetch: { origins: ["http://127.0.0.1:1"] } },
    source: `export default async ({ key }, { host }) => {
      await host.kv.set(key, 1);
      await host.kv.get(key);
      await fetch("http://127.0.0.1:1/path?token=1");
    };`,
  },
  {
    name: "parent",
    description: "Calls.",
    capabilities: { tools: ["add"] },
    source: 'export default (input, { host }) => host.tools.call("add", input);',
  },
];

async function open(calls: CallOptions | undefined, stateDir?: string): Promise<Engine> {
  const engine = await createEngine({
    workers: 1,
    executor: "threads",
    policy: { rules: [{ allow: { tools: ["add"] } }] },
    tools: TOOLS,
    ...(calls === undefined ? {} : { calls }),
    ...(stateDir === undefined ? {} : { stateDir }),
  });
  onTestFinished(() => engine.close());
  return engine;
}

async function shown(engine: Engine, id: string) {
  const { beginMs = 0, detail } = (await engine.calls.get(id)) ?? {};
  return { begin: beginMs, detail };
}

/** All that the store has on disk. */
function bytesIn(path: string): Buffer {
  const names = readdirSync(path, { recursive: true, encoding: "utf8" });
  return Buffer.concat(
    names.filter((name) => name.includes("calls.sqlite")).map((name) => readFileSync(join(path, name))),
  );
}

describe("an engine with the option calls", () => {
  let engine: Engine;
  beforeAll(async () => {
    engine = await createEngine({
      workers: 1,
      executor: "threads",
      policy: { rules: [{ allow: { tools: ["add"], kv: true } }] },
      kv: { path: ":memory:" },
      tools: TOOLS,
      calls: { path: ":memory:" },
    });
    return () => engine.close();
  });

  test("keeps a call that succeeded without its values", async () => {
    const before = Date.now();
    const { metadata } = await engine.execute(
      { id: "one", name: "add", arguments: { a: 1, b: 2 } },
      { tenant: "acme" },
    );
    const { digest } = engine.get("add") ?? { digest: "" };
    const stored = await engine.calls.get("one");
    expect(stored).toEqual({
      format: "glovebox-call/1",
      id: "one",
      tool: "add",
      version: "0.0.0",
      digest,
      tenant: "acme",
      parentId: null,
      surface: "library",
      key: null,
      code: "ok",
      error: null,
      beginMs: expect.any(Number),
      queueMs: metadata.queueMs,
      wallMs: metadata.wallMs,
      cpuMs: metadata.cpuMs,
      bytes: '{"a":1,"b":2}3'.length,
      attempts: 1,
      sampled: 1,
      detail: null,
    });
    expect(stored?.beginMs).toBeGreaterThanOrEqual(before);
    expect(stored?.beginMs).toBeLessThanOrEqual(Date.now());
  });

  test("keeps a call that failed with arguments, error and log lines", async () => {
    const result = await engine.execute({ id: "two", name: "fail", arguments: { why: "of rain" } });
    expect(await engine.calls.get("two")).toMatchObject({
      code: "tool_error",
      error: "of rain",
      detail: {
        arguments: { why: "of rain" },
        output: null,
        error: JSON.parse(JSON.stringify(result.error)),
        logs: [{ level: "warn", message: "so of rain" }],
        omitted: [],
      },
    });
    const { calls } = await engine.calls.list({ text: "Rain" });
    expect(calls.map(({ id }) => id)).toEqual(["two"]);
  });

  test("keeps calls that were refused, and those of other calls with their parents", async () => {
    await engine.execute({ id: "three", name: "nothing", arguments: {} });
    await engine.execute({ id: "four", name: "parent", arguments: { a: 2, b: 3 } }, { tenant: "beta" });
    expect(await engine.calls.get("three")).toMatchObject({ tool: "nothing", code: "tool_not_found", attempts: 0 });
    const { calls } = await engine.calls.list({ tenant: "beta" });
    expect(calls).toMatchObject([
      { tool: "add", parentId: "four", surface: "tool", code: "ok" },
      { tool: "parent", id: "four", parentId: null, surface: "library" },
    ]);
    expect((await engine.calls.list({ parent: "four" })).calls).toMatchObject([{ tool: "add" }]);
  });

  test("tells what a call has asked for, what came of it, and what it was granted", async () => {
    await engine.execute({ id: "asks", name: "asker", arguments: { key: "k1" } });
    const { begin, detail } = await shown(engine, "asks");
    const asks = detail?.asks ?? [];
    expect(asks).toMatchObject([
      { step: 1, capability: "kv", method: "set", target: "k1", outcome: "ok", rule: "policy.rules[0]", attempt: 1 },
      { step: 2, capability: "kv", method: "get", target: "k1", outcome: "ok", code: null, isReplayed: false },
      { step: 3, capability: "fetch", method: "request", target: "http://127.0.0.1:1/path", outcome: "denied" },
    ]);
    expect(asks[2]).toMatchObject({ code: "capability_denied", rule: null });
    expect(asks[1]?.bytes).toBe('{"key":"k1"}1'.length);
    for (const { atMs, durationMs } of asks) {
      expect(atMs).toBeGreaterThanOrEqual(0);
      expect(begin + atMs + durationMs).toBeLessThanOrEqual(Date.now() + 1);
    }
    const turns = detail?.turns ?? [];
    expect(turns.map(({ attempt }) => attempt)).toEqual([1, 1, 1, 1]);
    expect(turns.map(({ atMs }) => atMs)).toEqual(turns.map(({ atMs }) => atMs).toSorted((a, b) => a - b));
    expect(detail).toMatchObject({
      asksOmitted: 0,
      isReplayable: true,
      omitted: [],
      explanation: { tool: "asker", grants: [{ capability: "kv", from: "policy.rules[0]" }] },
    });
  });

  test("refuses filters that it does not understand", async () => {
    for (const filter of [{ limit: 0 }, { limit: 201 }, { since: "yesterday" }, { cursor: "1; DROP TABLE call" }]) {
      await expect(engine.calls.list(filter)).rejects.toThrow(RangeError);
    }
    await expect(engine.calls.list({ text: "x".repeat(257) })).rejects.toThrow("text is one text of at most 256");
  });

  test("counts what it keeps in metrics", async () => {
    await engine.execute({ name: "add", arguments: { a: 1, b: 2 } });
    await engine.calls.list();
    const text = await engine.metrics();
    const kept = Number(/^glovebox_calls_kept_total (\d+)$/m.exec(text)?.[1]);
    expect(kept).toBeGreaterThan(0);
    expect(kept).toBe(engine.calls.status()?.kept);
    expect(text).toMatch(/^glovebox_calls_dropped_total\{reason="full"\} 0$/m);
    expect(text).toMatch(/^glovebox_calls_store_bytes [1-9]/m);
  });
});

describe("what is kept", () => {
  test("nothing is kept without the option", async () => {
    const stateDir = await temporaryFolder();
    const engine = await open(undefined, stateDir);
    await engine.execute({ name: "add", arguments: { a: 1, b: 2 } });
    await expect(engine.calls.list()).rejects.toThrow("the engine keeps no calls: set its option calls");
    expect(engine.calls.status()).toBeUndefined();
    await engine.close();
    expect(readdirSync(stateDir)).toEqual([]);
  });

  test("summaries have no values, and everything has those of all calls", async () => {
    const few = await open({ path: ":memory:", keep: "summaries" });
    await few.execute({ id: "a", name: "fail", arguments: { why: "no" } });
    expect(await few.calls.get("a")).toMatchObject({ error: "no", detail: null });
    const all = await open({ path: ":memory:", keep: "everything" });
    await all.execute({ id: "b", name: "add", arguments: { a: 1, b: 2 } });
    expect((await all.calls.get("b"))?.detail).toMatchObject({ arguments: { a: 1, b: 2 }, output: 3, error: null });
    const none = await open({ path: ":memory:", keep: "nothing" });
    await expect(none.calls.list()).rejects.toThrow("keeps no calls");
  });

  test("calls are found again by the next engine of the state folder", async () => {
    const stateDir = await temporaryFolder();
    const first = await open({}, stateDir);
    await first.execute({ id: "kept", name: "add", arguments: { a: 1, b: 2 } });
    await first.close();
    const second = await open({}, stateDir);
    expect(await second.calls.get("kept")).toMatchObject({ id: "kept", code: "ok" });
  });

  test("no byte on disk is of a password, of a secret that a server gives back, or of a tool's config", async () => {
    const stateDir = await temporaryFolder();
    await using upstream = await serveEcho();
    const engine = await createEngine({ ...hidingOptions(upstream.origin), calls: { keep: "everything" }, stateDir });
    onTestFinished(() => engine.close());
    await makeHidingCalls(engine, upstream);
    const kept = await Promise.all(["1", "2", "3", "4", "5", "6"].map((id) => engine.calls.get(id)));
    expect(kept.map((call) => call?.detail)).toMatchObject([
      {
        arguments: { user: "ada", password: "[redacted]", more: ["[redacted]", "[redacted]"] },
        output: { token: "[redacted]", ok: true },
      },
      { arguments: { user: "", password: "[redacted]" }, error: { message: "no user" } },
      {
        arguments: { user: "ada", password: "[redacted]" },
        error: { code: "invalid_arguments", details: { violations: [{ pointer: "/password", keyword: "maxLength" }] } },
      },
      { arguments: { user: "ada", password: "[redacted]" }, error: { code: "invalid_arguments" } },
      { output: { seen: { text: expect.stringContaining("/echo?key=") } }, isReplayable: true },
      { error: { code: "tool_error", message: expect.stringContaining("/echo?key=") } },
    ]);
    await expect.poll(() => engine.calls.get("7")).toBeDefined();
    const onDisk = bytesIn(stateDir);
    await engine.close();
    for (const bytes of [onDisk, bytesIn(stateDir)]) {
      expect(bytes.toString("latin1")).toContain("[redacted]");
      expect(hiddenIn(bytes)).toEqual([]);
    }
  });

  test("the embedder's function replaces any value before it leaves the main thread", async () => {
    const seen: string[] = [];
    const redact: CallOptions["redact"] = (value, { tool, pointer }) => {
      seen.push(`${tool} ${pointer}`);
      if (pointer === "/arguments/b") throw new Error("no");
      return pointer === "/error/message" || typeof value === "boolean" ? value : "gone";
    };
    const engine = await open({ path: ":memory:", keep: "everything", redact });
    await engine.execute({ id: "x", name: "add", arguments: { a: 1, b: 2 } });
    expect((await engine.calls.get("x"))?.detail).toMatchObject({
      arguments: { a: "gone", b: "[redacted]" },
      output: "gone",
    });
    expect(seen).toEqual(["add /arguments/a", "add /arguments/b", "add /output"]);
  });

  test("a large value is left out, and said to be", async () => {
    const engine = await open({ path: ":memory:", keep: "everything" });
    await engine.execute({ id: "big", name: "add", arguments: { a: "x".repeat(200_000), b: "y".repeat(100_000) } });
    expect(await engine.calls.get("big")).toMatchObject({
      code: "ok",
      detail: { arguments: null, output: null, omitted: ["arguments", "output"] },
    });
  });
});
