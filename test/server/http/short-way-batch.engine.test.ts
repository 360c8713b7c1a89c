import { once } from "node:events";
import { connect } from "node:net";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";
import { createKey } from "../../../src/server/access/secret.ts";
import { createServer, type Server } from "../../../src/server/http/server.ts";
import { ask, CALL_ID, CALL_NAME, countHandled, LIMITS, post, requestWith, type Sent, TOOLS } from "./both-ways.ts";

const SHORT_WAY = "/v1/execute/batch";
/** The framework's route has this address too; the short way does not. */
const LONG_WAY = "/v1/execute/batch?";
const BATCH_CALLS = 8;
const HOUR_MS = 3_600_000;

const options = fc.record(
  {
    tenant: fc.oneof(fc.string(), fc.nat()),
    priority: fc.double(),
    limits: fc.dictionary(fc.string(), fc.jsonValue()),
    retries: fc.nat(9),
  },
  { requiredKeys: [] },
);
const call = fc.oneof(
  { weight: 4, arbitrary: fc.record({ name: fc.constant("echo"), arguments: fc.object() }) },
  fc.record(
    {
      id: CALL_ID,
      name: CALL_NAME,
      arguments: fc.jsonValue(),
      command: fc.jsonValue(),
      options: fc.oneof(options, fc.jsonValue()),
    },
    { requiredKeys: ["name"] },
  ),
  fc.jsonValue(),
);
const batch = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record(
      { calls: fc.array(call, { maxLength: BATCH_CALLS + 1 }), options: fc.oneof(options, fc.jsonValue()) },
      { requiredKeys: ["calls"] },
    ),
  },
  fc.record({ calls: fc.array(call, { maxLength: 2 }), more: fc.jsonValue() }),
  fc.record({ calls: fc.jsonValue() }),
  fc.jsonValue(),
);
const body = fc.oneof(
  { weight: 6, arbitrary: batch.map((value) => JSON.stringify(value)) },
  fc.uint8Array({ maxLength: 100 }).map((bytes) => Uint8Array.from(bytes)),
  fc.constantFrom(
    "",
    '\uFEFF{"calls":[{"name":"echo","arguments":{}}]}',
    '{"calls":[{"name":"echo","arguments":{"__proto__":1,"constructor":{"prototype":2}}}]}',
    '{"calls":[{"name":"echo"}],"calls":[{"name":"echo","arguments":{"a":1},"arguments":{"b":2}}]}',
    '{"calls":[{"name":"echo","arguments":{"a":"\ud800€"}}]}',
    '{"calls":[{"name":"echo"}],"options":{"idempotencyKey":"a batch has none"}}',
    '{"calls":[{"name":"echo"}',
    `{"calls":${"[".repeat(20_000)}`,
    `{"calls":[{"name":"echo","arguments":{"long":"${"x".repeat(65_000)}"}}]}`,
    `{"calls":[{"name":"echo","arguments":{"long":"${"x".repeat(70_000)}"}}]}`,
  ),
);

function fillOf(...lengths: readonly number[]): Sent {
  return post({ calls: lengths.map((length) => ({ name: "fill", arguments: { length } })) });
}

