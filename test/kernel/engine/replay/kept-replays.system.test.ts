import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createEngine, type Engine } from "../../../../src/glovebox/index.ts";

const WORLD = `export default async ({ n }, { host }) => {
  const began = Date.now();
  const drawn = [Math.random(), crypto.randomUUID()];
  const answers = await Promise.all([0, 1].map((at) => fetch(ORIGIN + "/" + n + "?at=" + at)));
  const texts = await Promise.all(answers.map((answer) => answer.text()));
  await new Promise((resolve) => setTimeout(resolve, n % 3));
  const before = (await host.kv.get("sum")) ?? 0;
  await host.kv.set("sum", before + n);
  console.log("sum", before + n);
  if (n % 10 === 9) throw new RangeError("no nines: " + texts[0]);
  return { began, drawn, texts, before, ended: Date.now() };
};`;

let engine: Engine;
let requests = 0;
const server = createServer((request, response) => {
  requests++;
  response.end(`${request.url} is number ${requests}`);
});

beforeAll(async () => {
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const capabilities = { kv: {}, fetch: { origins: [origin] } } as const;
  engine = await createEngine({
    workers: 1,
    executor: "threads",
    policy: { rules: [{ allow: { kv: {}, pause: true, fetch: { origins: [origin], privateOrigins: [origin] } } }] },
    kv: { path: ":memory:" },
    calls: { path: ":memory:", keep: "everything" },
    tools: [
      { name: "world", description: "Asks.", capabilities, source: WORLD.replace("ORIGIN", JSON.stringify(origin)) },
      {
        name: "wait",
        description: "Waits.",
        capabilities: { pause: true },
        source: `export default async (input, { host }) => {
          const drawn = [Math.random(), crypto.randomUUID()];
          return [...drawn, await host.pause.signal({ name: "go" }), Math.random(), crypto.randomUUID()];
        }`,
      },
      { name: "add", description: "Adds.", source: "export default ({ a, b }) => a + b;" },
      {
        name: "login",
        description: "Logs in.",
        inputSchema: { type: "object", properties: { pin: { type: "string", writeOnly: true } } },
        source: "export default () => true;",
      },
    ],
  });
});

afterAll(async () => {
  await engine.close();
  server.close();
});

describe("calls.replay", () => {
  test("runs 50 calls again with what they had, and asks nobody outside", async () => {
    const ids = Array.from({ length: 50 }, (_, n) => `call${n}`);
    for (const [n, id] of ids.entries()) await engine.execute({ id, name: "world", arguments: { n } });
    expect(requests).toBe(100);
    const replays: Awaited<ReturnType<typeof engine.calls.replay>>[] = [];
    // No more than may wait at once.
    for (let at = 0; at < ids.length; at += 10) {
      replays.push(...(await Promise.all(ids.slice(at, at + 10).map((id) => engine.calls.replay(id)))));
    }
    expect(replays.map((replay) => replay?.differences)).toEqual(ids.map(() => []));
    expect(replays.map((replay) => replay?.verdict)).toEqual(ids.map(() => "same"));
    expect(replays[9]?.result.error).toMatchObject({ code: "tool_error", type: "RangeError" });
    expect(requests).toBe(100);
    expect(await engine.calls.get("call7")).toMatchObject({ detail: { isReplayable: true } });
  });

  test("runs a call that has waited in its midst again, with the randomness with which it began", async () => {
    const { error, metadata } = await engine.execute({ id: "waited", name: "wait", arguments: {} });
    const { id = "" } = error?.code === "paused" ? (error.details ?? {}) : {};
    await engine.calls.durable.signal(id, "go");
    expect(await engine.calls.durable.result(id, {}, { waitMs: 120_000 })).toMatchObject({ success: true });
    expect(await engine.calls.replay(metadata.callId)).toMatchObject({ verdict: "same", differences: [] });
  });

  test("says why a call cannot be run again", async () => {
    await engine.execute({ id: "wrong", name: "nothing", arguments: {} });
    await engine.execute({ id: "hidden", name: "login", arguments: { pin: "1234" } });
    await engine.execute({ id: "cut", name: "world", arguments: { n: 1 } }, { signal: AbortSignal.timeout(1) });
    expect(await engine.calls.replay("unknown")).toBeUndefined();
    expect(await engine.calls.replay("wrong", { tools: ["ad*"] })).toBeUndefined();
    await expect(engine.calls.replay("wrong")).rejects.toThrow("it was refused before it ran");
    await expect(engine.calls.replay("hidden")).rejects.toThrow("its values are redacted");
    await expect(engine.calls.replay("cut")).rejects.toThrow(TypeError);
    await engine.register({ name: "add", description: "Adds.", source: "export default ({ a, b }) => a + b;" });
    await engine.execute({ id: "sum", name: "add", arguments: { a: 1, b: 2 } });
    const cpuMs: number[] = [];
    const replay = await engine.calls.replay("sum", {}, { onCpu: (ms) => cpuMs.push(ms) });
    expect(replay).toMatchObject({ verdict: "same", result: { success: true, output: 3 } });
    expect(cpuMs).toHaveLength(1);
    await engine.register({ name: "add", description: "Adds.", source: "export default ({ a, b }) => b + a;" });
    await expect(engine.calls.replay("sum")).rejects.toThrow('its tool "add" is another version now');
  });

  test("16 replays wait, and more are refused", async () => {
    await engine.execute({ id: "many", name: "add", arguments: { a: 1, b: 2 } });
    const replays = await Promise.allSettled(Array.from({ length: 40 }, () => engine.calls.replay("many")));
    const refused = replays.filter(({ status }) => status === "rejected");
    for (const { reason } of refused as PromiseRejectedResult[])
      expect(String(reason)).toContain("replays wait already");
    expect(refused).toHaveLength(40 - 18);
  });
});

