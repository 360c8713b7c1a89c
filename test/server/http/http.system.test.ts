import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import fc from "fast-check";
import { fastify } from "fastify";
import { Gauge, Registry } from "prom-client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  createEngine,
  defineCapability,
  type Engine,
  type EngineOptions,
  type ToolResult,
} from "../../../src/glovebox/index.ts";
import { ScopedEngine } from "../../../src/server/access/scoped-engine.ts";
import { addRoutes } from "../../../src/server/http/routes.ts";
import { createServer, type Server } from "../../../src/server/http/server.ts";
import { conformingFetch } from "../mcp/conformance.ts";

const ECHO = { name: "echo", description: "Gives its input back.", source: "export default (input) => input;" };
const THROW = {
  name: "throw",
  description: "Throws.",
  source: 'export default () => { throw new RangeError("no"); };',
};
const WAIT = {
  name: "wait",
  description: "Waits until the test opens its gate.",
  source: "export default async (input, { host }) => { await host.gate.pass(); return { passed: true }; };",
  capabilities: { gate: true },
};
const DEEP = {
  name: "deep",
  description: "Nests its output.",
  source:
    "export default ({ depth }) => { let all = []; for (let at = 0; at < depth; at++) all = [all]; return all; };",
};
const STRICT = {
  name: "strict",
  description: "Takes numbers and little else.",
  source: "export default ({ a }) => ({ a });",
  inputSchema: { type: "object", properties: { a: { type: "number" } }, required: ["a"], additionalProperties: false },
  limits: { inputBytes: 100 },
};

/** What the tool `wait` waits for: `entered` resolves when a call is at the gate, `open` lets it pass. */
function createGate() {
  const entered = Promise.withResolvers<void>();
  const open = Promise.withResolvers<void>();
  const capability = defineCapability({
    name: "gate",
    methods: {
      pass: {
        handler: async () => {
          entered.resolve();
          await open.promise;
        },
      },
    },
  });
  return { capability, entered: entered.promise, open: open.resolve };
}

interface Bench extends AsyncDisposable {
  readonly engine: Engine;
  readonly server: Server;
  readonly gate: ReturnType<typeof createGate>;
}

async function startBench(options: EngineOptions = {}, bodyBytes = 1_000_000, drainMs = 5_000): Promise<Bench> {
  const gate = createGate();
  const engine = await createEngine({
    workers: 1,
    executor: { kind: "process", spare: false },
    tools: [ECHO, THROW, WAIT, DEEP, STRICT],
    capabilities: [gate.capability],
    policy: { rules: [{ allow: { gate: true } }] },
    ...options,
  });
  const server = await createServer(engine, { port: 0, bodyBytes, drainMs });
  return { engine, server, gate, [Symbol.asyncDispose]: () => server.close() };
}

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: ToolResult;
}

async function send(url: string, body: string | Uint8Array<ArrayBuffer>, type = "application/json"): Promise<Answer> {
  const response = await conformingFetch(url, { method: "POST", body, headers: { "content-type": type } });
  return { status: response.status, headers: response.headers, body: (await response.json()) as ToolResult };
}

const post = ({ server }: Bench, call: unknown): Promise<Answer> =>
  send(`${server.url}/v1/execute`, typeof call === "string" ? call : JSON.stringify(call));

/** What every answer of a call that was refused looks like, whoever refused it. */
function expectFailure({ status, headers, body }: Answer, expected: number, code: string): void {
  expect({ status, code: body.error?.code }).toEqual({ status: expected, code });
  expect(headers.get("content-type")).toBe("application/json; charset=utf-8");
  expect(body).toEqual({
    success: false,
    output: null,
    error: expect.objectContaining({
      type: expect.any(String),
      message: expect.any(String),
      retryable: expect.any(Boolean),
    }),
    metadata: expect.objectContaining({ callId: expect.any(String), attempts: 0, logs: [] }),
  });
  expectNeutral(JSON.stringify(body));
}

/** No stack, no path of the host. */
function expectNeutral(answer: string): void {
  expect(answer).not.toMatch(/\bat .*:\d+:\d+|node_modules|\/src\/|FST_|fastify/);
}

