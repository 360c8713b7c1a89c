import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";
import { createKey } from "../../../src/server/access/secret.ts";
import type { KeyOptions } from "../../../src/server/access/key-options.ts";
import { createServer, type Server, type ServerOptions } from "../../../src/server/http/server.ts";
import { ask, CALL_ID, CALL_NAME, countHandled, LIMITS, post, requestWith, type Sent, TOOLS } from "./both-ways.ts";

const HOUR_MS = 3_600_000;
/** The framework's route has this address too; the short way does not. */
const LONG_WAY = "/v1/execute?";
const SHORT_WAY = "/v1/execute";

const call = fc.oneof(
  fc.record(
    {
      id: CALL_ID,
      name: CALL_NAME,
      arguments: fc.oneof(fc.object(), fc.jsonValue()),
      options: fc.oneof(
        fc.jsonValue(),
        fc.record(
          { tenant: fc.string(), priority: fc.double(), limits: fc.dictionary(fc.string(), fc.jsonValue()) },
          { requiredKeys: [] },
        ),
      ),
    },
    { requiredKeys: ["name"] },
  ),
  fc.jsonValue(),
);
const body = fc.oneof(
  { weight: 4, arbitrary: call.map((value) => JSON.stringify(value)) },
  fc.uint8Array({ maxLength: 100 }).map((bytes) => Uint8Array.from(bytes)),
  fc.constantFrom(
    "",
    '\uFEFF{"name":"echo","arguments":{}}',
    '{"name":"echo","arguments":{"__proto__":1,"constructor":{"prototype":2}}}',
    '{"name":"echo","arguments":{"a":"\ud800€"}}',
    '{"name":"echo"} ',
    '{"name":"echo","arguments":{}',
    "[".repeat(20_000),
    `{"name":"echo","arguments":{"long":"${"x".repeat(65_000)}"}}`,
    `{"name":"echo","arguments":{"long":"${"x".repeat(70_000)}"}}`,
  ),
);
const request = requestWith(body);

describe("a request to /v1/execute", () => {
  let engine: Engine;
  let server: Server;

  beforeAll(async () => {
    engine = await createEngine({ workers: 1, executor: "threads", tools: TOOLS, maxLimits: LIMITS });
    const connections = { requestMs: 6_000, headersMs: 6_000 };
    server = await createServer(engine, { port: 0, origins: ["https://friend.example"], connections });
  });

  afterAll(() => server.close());

  test("takes the short way where it is an ordinary one, and the framework's where it is not", async () => {
    const ordinary = [
      post({ name: "echo", arguments: {} }),
      post({ name: "nobody" }, "accept: */*"),
      post({ name: "throw" }, "connection: close"),
      post({ name: "echo", arguments: {} }, "idempotency-key: ordinary"),
    ];
    const others = [
      post({ name: "echo" }, "origin: https://friend.example"),
      post({ name: "echo" }, "accept: text/event-stream, application/json;q=0.1", "connection: close"),
      post({ name: "echo", arguments: { long: "x".repeat(65_536) } }),
    ];
    const send = (all: readonly Sent[], url = SHORT_WAY) => Promise.all(all.map((sent) => ask(server, url, sent)));
    expect(await countHandled(() => send(ordinary))).toBe(0);
    expect(await countHandled(() => send(ordinary, LONG_WAY))).toBe(ordinary.length);
    expect(await countHandled(() => send(others))).toBe(others.length);
  });

  test("is answered with the same bytes either way, whatever it is", async () => {
    await fc.assert(
      fc.asyncProperty(request, async (sent) => {
        const [short, long] = await Promise.all([ask(server, SHORT_WAY, sent), ask(server, LONG_WAY, sent)]);
        expect(short).toBe(long);
      }),
      { numRuns: 400 },
    );
  });

  test("with a compressed body is refused with 415 either way, and says what to send", async () => {
    const sent = post({ name: "echo", arguments: {} }, "content-encoding: gzip");
    const [short, long] = await Promise.all([ask(server, SHORT_WAY, sent), ask(server, LONG_WAY, sent)]);
    expect(short).toMatch(/^HTTP\/1\.1 415 /);
    expect(short).toContain("content-encoding is not supported; send the body as it is");
    expect(short).toBe(long);
    const plain = await ask(server, SHORT_WAY, post({ name: "echo", arguments: {} }, "content-encoding: identity"));
    expect(plain).toMatch(/^HTTP\/1\.1 200 /);
  });

  test.each([0, 10_000, 30_000, 400_000, 1_100_000])("has an output of %i characters either way", async (length) => {
    const sent = post({ name: "fill", arguments: { length } });
    const [short, long] = await Promise.all([ask(server, SHORT_WAY, sent), ask(server, LONG_WAY, sent)]);
    expect(short.match(/€/g)?.length ?? 0).toBe(length);
    expect(short).toBe(long);
  });

  test("says either way that its result is an earlier one's", async () => {
    const answers = ["short", "long"].map(async (way) => {
      const url = way === "short" ? SHORT_WAY : LONG_WAY;
      const sent = post({ name: "echo", arguments: {} }, `idempotency-key: repeated-${way}`);
      return [await ask(server, url, sent), await ask(server, url, sent)];
    });
    const [short, long] = await Promise.all(answers);
    expect(short?.[1]).toContain("idempotency-replayed: true");
    expect(short).toEqual(long);
  });

  test("is counted either way", async () => {
    const count = async (): Promise<number> => {
      const metric = engine.registry.getSingleMetric("glovebox_http_requests_total");
      const { values } = (await metric?.get()) ?? { values: [] };
      const own = values.filter(({ labels }) => labels["route"] === "/v1/execute" && labels["status"] === 404);
      return own.reduce((sum, { value }) => sum + value, 0);
    };
    const before = await count();
    const sent = post({ name: "nobody" });
    await ask(server, SHORT_WAY, sent);
    await ask(server, LONG_WAY, sent);
    expect((await count()) - before).toBe(2);
  });
});