test("calls.compare tells the differences of two calls, the first one first", async () => {
  await engine.execute({ id: "left", name: "world", arguments: { n: 1 } });
  await engine.execute({ id: "right", name: "world", arguments: { n: 2 } });
  const compared = await engine.calls.compare("left", "right");
  expect(compared?.isSame).toBe(false);
  expect(compared?.differences[0]).toMatchObject({ pointer: "/output/began", left: expect.any(Number) });
  expect(compared?.differences.map(({ pointer }) => pointer)).toContain("/asks/0/target");
  expect(await engine.calls.compare("left", "left")).toEqual({ isSame: true, differences: [] });
  expect(await engine.calls.compare("left", "none")).toBeUndefined();
  await engine.execute({ id: "refused", name: "nothing", arguments: {} });
  await expect(engine.calls.compare("left", "refused")).rejects.toThrow("values of one of the calls were not kept");
});

test("calls.watch tells calls as they end, by a filter, until its reader stops", async () => {
  const abort = new AbortController();
  onTestFinished(() => abort.abort());
  const watched = engine.calls.watch({ tool: "add" }, { signal: abort.signal });
  await engine.execute({ id: "w1", name: "add", arguments: { a: 1, b: 2 } });
  await engine.execute({ id: "w2", name: "login", arguments: {} });
  await engine.execute({ id: "w3", name: "add", arguments: { a: 1, b: 2 } });
  const seen: string[] = [];
  for await (const { id } of watched) if (seen.push(id) === 2) break;
  expect(seen).toEqual(["w1", "w3"]);
  expect(() => Array.from({ length: 65 }, () => engine.calls.watch({}, { signal: abort.signal }))).toThrow(
    "64 readers watch calls already",
  );
  abort.abort();
  const other = new AbortController();
  onTestFinished(() => other.abort());
  const watch = (...holders: readonly string[]) => engine.calls.watch({}, { signal: other.signal, holders });
  for (let at = 0; at < 16; at++) watch(`key ${at}`, "tenant acme");
  expect(() => watch("key new", "tenant acme")).toThrow("16 readers of the tenant acme watch calls already");
  for (let at = 0; at < 15; at++) watch("key 0");
  expect(() => watch("key 0")).toThrow("16 readers of the key 0 watch calls already");
  expect(watch("key 1")).toBeDefined();
});
