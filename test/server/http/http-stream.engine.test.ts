import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEngine, defineCapability, type Engine, type ToolResult } from "../../../src/glovebox/index.ts";
import { createServer, type Server } from "../../../src/server/http/server.ts";
import { conformingFetch } from "../mcp/conformance.ts";
import { readEvents, type ServerEvent } from "../../standard/contracts/events.ts";

const TALKS = {
  name: "talks",
  description: "Writes lines.",
  source: `export default ({ lines = 2, length = 4, mark = "x" }) => {
    for (let at = 0; at < lines; at++) console.log(mark.repeat(length) + "\\n" + at);
    return { lines };
  };`,
};
const ASKS = {
  name: "asks",
  description: "Says something, waits until the test opens its gate, says more.",
  source: `export default async (input, { host }) => {
    console.info("before");
    await host.gate.pass();
    console.warn("after");
    return "passed";
  };`,
  capabilities: { gate: true },
};
const THROWS = { name: "throws", description: "Throws.", source: 'export default () => { throw new Error("no") };' };

describe("a call that is streamed", () => {
  let engine: Engine;
  let server: Server;
  let gate = Promise.withResolvers<void>();

  beforeAll(async () => {
    const capability = defineCapability({
      name: "gate",
      methods: { pass: { handler: () => gate.promise } },
    });
    engine = await createEngine({
      workers: 1,
      executor: "threads",
      tools: [TALKS, ASKS, THROWS],
      capabilities: [capability],
      policy: { rules: [{ allow: { gate: true } }] },
      limits: { logBytes: 4 * 1024 * 1024 },
      queue: { concurrency: 4, maxQueued: 1 },
    });
    server = await createServer(engine, { port: 0, drainMs: 1_000 });
  });

  afterAll(async () => {
    gate.resolve();
    await server.close();
  });

  const post = (call: unknown, init: { accept?: string; signal?: AbortSignal } = {}): Promise<Response> =>
    conformingFetch(`${server.url}/v1/execute`, {
      method: "POST",
      body: JSON.stringify(call),
      headers: { "content-type": "application/json", accept: init.accept ?? "text/event-stream" },
      ...(init.signal === undefined ? {} : { signal: init.signal }),
    });

  const all = async (response: Response): Promise<ServerEvent[]> => Array.fromAsync(readEvents(response.body));

  test("answers with its lines, each an event, and with its result as the last one", async () => {
    const response = await post({ id: "s1", name: "talks", arguments: {} });
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "text/event-stream",
      "cache-control": "no-store",
      "x-accel-buffering": "no",
      "x-content-type-options": "nosniff",
    });
    const events = await all(response);
    expect(events.slice(0, -1)).toEqual([
      { event: "log", id: "1", data: '{"level":"log","message":"xxxx\\n0"}' },
      { event: "log", id: "2", data: '{"level":"log","message":"xxxx\\n1"}' },
    ]);
    const last = events.at(-1);
    expect(last).toMatchObject({ event: "result", id: "3" });
    const result = JSON.parse(last?.data ?? "") as ToolResult;
    expect(result).toMatchObject({ success: true, output: { lines: 2 }, error: null, metadata: { callId: "s1" } });
  });

  test("tells what happens while it runs, and what it asks the host for", async () => {
    gate = Promise.withResolvers();
    const response = await post({ name: "asks", arguments: {} });
    const events = readEvents(response.body);
    expect((await events.next()).value).toMatchObject({ event: "log", data: '{"level":"info","message":"before"}' });
    expect(engine.stats().running).toBe(1);
    gate.resolve();
    const rest = await Array.fromAsync(events);
    expect(rest.map(({ event }) => event)).toEqual(["capability", "log", "result"]);
    expect(JSON.parse(rest[0]?.data ?? "")).toEqual({
      capability: "gate",
      method: "pass",
      outcome: "ok",
      durationMs: expect.any(Number),
      step: 1,
    });
  });

  test("ends with the failure of a tool that ran", async () => {
    const response = await post({ name: "throws", arguments: {} });
    const [result, ...more] = await all(response);
    expect({ status: response.status, more }).toEqual({ status: 200, more: [] });
    expect(JSON.parse(result?.data ?? "")).toMatchObject({ success: false, error: { code: "tool_error" } });
  });

  test.each([
    [404, "tool_not_found", { name: "nobody", arguments: {} }],
    [400, "invalid_arguments", { name: "talks", arguments: [] }],
    [400, "invalid_arguments", { arguments: {} }],
  ])("is answered with %i and no stream where it is refused as %s", async (status, code, call) => {
    const response = await post(call);
    expect(response.status).toBe(status);
    expect(response.headers.get("content-type")).toBe("application/json; charset=utf-8");
    expect(await response.json()).toMatchObject({ success: false, error: { code } });
  });

  test("gives JSON to who does not ask for a stream, and 406 to who wants neither", async () => {
    for (const accept of ["*/*", "application/json, text/event-stream", "text/event-stream;q=0.5, */*"]) {
      const response = await post({ name: "talks", arguments: {} }, { accept });
      expect(response.headers.get("content-type")).toBe("application/json; charset=utf-8");
      expect(await response.json()).toMatchObject({ success: true });
    }
    const response = await post({ name: "talks", arguments: {} }, { accept: "text/html" });
    expect(response.status).toBe(406);
    expect(await response.json()).toMatchObject({ success: false, error: { code: "invalid_arguments" } });
  });

  test("is cancelled when its client goes away", async () => {
    gate = Promise.withResolvers();
    const ended = new Promise<string | undefined>((resolve) => {
      engine.on("tool:error", ({ result }) => resolve(result.error?.code));
    });
    const client = new AbortController();
    const response = await post({ name: "asks", arguments: {} }, { signal: client.signal });
    await readEvents(response.body).next();
    client.abort();
    expect(await ended).toBe("cancelled");
    // Its slot is free when its worker has stopped.
    await expect.poll(() => engine.stats()).toMatchObject({ running: 0, queued: 0 });
  });

  test("drops lines that a client makes no room for, says how many, and keeps the result", async () => {
    const lines = 1_000;
    // More bytes than the system takes for a client that reads nothing.
    const call = { name: "talks", arguments: { lines, length: 3_900, mark: "€" } };
    const ended = Promise.withResolvers<void>();
    engine.on("tool:post", () => ended.resolve());
    using socket = await request(server, call);
    await ended.promise;
    const events = await Array.fromAsync(readEvents(bodyOf(socket)));
    const logs = events.filter(({ event }) => event === "log");
    expect(events.slice(logs.length).map(({ event }) => event)).toEqual(["dropped", "result"]);
    expect(logs.length).toBeLessThan(lines);
    expect(JSON.parse(events.at(-2)?.data ?? "")).toEqual({ events: lines - logs.length });
    expect(JSON.parse(events.at(-1)?.data ?? "")).toMatchObject({ success: true, output: { lines } });
    expect(events.at(-1)?.id).toBe(String(lines + 2));
  });
});