describe("a server", () => {
  let bench: Bench;

  beforeAll(async () => {
    bench = await startBench();
  });

  afterAll(async () => {
    await bench.server.close();
  });

  const get = (path: string, init?: RequestInit): Promise<Response> => conformingFetch(bench.server.url + path, init);

  test("runs a call and answers with its result", async () => {
    const { status, body, headers } = await post(bench, { id: "c1", name: "echo", arguments: { a: [1, "ü", null] } });
    expect(status).toBe(200);
    expect(headers.get("content-type")).toBe("application/json; charset=utf-8");
    expect(body).toMatchObject({ success: true, output: { a: [1, "ü", null] }, error: null });
    expect(body.metadata).toMatchObject({ callId: "c1", tool: "echo", attempts: 1, logs: [] });
  });

  test("answers 200 with the tool's error where the tool ran and failed", async () => {
    const { status, body } = await post(bench, { name: "throw", arguments: {} });
    expect(status).toBe(200);
    expect(body).toMatchObject({ success: false, output: null });
    expect(body.error).toMatchObject({ code: "tool_error", type: "RangeError", message: "no" });
    expectNeutral(JSON.stringify({ ...body.error, details: null }));
  });

  test("passes a call's options on", async () => {
    const limited = { name: "echo", arguments: { text: "0123456789" }, options: { limits: { outputBytes: 5 } } };
    expect((await post(bench, limited)).body.error?.code).toBe("output_too_large");
    const narrowed = { name: "wait", arguments: {}, options: { capabilities: {}, tenant: "t", priority: 3 } };
    expect((await post(bench, narrowed)).body.error?.code).toBe("capability_denied");
  });

  test("answers 404 for a tool that is not there", async () => {
    expectFailure(await post(bench, { name: "nobody", arguments: {} }), 404, "tool_not_found");
    expectFailure(await post(bench, { name: "__proto__", arguments: {} }), 404, "tool_not_found");
  });

  test("answers 400 with every violation where arguments do not fit the schema", async () => {
    const answer = await post(bench, { name: "strict", arguments: { a: "1", b: 2 } });
    expectFailure(answer, 400, "invalid_arguments");
    expect(answer.body.error?.details).toMatchObject({ violations: [expect.anything(), expect.anything()] });
  });

  test.each([
    ["nothing", ""],
    ["half of an object", '{"name":'],
    ["a list", "[]"],
    ["null", "null"],
    ["a call without a name", '{"arguments":{}}'],
    ["a name that is a number", '{"name":1}'],
    ["arguments that are a list", '{"name":"echo","arguments":[]}'],
    ["an id that is an object", '{"id":{},"name":"echo","arguments":{}}'],
    ["an id that is too long", JSON.stringify({ id: "i".repeat(300), name: "echo", arguments: {} })],
    ["options that are a list", '{"name":"echo","options":[]}'],
    ["an option that there is not", '{"name":"echo","options":{"tenants":"a"}}'],
    ["a tenant that is a number", '{"name":"echo","options":{"tenant":1}}'],
    ["a priority that is a string", '{"name":"echo","options":{"priority":"1"}}'],
    ["limits that are a list", '{"name":"echo","options":{"limits":[1]}}'],
    ["a limit that there is not", '{"name":"echo","options":{"limits":{"fun":1}}}'],
    ["a limit below zero", '{"name":"echo","options":{"limits":{"wallMs":-1}}}'],
    ["capabilities that are null", '{"name":"echo","options":{"capabilities":null}}'],
  ])("answers 400 to %s", async (_, body) => {
    expectFailure(await post(bench, body), 400, "invalid_arguments");
  });

  test.each([
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data",
    "application/jsonp",
    "nonsense",
  ])("answers 400 to a body of the type %s", async (type) => {
    const body = JSON.stringify({ name: "echo", arguments: {} });
    expectFailure(await send(`${bench.server.url}/v1/execute`, body, type), 400, "invalid_arguments");
  });

  test("answers 413 to a body over its limit and to arguments over the tool's", async () => {
    const text = "x".repeat(1_000_000);
    expectFailure(await post(bench, { name: "echo", arguments: { text } }), 413, "input_too_large");
    expectFailure(await post(bench, { name: "strict", arguments: { a: text.slice(0, 200) } }), 413, "input_too_large");
  });

  test("answers 404 in plain words where there is nothing, before it reads a body", async () => {
    for (const path of [
      "/v2",
      "/v1",
      "/v1/execute/",
      "/v1/tools/echo/x",
      "/V1/tools",
      "//healthz",
      "/v1/../etc/passwd",
    ]) {
      const response = await get(path, { method: "POST", body: "{", headers: { "content-type": "application/json" } });
      expect(response.status).toBe(404);
      expect(response.headers.get("content-type")).toBe("application/problem+json; charset=utf-8");
      expect(await response.json()).toEqual({
        type: "about:blank",
        title: "Not Found",
        status: 404,
        detail: "no route at this address",
        error: "no route at this address",
      });
    }
  });

  test("answers 405 with the methods that an address takes", async () => {
    for (const [method, path, allow] of [
      ["GET", "/v1/execute", "POST"],
      ["OPTIONS", "/v1/execute", "POST"],
      ["POST", "/", "GET, HEAD"],
      ["POST", "/v1/tools", "GET, HEAD"],
      ["POST", "/v1/tools/echo", "GET, HEAD, PUT, DELETE"],
      ["PUT", "/metrics", "GET, HEAD"],
      ["PATCH", "/healthz", "GET, HEAD"],
      ["POST", "/readyz", "GET, HEAD"],
    ] as const) {
      const response = await get(path, { method, ...(method === "GET" ? {} : { body: "{" }) });
      expect(response.headers.get("allow")).toBe(allow);
      const body = (await response.json()) as ToolResult;
      expectFailure({ status: response.status, headers: response.headers, body }, 405, "invalid_arguments");
    }
  });

  test("answers 400 to an address that cannot be decoded", async () => {
    const response = await get("/v1/tools/%E0%A4%A");
    expect(response.status).toBe(400);
    expectNeutral(await response.text());
  });

  test("lists its tools, and shows one", async () => {
    const all = await get("/v1/tools");
    expect(all.status).toBe(200);
    const infos = (await all.json()) as { name: string }[];
    expect(infos.map(({ name }) => name)).toEqual(["deep", "echo", "strict", "throw", "wait"]);
    const one = await get("/v1/tools/strict");
    expect(await one.json()).toEqual(infos[2]);
    expect(infos[2]).toMatchObject({ name: "strict", inputSchema: STRICT.inputSchema, limits: { inputBytes: 100 } });
    expect((await get("/v1/tools", { method: "HEAD" })).status).toBe(200);
  });

  test.each(["nobody", "__proto__", "constructor", "..%2Fetc", "n".repeat(5_000)])(
    "answers 404 in the form of a result for the tool %.20s",
    async (name) => {
      const response = await get(`/v1/tools/${name}`);
      const body = (await response.json()) as ToolResult;
      expectFailure({ status: response.status, headers: response.headers, body }, 404, "tool_not_found");
      expect(body.metadata.tool.length).toBeLessThanOrEqual(128);
    },
  );

  test("shows its metrics in the type that Prometheus asks for", async () => {
    await post(bench, { name: "echo", arguments: {} });
    const response = await get("/metrics");
    expect(response.headers.get("content-type")).toBe(Registry.PROMETHEUS_CONTENT_TYPE);
    expect(await response.text()).toMatch(/^glovebox_calls_total\{tool="echo",code="ok"\} \d+$/m);
  });

  test("says that it is alive and ready", async () => {
    const alive = await get("/healthz");
    expect({ status: alive.status, body: await alive.json() }).toEqual({ status: 200, body: { status: "alive" } });
    const ready = await get("/readyz");
    const body = { status: "ready", executor: { kind: "process", ready: true, sandbox: expect.any(String) } };
    expect({ status: ready.status, body: await ready.json() }).toEqual({ status: 200, body });
  });

  test("takes keys that name prototypes for the data they are", async () => {
    const args = '{"__proto__":{"a":1},"constructor":{"prototype":{"a":1}}}';
    const echoed = await conformingFetch(`${bench.server.url}/v1/execute`, {
      method: "POST",
      body: `{"name":"echo","arguments":${args},"__proto__":{"id":"inherited"}}`,
      headers: { "content-type": "application/json" },
    });
    const answer = await echoed.text();
    expect(answer).toContain(`"output":${args}`);
    expect(answer).not.toContain("inherited");
    expect(Reflect.get({}, "a")).toBeUndefined();
    for (const body of [
      '{"__proto__":{"name":"echo","arguments":{}}}',
      '{"name":"strict","arguments":{"__proto__":{"a":1}}}',
      '{"name":"strict","arguments":{"a":1,"__proto__":{}}}',
      '{"name":"echo","options":{"limits":{"__proto__":{"wallMs":1}}}}',
      '{"name":"echo","options":{"__proto__":{"tenant":"a"}}}',
    ]) {
      expectFailure(await post(bench, body), 400, "invalid_arguments");
    }
  });

  test("refuses a body of nothing but brackets before it is read", async () => {
    const depth = 400_000;
    const nested = await post(bench, `{"name":"echo","arguments":{"a":${"[".repeat(depth)}${"]".repeat(depth)}}}`);
    expect(nested.status).toBe(400);
    const flat = await post(bench, `{"name":"echo","arguments":{"a":[${"0,".repeat(300_000)}0]}}`);
    expect(flat.status).not.toBe(400);
  });

  test("survives arguments and outputs that are nested without end", async () => {
    const depth = 200_000;
    const nested = await post(bench, `{"name":"echo","arguments":{"a":${"[".repeat(depth)}${"]".repeat(depth)}}}`);
    expect(nested.status).toBeLessThan(500);
    const deep = await post(bench, { name: "deep", arguments: { depth } });
    expect(deep).toMatchObject({ status: 200, body: { success: false, output: null } });
    expect((await post(bench, { name: "deep", arguments: { depth: 3 } })).body.output).toEqual([[[[]]]]);
  });

  test("never answers anything thrown at it with a 5xx", async () => {
    const bytes = fc.uint8Array({ maxLength: 200 }).map((all) => Uint8Array.from(all));
    const type = fc.constantFrom("application/json", "application/json; charset=utf-16", "text/plain", "*/*", "a/b");
    await fc.assert(
      fc.asyncProperty(bytes, type, async (body, contentType) => {
        const { status, body: answer } = await send(`${bench.server.url}/v1/execute`, body, contentType);
        expect(status).toBe(400);
        expect(answer).toMatchObject({ success: false, output: null, error: { code: "invalid_arguments" } });
      }),
      { numRuns: 200 },
    );
  });

  test("never answers a call of any form with a 5xx", async () => {
    const value = fc.jsonValue({ maxDepth: 3 });
    const name = fc.oneof(fc.constantFrom("echo", "strict", "throw", "__proto__"), fc.string(), value);
    const options = fc.oneof(
      value,
      fc.record(
        {
          tenant: fc.oneof(fc.string(), value),
          priority: fc.oneof(fc.double(), value),
          limits: fc.oneof(
            fc.dictionary(fc.constantFrom("queueMs", "inputBytes", "memoryMb", "logBytes"), value),
            value,
          ),
          capabilities: value,
        },
        { requiredKeys: [] },
      ),
    );
    const call = fc.record({ id: value, name, arguments: fc.oneof(fc.object(), value), options }, { requiredKeys: [] });
    await fc.assert(
      fc.asyncProperty(fc.oneof(call, value), async (body) => {
        const { status, body: answer } = await post(bench, JSON.stringify(body));
        // A call that asks for a queue deadline of next to nothing may miss it, as it asked for.
        if (status >= 500) expect(answer.error?.code).toBe("queue_timeout");
        expect(Object.keys(answer).sort()).toEqual(["error", "metadata", "output", "success"]);
        expectNeutral(JSON.stringify({ ...answer.error, details: null }));
      }),
      { numRuns: 300 },
    );
  });

  test("answers requests that are not HTTP, and goes on", async () => {
    for (const bytes of [
      "\0\0\0\0\r\n\r\n",
      "GET / HTTP/9.9\r\n\r\n",
      "POST /v1/execute HTTP/1.1\r\nContent-Length: x\r\n\r\n",
    ]) {
      const socket = connect(bench.server.port, "127.0.0.1");
      socket.end(bytes);
      expectNeutral(await text(socket));
    }
    expect((await get("/healthz")).status).toBe(200);
  });
});

