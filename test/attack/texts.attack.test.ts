import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createEngine, type Engine } from "../../src/glovebox/index.ts";
import { createServer, type Server } from "../../src/server/http/server.ts";
import { threadMs, TurnMeter, usualMs } from "../turns.ts";

const MIB = 1024 * 1024;
/** The longest turn of the loop, in processor time: 15 to 35 ms on a quiet machine. */
const LOOP_MS = 150;

/** Processor time, at most some 45 ms on a quiet machine; caches that others use too double it. */
const WRITE_MS = 150;

/** Sends bodies from a thread of its own: the loop that is measured does not read the answers. */
const CLIENT = `const { parentPort, workerData } = require("node:worker_threads");
  parentPort.on("message", async ({ body, accept, path, more }) => {
    const headers = { "content-type": "application/json", accept, ...more };
    const response = await fetch(workerData + path, { method: "POST", headers, body });
    const text = await response.text();
    const ends = text.slice(0, 400) + " … " + text.slice(-400);
    parentPort.postMessage({ status: response.status, length: text.length, ends });
  });`;

interface Answer {
  readonly status: number;
  readonly length: number;
  readonly ends: string;
}

let engine: Engine;
let server: Server;
let client: Worker;

beforeAll(async () => {
  const limits = { outputBytes: 64 * MIB, inputBytes: 64 * MIB, memoryMb: 1_024, cpuMs: 20_000, wallMs: 180_000 };
  engine = await createEngine({
    workers: 1,
    limits,
    maxLimits: limits,
    tools: [
      { name: "big", description: "Returns a text.", source: "export default ({ n }) => 'x'.repeat(n - 2)" },
      { name: "count", description: "Counts.", source: "export default (input) => JSON.stringify(input).length" },
    ],
  });
  server = await createServer(engine, { port: 0 });
  client = new Worker(CLIENT, { eval: true, workerData: server.url });
  await engine.execute({ name: "big", arguments: { n: 10 } });
});
afterAll(async () => {
  await client.terminate();
  await server.close();
});

/** What the loop felt of a piece of work, in milliseconds. */
async function feel<Value>(label: string, run: () => Promise<Value>): Promise<Value> {
  using turns = new TurnMeter();
  const value = await run();
  turns.stop();
  console.info(`${label}: longest turn ${turns.longestMs.toFixed(0)} ms`);
  expect(turns.longestMs, label).toBeLessThan(LOOP_MS);
  return value;
}

async function send(body: string, accept = "application/json", path = "/v1/execute", more = {}): Promise<Answer> {
  client.postMessage({ body, accept, path, more });
  const [answer] = (await once(client, "message")) as [Answer];
  return answer;
}

const list = <Value>(length: number, make: (at: number) => Value) => Array.from({ length }, (_, at) => make(at));

test("arguments of 1 MiB in any shape hold the caller's thread for a moment, and are counted", async () => {
  const shapes: Readonly<Record<string, () => unknown>> = {
    text: () => "x".repeat(MIB - 20),
    escapes: () => "\u0001".repeat(MIB / 6 - 10),
    numbers: () => list(MIB / 2 - 10, () => 1),
    objects: () => list(Math.floor(MIB / 3) - 10, () => ({})),
    lists: () => list(Math.floor(MIB / 3) - 10, () => []),
    keys: () => Object.fromEntries(list(90_000, (at) => [`k${at}`, 1])),
  };
  for (const [name, make] of Object.entries(shapes)) {
    const value = make();
    const tenant = `tenant of ${name}`;
    const beganMs = threadMs();
    const running = engine.execute({ name: "count", arguments: { value } }, { tenant });
    const heldMs = usualMs(threadMs() - beganMs);
    const { error } = await running;
    expect(error).toBe(null);
    console.info(`${name}: ${heldMs.toFixed(0)} ms of the thread, counted ${engine.usage(tenant).bytesGiven}`);
    expect(heldMs).toBeLessThan(WRITE_MS);
    expect(engine.usage(tenant).bytesGiven).toBeGreaterThan(MIB * 0.9);
  }
});

test("an output of 64 MiB costs the loop a moment until it is read", async () => {
  const result = await feel("a call", () => engine.execute({ name: "big", arguments: { n: 64 * MIB } }));
  expect(Object.getOwnPropertyDescriptor(result, "output")).not.toHaveProperty("value");
  expect(result.output).toHaveLength(64 * MIB - 2);
});

test("an output of 64 MiB is passed on over HTTP, as a whole and as an event", async () => {
  const body = JSON.stringify({ name: "big", arguments: { n: 64 * MIB } });
  const whole = await feel("an answer", () => send(body));
  expect(whole).toMatchObject({
    status: 200,
    ends: expect.stringMatching(/^{"success":true,"output":"xxx.*x","error":null,"metadata":{.*}}$/s),
  });
  expect(whole.length).toBeGreaterThan(64 * MIB);
  const event = await feel("an event", () => send(body, "text/event-stream"));
  expect(event.ends).toMatch(
    // Comments keep the connection while the call runs.
    /^(?::\n\n)*event: result\nid: 1\ndata: {"success":true,"output":"xxx.*x","error":null,"metadata":{.*}}\n\n$/s,
  );
});

test("an output of 64 MiB is cut for a model over MCP", async () => {
  const accept = "application/json, text/event-stream";
  const message = (id: number, method: string, params: unknown) =>
    JSON.stringify({ jsonrpc: "2.0", id, method, params });
  const clientInfo = { name: "tester", version: "1.0.0" };
  const opened = await fetch(`${server.url}/mcp`, {
    method: "POST",
    headers: { "content-type": "application/json", accept },
    body: message(1, "initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo }),
  });
  await opened.text();
  const session = { "mcp-session-id": opened.headers.get("mcp-session-id") ?? "" };
  const body = message(2, "tools/call", { name: "big", arguments: { n: 64 * MIB } });
  const called = await feel("a call over MCP", () => send(body, accept, "/mcp", session));
  expect(called).toMatchObject({
    status: 200,
    ends: expect.stringMatching(/"text":"xxx.*67108862 characters.*too long to be kept.*\n\n$/s),
  });
  expect(called.length).toBeLessThan(64 * 1024);
});

test("a client that leaves in the middle of a long answer or event leaves nothing behind", async () => {
  const body = JSON.stringify({ name: "big", arguments: { n: 16 * MIB } });
  for (const accept of ["application/json", "text/event-stream"]) {
    const leave = new AbortController();
    const headers = { "content-type": "application/json", accept };
    const response = await fetch(`${server.url}/v1/execute`, { method: "POST", headers, body, signal: leave.signal });
    await response.body?.getReader().read();
    leave.abort();
  }
  const answer = await send('{"name":"big","arguments":{"n":10}}');
  expect(answer).toMatchObject({ status: 200 });
});

test("long arguments over HTTP reach the tool unparsed, and a body that is not JSON is refused", async () => {
  const objects = `[${'{"a":1},\n'.repeat(400_000)}1]`;
  const body = `{"name":"count","arguments":{"value":${objects}}}`;
  const answer = await feel("a body", () => send(body));
  expect(answer).toMatchObject({ status: 200, ends: expect.stringContaining('"output":3200013') });
  for (const wrong of [
    `${body}}`,
    body.slice(0, -1),
    body.replace(",\n1]", ",\n]"),
    `${body.slice(0, -3)}],"more":1}`,
  ]) {
    expect(await send(wrong)).toMatchObject({ status: 400, ends: expect.stringContaining("the body is not JSON") });
  }
});