describe("a request to /v1/execute/batch", () => {
  let engine: Engine;
  let server: Server;

  beforeAll(async () => {
    engine = await createEngine({ workers: 1, executor: "threads", tools: TOOLS, maxLimits: LIMITS });
    const connections = { requestMs: 6_000, headersMs: 6_000 };
    const origins = ["https://friend.example"];
    server = await createServer(engine, { port: 0, origins, connections, batchCalls: BATCH_CALLS });
  });

  afterAll(() => server.close());

  test("takes the short way where it is an ordinary one, and the framework's where it is not", async () => {
    const calls = [{ name: "echo", arguments: {} }, { name: "nobody" }, 5];
    const ordinary = [
      post({ calls }),
      post({ calls, options: { priority: 1 } }, "accept: */*"),
      post({ calls: [] }, "connection: close"),
      post({ calls }, "idempotency-key: refused"),
    ];
    const others = [
      post({ calls }, "origin: https://friend.example"),
      post({ calls }, "accept: text/event-stream", "connection: close"),
      post({ calls }, "accept: application/x-ndjson", "connection: close"),
      post({ calls: [{ name: "echo", arguments: { long: "x".repeat(65_536) } }] }),
    ];
    const send = (all: readonly Sent[], url = SHORT_WAY) => Promise.all(all.map((sent) => ask(server, url, sent)));
    expect(await countHandled(() => send(ordinary))).toBe(0);
    expect(await countHandled(() => send(ordinary, LONG_WAY))).toBe(ordinary.length);
    expect(await countHandled(() => send(others))).toBe(others.length);
  });

  test("is answered with the same bytes either way, whatever it is", async () => {
    await fc.assert(
      fc.asyncProperty(requestWith(body), async (sent) => {
        const [short, long] = await Promise.all([ask(server, SHORT_WAY, sent), ask(server, LONG_WAY, sent)]);
        expect(short).toBe(long);
      }),
      { numRuns: 400 },
    );
  });

  test.each([
    ["short ones", [0, 1, 2]],
    ["one that is counted while it waits for the others", [20_000, 5, 100_000]],
    ["more than the system takes at once", [400_000, 400_000, 400_000, 400_000]],
  ])("has outputs of either way: %s", async (_name, lengths) => {
    const [short, long] = await Promise.all([SHORT_WAY, LONG_WAY].map((url) => ask(server, url, fillOf(...lengths))));
    expect(short?.match(/€/g)?.length).toBe(lengths.reduce((sum, length) => sum + length));
    expect(short).toBe(long);
  });

  test("has the results in the order of its calls", async () => {
    const calls = [3, 1, 2].map((index) => ({ name: "echo", arguments: { index } }));
    const answer = await ask(server, SHORT_WAY, post({ calls }));
    expect(answer.match(/"index":\d/g)).toEqual(['"index":3', '"index":1', '"index":2']);
  });

  test("is counted either way", async () => {
    const count = async (): Promise<number> => {
      const metric = engine.registry.getSingleMetric("glovebox_http_requests_total");
      const { values } = (await metric?.get()) ?? { values: [] };
      const own = values.filter(({ labels }) => labels["route"] === SHORT_WAY && labels["status"] === 400);
      return own.reduce((sum, { value }) => sum + value, 0);
    };
    const before = await count();
    await ask(server, SHORT_WAY, post({ calls: [] }));
    await ask(server, LONG_WAY, post({ calls: [] }));
    expect((await count()) - before).toBe(2);
  });

  test.each([SHORT_WAY, LONG_WAY])("cancels its calls when its client leaves: %s", async (url) => {
    const cancelled = vi.fn<() => void>();
    const listen = ({ result }: { readonly result: { readonly error: { readonly code: string } | null } }): void => {
      if (result.error?.code === "cancelled") cancelled();
    };
    engine.on("tool:error", listen);
    const { method, version, headers, body: bytes } = post({ calls: [{ name: "wait" }, { name: "wait" }] });
    const socket = connect({ port: server.port, host: "127.0.0.1" });
    socket.write(`${method} ${url} HTTP/${version}\r\n${headers.map((header) => `${header}\r\n`).join("")}\r\n`);
    socket.write(bytes);
    await vi.waitFor(() => expect(engine.stats().running).toBe(2), { timeout: 120_000 });
    socket.destroy();
    await once(socket, "close");
    await vi.waitFor(() => expect(cancelled).toHaveBeenCalledTimes(2), { timeout: 120_000 });
    // A cancelled call has its slot until its worker has stopped.
    await vi.waitFor(() => expect(engine.stats().running).toBe(0), { timeout: 120_000 });
    engine.off("tool:error", listen);
  });
});

describe("a request to /v1/execute/batch with a key", () => {
  const keyed = new Map(["any", "any too", "few", "few too", "metrics"].map((name) => [name, createKey()]));
  const sent = (key: string, value: unknown): Sent =>
    post(value, `authorization: Bearer ${keyed.get(key)?.secret ?? key}`);
  const few = { rate: { calls: 3, perMs: HOUR_MS } };
  const any = { quota: { calls: 1_000, cpuSeconds: 100, windowMs: HOUR_MS }, tools: ["echo"] };
  const grants = new Map<string, object>([
    ["few", few],
    ["few too", few],
    ["any", any],
    ["any too", any],
    ["metrics", { roles: ["metrics"] }],
  ]);
  let server: Server;

  beforeAll(async () => {
    const engine = await createEngine({ workers: 1, executor: "threads", tools: TOOLS, maxLimits: LIMITS });
    const keys = [...keyed].map(([name, { hash }]) => ({
      name: name.replace(" ", "-"),
      hash,
      tenant: "acme",
      roles: ["execute" as const],
      ...grants.get(name),
    }));
    server = await createServer(engine, { port: 0, keys });
  });

  afterAll(() => server.close());

  test("is answered with the same bytes either way", async () => {
    const calls = [
      { name: "echo", arguments: {} },
      { name: "throw", arguments: {} },
      { name: "echo", arguments: {}, options: { tenant: "other" } },
      "no call",
    ];
    for (const value of [{ calls }, { calls, options: { tenant: "other" } }, { calls: [] }, "{"]) {
      const short = await ask(server, SHORT_WAY, sent("any", value));
      expect(short).toContain('ratelimit: "calls";r=some;t=some, "cpu";r=some;t=some');
      expect(short).toBe(await ask(server, LONG_WAY, sent("any too", value)));
    }
  });

  test("takes the short way with a key that may call, and no other", async () => {
    const value = { calls: [{ name: "echo", arguments: {} }] };
    expect(await countHandled(() => ask(server, SHORT_WAY, sent("any", value)))).toBe(0);
    for (const key of ["metrics", `gb_${"x".repeat(43)}`, ""]) {
      const short = await ask(server, SHORT_WAY, sent(key, value));
      expect(short).toMatch(/^HTTP\/1\.1 40[13] /);
      expect(short).toBe(await ask(server, LONG_WAY, sent(key, value)));
    }
  });

  test("takes each of its calls from the key's rate either way", async () => {
    const value = { calls: Array.from({ length: 5 }, () => ({ name: "echo", arguments: {} })) };
    const short = await ask(server, SHORT_WAY, sent("few", value));
    expect(short.match(/"success":true/g)).toHaveLength(3);
    expect(short.match(/"code":"rate_limited"/g)).toHaveLength(2);
    expect(short).toBe(await ask(server, LONG_WAY, sent("few too", value)));
  });
});