test("a client that goes away takes its call with it", async () => {
  await using bench = await startBench();
  const { engine, gate, server } = bench;
  const ended = new Promise<string | undefined>((resolve) => {
    engine.on("tool:error", ({ result }) => resolve(result.error?.code));
  });
  const client = new AbortController();
  const call = JSON.stringify({ name: "wait", arguments: {} });
  const answer = conformingFetch(`${server.url}/v1/execute`, {
    method: "POST",
    body: call,
    headers: { "content-type": "application/json" },
    signal: client.signal,
  });
  await gate.entered;
  client.abort();
  await expect(answer).rejects.toThrow(/abort/);
  expect(await ended).toBe("cancelled");
  // Its slot is free when its worker has stopped.
  await expect.poll(() => engine.stats()).toMatchObject({ running: 0, queued: 0 });
});

test("a full queue is answered with 429 and when to come again", async () => {
  await using bench = await startBench({ queue: { maxQueued: 0, concurrency: 1 } });
  const held = post(bench, { name: "wait", arguments: {} });
  await bench.gate.entered;
  const refused = await post(bench, { name: "echo", arguments: {} });
  expectFailure(refused, 429, "queue_full");
  const details = refused.body.error?.details as { retryAfterMs: number };
  expect(refused.headers.get("retry-after")).toBe(String(Math.ceil(details.retryAfterMs / 1_000)));
  bench.gate.open();
  expect((await held).body.output).toEqual({ passed: true });
  expect((await post(bench, { name: "echo", arguments: {} })).status).toBe(200);
});

