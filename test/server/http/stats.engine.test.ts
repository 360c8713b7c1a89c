import { once } from "node:events";
import { type AddressInfo, connect } from "node:net";
import { fastify } from "fastify";
import { afterEach, beforeEach, describe, expect, type MockInstance, test, vi } from "vitest";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";
import { createServer, type Server } from "../../../src/server/http/server.ts";
import type { Watcher } from "../../../src/server/http/stats-sampler.ts";
import { type StatsSnapshot, StatsStreams } from "../../../src/server/http/stats.ts";

const ECHO = { name: "echo", description: "Gives its input back.", source: "export default (input) => input;" };
const THROW = { name: "throw", description: "Throws.", source: "export default () => { throw new Error('no'); };" };

let engine: Engine;
let server: Server;
let listens: MockInstance<Engine["on"]>;
let leaves: MockInstance<Engine["off"]>;

beforeEach(async () => {
  engine = await createEngine({ workers: 1, executor: "threads", tools: [ECHO, THROW] });
  server = await createServer(engine, { port: 0, drainMs: 0 });
  listens = vi.spyOn(engine, "on");
  leaves = vi.spyOn(engine, "off");
});
afterEach(async () => {
  await server.close();
});

function isListening(): boolean {
  return listens.mock.calls.length > leaves.mock.calls.length;
}

function url(): string {
  return `${server.url}/v1/stats`;
}

async function readSnapshot(): Promise<StatsSnapshot> {
  const response = await fetch(url(), { signal: AbortSignal.timeout(10_000) });
  expect(response.status).toBe(200);
  return (await response.json()) as StatsSnapshot;
}

/** A snapshot of the time in which some calls were made: on a busy machine they may take longer than that. */
async function readDuring(calls: () => Promise<void>): Promise<StatsSnapshot> {
  for (;;) {
    const reading = readSnapshot();
    await vi.waitUntil(() => isListening(), { timeout: 60_000, interval: 1 });
    await calls();
    if (isListening()) return await reading;
    await reading;
  }
}

/** The snapshots of a stream, until the consumer leaves. */
async function* watch(): AsyncGenerator<StatsSnapshot> {
  const headers = { accept: "text/event-stream" };
  const response = await fetch(url(), { headers, signal: AbortSignal.timeout(20_000) });
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  let rest = "";
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const events = (rest + chunk).split("\n\n");
    rest = events.pop() ?? "";
    for (const event of events) yield JSON.parse(event.replace(/^data: /, "")) as StatsSnapshot;
  }
}

describe("GET /v1/stats", () => {
  test("answers one snapshot of the engine and its server", async () => {
    const snapshot = await readSnapshot();
    expect(snapshot).toMatchObject({
      state: "open",
      queued: 0,
      running: 0,
      restarts: 0,
      quarantined: [],
      tools: [],
      executor: { kind: "threads", ready: true, sandbox: { kind: "off" } },
      calls: { perSecond: 0, errorsPerSecond: 0, p50Ms: null, p95Ms: null, p99Ms: null },
      http: { connections: 1, streams: 0 },
    });
    // More of them are made ready meanwhile.
    await vi.waitFor(async () => expect((await readSnapshot()).isolates).toEqual(engine.stats().isolates), {
      timeout: 120_000,
    });
    expect(Math.abs(Date.parse(snapshot.time) - Date.now())).toBeLessThan(60_000);
    expect(snapshot.uptimeMs).toBeGreaterThan(0);
  });

  test("tells which tools were called, how often, and what came of it", async () => {
    const { calls, tools } = await readDuring(async () => {
      for (let n = 0; n < 3; n++) await engine.execute({ name: "echo", arguments: {} });
      await engine.execute({ name: "throw", arguments: {} });
      await engine.execute({ name: "<b>nobody</b>", arguments: {} });
    });
    expect(calls.perSecond).toBeGreaterThan(0);
    expect(calls.errorsPerSecond / calls.perSecond).toBeCloseTo(2 / 5, 1);
    expect(calls.p50Ms).toBeGreaterThan(0);
    expect(calls.p99Ms).toBeGreaterThanOrEqual(calls.p50Ms ?? Infinity);
    expect(tools.map(({ name }) => name)).toEqual(["echo", "throw"]);
    const [echo, thrown] = tools;
    expect((echo?.callsPerSecond ?? 0) / (thrown?.callsPerSecond ?? 1)).toBeCloseTo(3, 1);
    expect(echo?.errorsPerSecond).toBe(0);
    expect(thrown?.errorsPerSecond).toBe(thrown?.callsPerSecond);
  });

  test("streams one snapshot after the other to who asks for events", async () => {
    const seen: StatsSnapshot[] = [];
    for await (const snapshot of watch()) {
      seen.push(snapshot);
      if (seen.length === 3) break;
    }
    expect(seen.map(({ http }) => http.streams)).toEqual([1, 1, 1]);
    expect(seen.map(({ uptimeMs }) => uptimeMs)).toEqual(
      seen.map(({ uptimeMs }) => uptimeMs).toSorted((a, b) => a - b),
    );
    expect(new Set(seen.map(({ uptimeMs }) => uptimeMs)).size).toBe(3);
  });

  test("listens to calls only while somebody watches", async () => {
    expect(isListening()).toBe(false);
    for await (const _snapshot of watch()) {
      expect(isListening()).toBe(true);
      break;
    }
    await vi.waitUntil(() => !isListening(), { timeout: 60_000 });
    await readSnapshot();
    expect(isListening()).toBe(false);
  });

  test("ends streams when the server closes", async () => {
    let count = 0;
    for await (const _snapshot of watch()) {
      if (count++ === 0) void server.close();
    }
    expect(count).toBeGreaterThan(0);
  });

  test("takes no other method", async () => {
    const response = await fetch(url(), { method: "POST" });
    expect([response.status, response.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  });
});

test("a client that does not read its stream is dropped, and no other", { timeout: 60_000 }, async () => {
  const watchers = new Set<Watcher>();
  const streams = new StatsStreams({
    add: (watcher) => void watchers.add(watcher),
    remove: (watcher) => void watchers.delete(watcher),
  });
  await using app = fastify();
  app.get("/", (_request, reply) => (streams.add(reply, () => true), reply));
  await app.listen({ port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const open = () => {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => undefined);
    socket.write("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n");
    return socket;
  };
  const idle = open().pause();
  const reader = open().resume();
  await vi.waitUntil(() => streams.size === 2, { timeout: 60_000 });

  const snapshot = { quarantined: Array.from({ length: 5_000 }, () => "x".repeat(100)) } as unknown as StatsSnapshot;
  const deadline = Date.now() + 30_000;
  while (streams.size === 2 && Date.now() < deadline) {
    for (const watcher of watchers) watcher(snapshot);
    // The next one only once this one was read.
    const { bytesRead } = reader;
    await vi.waitUntil(() => reader.bytesRead > bytesRead + 400_000, { timeout: 60_000, interval: 5 });
  }
  expect(streams.size).toBe(1);
  expect(reader.destroyed).toBe(false);

  idle.destroy();
  reader.destroy();
  await Promise.all([once(idle, "close"), once(reader, "close")]);
  await vi.waitUntil(() => watchers.size === 0, { timeout: 60_000 });
});