test("a stream that is open when its server closes ends with the reason, and so does its connection", async () => {
  const pass = { handler: () => new Promise<void>(() => undefined) };
  await using engine = await createEngine({
    workers: 1,
    executor: "threads",
    tools: [ASKS],
    capabilities: [defineCapability({ name: "gate", methods: { pass } })],
    policy: { rules: [{ allow: { gate: true } }] },
  });
  const server = await createServer(engine, { port: 0, drainMs: 50 });
  using socket = await request(server, { name: "asks", arguments: {} }, "1.1");
  await once(socket, "readable");
  const closed = server.close();
  let text = "";
  for await (const chunk of socket as AsyncIterable<Buffer>) text += chunk.toString();
  expect(text).toMatch(/^event: result$/m);
  expect(text).toContain('"code":"engine_closed"');
  await closed;
});

/** Sends a request on a connection of its own, and reads nothing. */
async function request(server: Server, call: unknown, version = "1.0"): Promise<Socket & Disposable> {
  const body = Buffer.from(JSON.stringify(call));
  const socket = connect(server.port, "127.0.0.1");
  const lines = ["Content-Type: application/json", "Accept: text/event-stream", `Content-Length: ${body.length}`];
  await once(socket, "connect");
  socket.write(
    Buffer.concat([
      Buffer.from(`POST /v1/execute HTTP/${version}\r\nHost: localhost\r\n${lines.join("\r\n")}\r\n\r\n`),
      body,
    ]),
  );
  return Object.assign(socket, { [Symbol.dispose]: () => void socket.destroy() });
}

/** The body of an answer that ends with its connection. */
async function* bodyOf(socket: Socket): AsyncGenerator<Uint8Array> {
  let head: string | null = "";
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    const start = head === null ? 0 : (head += chunk.toString("latin1")).indexOf("\r\n\r\n");
    if (head === null) yield chunk;
    else if (start >= 0) {
      yield Buffer.from(head.slice(start + 4), "latin1");
      head = null;
    }
  }
}