test("a call that waits longer than it may is answered with 503", async () => {
  await using bench = await startBench({ queue: { concurrency: 1 } });
  const held = post(bench, { name: "wait", arguments: {} });
  await bench.gate.entered;
  const late = await post(bench, { name: "echo", arguments: {}, options: { limits: { queueMs: 1 } } });
  expectFailure(late, 503, "queue_timeout");
  bench.gate.open();
  expect((await held).status).toBe(200);
});

test("a call that a listener refuses is answered with 403 and the reason", async () => {
  await using bench = await startBench();
  bench.engine.on("tool:pre", (event) => event.block("not today"));
  const answer = await post(bench, { name: "echo", arguments: {} });
  expectFailure(answer, 403, "blocked");
  expect(answer.body.error?.message).toBe("not today");
});

test("calls and readiness are answered with 503 once the engine is closed", async () => {
  await using bench = await startBench();
  await bench.engine.close();
  expectFailure(await post(bench, { name: "echo", arguments: {} }), 503, "engine_closed");
  const ready = await conformingFetch(`${bench.server.url}/readyz`);
  expect(ready.status).toBe(503);
  expect(await ready.json()).toMatchObject({ status: "draining" });
  expect((await conformingFetch(`${bench.server.url}/healthz`)).status).toBe(200);
});