describe("a request to /v1/execute with a key", () => {
  const keyed = new Map(["any", "any too", "few", "few too", "metrics"].map((name) => [name, createKey()]));
  const sent = (key: string, call: unknown): Sent =>
    post(call, `authorization: Bearer ${keyed.get(key)?.secret ?? key}`);
  const grants: Readonly<Record<string, Partial<KeyOptions>>> = {
    few: { rate: { calls: 2, perMs: HOUR_MS } },
    "few too": { rate: { calls: 2, perMs: HOUR_MS } },
    any: { quota: { calls: 1_000, cpuSeconds: 100, windowMs: HOUR_MS }, tools: ["echo"] },
    "any too": { quota: { calls: 1_000, cpuSeconds: 100, windowMs: HOUR_MS }, tools: ["echo"] },
    metrics: { roles: ["metrics"] },
  };
  const keys: ServerOptions["keys"] = [...keyed].map(([name, { hash }]) => ({
    name: name.replace(" ", "-"),
    hash,
    tenant: "acme",
    roles: ["execute"],
    ...grants[name],
  }));
  let server: Server;

  beforeAll(async () => {
    const engine = await createEngine({ workers: 1, executor: "threads", tools: TOOLS, maxLimits: LIMITS });
    server = await createServer(engine, { port: 0, keys });
  });

  afterAll(() => server.close());

  test.each([
    ["a call", { name: "echo", arguments: {} }],
    ["a tool that the key does not have", { name: "throw", arguments: {} }],
    ["another tenant", { name: "echo", arguments: {}, options: { tenant: "other" } }],
    ["no JSON", "{"],
  ])("is answered with the same bytes either way: %s", async (_name, call) => {
    const short = await ask(server, SHORT_WAY, sent("any", call));
    expect(short).toContain('ratelimit: "calls";r=some;t=some, "cpu";r=some;t=some');
    expect(short).toBe(await ask(server, LONG_WAY, sent("any too", call)));
  });

  test("takes the short way with a key that may call, and no other", async () => {
    const call = { name: "echo", arguments: {} };
    expect(await countHandled(() => ask(server, SHORT_WAY, sent("any", call)))).toBe(0);
    for (const key of ["metrics", `gb_${"x".repeat(43)}`, ""]) {
      const short = await ask(server, SHORT_WAY, sent(key, call));
      expect(short).toMatch(/^HTTP\/1\.1 40[13] /);
      expect(short).toBe(await ask(server, LONG_WAY, sent(key, call)));
    }
  });

  test("keeps to the key's rate either way", async () => {
    const threeBy = async (url: string, key: string): Promise<readonly string[]> => {
      const call = { name: "echo", arguments: {} };
      const answers: string[] = [];
      for (let at = 0; at < 3; at++) answers.push(await ask(server, url, sent(key, call)));
      return answers.map((answer) => answer.replace(/^retry-after: \d+$/m, "retry-after: some"));
    };
    const short = await threeBy(SHORT_WAY, "few");
    expect(short.map((answer) => answer.slice(0, 12))).toEqual(["HTTP/1.1 200", "HTTP/1.1 200", "HTTP/1.1 429"]);
    expect(short).toEqual(await threeBy(LONG_WAY, "few too"));
  });
});