test("what is thrown inside is answered with 500 and without a word about it", async () => {
  const registry = new Registry();
  await using bench = await startBench({ registry });
  const collect = (): never => {
    throw new Error("in /src/secret.ts");
  };
  registry.registerMetric(new Gauge({ name: "bad", help: "Fails.", registers: [], collect }));
  const response = await conformingFetch(`${bench.server.url}/metrics`);
  expect(response.status).toBe(500);
  const detail = "the request could not be answered";
  const details = { type: "about:blank", title: "Internal Server Error", status: 500, detail };
  expect(await response.json()).toEqual({ ...details, error: detail });
});

describe("a server that closes", () => {
  test("says that it drains before it does", async () => {
    await using bench = await startBench();
    await using app = fastify();
    let isDraining = false;
    addRoutes(app, {
      engine: bench.engine,
      gate: new ScopedEngine(bench.engine),
      isDraining: () => isDraining,
      onDrain: () => undefined,
    });
    expect((await app.inject("/readyz")).statusCode).toBe(200);
    isDraining = true;
    const { statusCode, body } = await app.inject("/readyz");
    expect({ statusCode, body: JSON.parse(body) as unknown }).toMatchObject({
      statusCode: 503,
      body: { status: "draining" },
    });
    expect((await app.inject("/healthz")).statusCode).toBe(200);
  });

  test("lets a call in flight end, and takes no connection any more", async () => {
    await using bench = await startBench();
    const { server, gate } = bench;
    const held = post(bench, { name: "wait", arguments: {} });
    await gate.entered;
    const closed = server.close();
    await listenerGone(server);
    gate.open();
    const { status, headers, body } = await held;
    expect({ status, output: body.output }).toEqual({ status: 200, output: { passed: true } });
    expect(headers.get("connection")).toBe("close");
    await closed;
    expect(bench.engine.stats().state).toBe("closed");
  });

  test("ends a call that goes on after the drain with engine_closed", async () => {
    await using bench = await startBench({}, 1_000, 50);
    const held = post(bench, { name: "wait", arguments: {} });
    await bench.gate.entered;
    const closed = bench.server.close();
    const { status, body } = await held;
    expect({ status, code: body.error?.code }).toEqual({ status: 503, code: "engine_closed" });
    await closed;
  });

  test("waits neither for idle connections nor for a request that never ends", async () => {
    await using bench = await startBench();
    const { server } = bench;
    await (await conformingFetch(`${server.url}/healthz`)).text();
    const endless = connect(server.port, "127.0.0.1");
    const lines = [
      "POST /v1/execute HTTP/1.1",
      "Host: localhost",
      "Content-Type: application/json",
      "Content-Length: 9",
    ];
    endless.write(`${lines.join("\r\n")}\r\nExpect: 100-continue\r\n\r\n`);
    // The server has asked for the body, and waits for it.
    await once(endless, "data");
    endless.on("error", () => undefined);
    const ended = once(endless, "close");
    await server.close();
    await ended;
    await server.close();
  });
});

/** Connects again and again until a server's listener is gone: closing it takes a few turns of the event loop. */
async function listenerGone(server: Server): Promise<void> {
  for (;;) {
    const taken = await conformingFetch(`${server.url}/healthz`).then(
      (response) => response.text().then(() => true),
      () => false,
    );
    if (!taken) return;
  }
}
