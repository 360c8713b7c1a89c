import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ANYBODY, type Caller } from "../../../src/server/access/caller.ts";
import { ScopedEngine } from "../../../src/server/access/scoped-engine.ts";
import type { Engine } from "../../../src/glovebox/index.ts";
import { createServer, type Server } from "../../../src/server/http/server.ts";
import { Endpoint } from "../../../src/server/mcp/endpoint.ts";
import { openEngine } from "../../standard/contracts/engine.ts";

const ACCEPT = "application/json, text/event-stream";
const INITIALIZE = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "tester", version: "1.0.0" } },
};
const LIST = { jsonrpc: "2.0", id: 2, method: "tools/list" };
const MODERN = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "tester", version: "1.0.0" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

let engine: Engine;

beforeAll(async () => {
  engine = await openEngine();
});
afterAll(() => engine.close());

describe("hostile requests", () => {
  let server: Server;
  let session: Record<string, string>;

  const send = async (
    body: string | Uint8Array<ArrayBuffer> | null,
    headers: Record<string, string> = {},
    method = "POST",
  ): Promise<{ readonly status: number; readonly text: string }> => {
    const type = { "content-type": "application/json", accept: ACCEPT };
    const signal = AbortSignal.timeout(20_000);
    const answer = await fetch(`${server.url}/mcp`, { method, body, headers: { ...type, ...headers }, signal });
    return { status: answer.status, text: await answer.text() };
  };

  beforeAll(async () => {
    server = await createServer(engine, { port: 0, bodyBytes: 1_000_000 });
    const headers = { "content-type": "application/json", accept: ACCEPT };
    const opened = await fetch(`${server.url}/mcp`, { method: "POST", headers, body: JSON.stringify(INITIALIZE) });
    await opened.text();
    session = { "mcp-session-id": opened.headers.get("mcp-session-id") ?? "" };
  });
  afterAll(() => server.close());

  /** Nothing of ours shows, and the next request is answered. */
  async function expectUnharmed(text: string): Promise<void> {
    expect(text).not.toMatch(/\bat .*:\d+:\d+|node_modules|\/src\/|FST_|fastify|Zod/);
    const { status, text: listed } = await send(JSON.stringify(LIST), session);
    expect([status, listed.includes("get_weather")]).toEqual([200, true]);
  }

  const text = JSON.stringify;
  test.each<[what: string, status: number, body: string | null, headers?: Record<string, string>]>([
    ["nothing", 400, ""],
    ["what is no JSON", 400, "{"],
    ["JSON that is no message", 400, "7"],
    ["null", 400, "null"],
    ["an empty batch", 400, "[]"],
    ["a batch of nonsense", 400, "[1, null, {}]"],
    ["a batch of more than sixteen", 400, text(Array.from({ length: 17 }, () => LIST))],
    ["a message of another protocol", 400, text({ ...LIST, jsonrpc: "1.0" })],
    ["a request whose number is an object", 400, text({ ...LIST, id: { a: 1 } })],
    ["a request whose number is a fraction", 400, text({ ...LIST, id: 1.5 })],
    ["a message with more members than there are", 400, text({ ...LIST, more: 1 })],
    ["a message that is nested too deeply", 400, `{"params":${"[".repeat(100_000)}${"]".repeat(100_000)}}`],
    ["a body that is too large", 413, text({ ...LIST, params: { cursor: "x".repeat(1_000_000) } })],
    ["a body of another type", 415, text(LIST), { "content-type": "text/plain" }],
    ["a form", 415, "a=1", { "content-type": "application/x-www-form-urlencoded" }],
    ["a client that accepts nothing that there is", 406, text(LIST), { accept: "text/html" }],
    ["a revision of the protocol that there is not", 400, text(LIST), { "mcp-protocol-version": "1999-01-01" }],
    ["the name of a session that is long", 404, text(LIST), { "mcp-session-id": "x".repeat(10_000) }],
    ["a session that is opened twice", 400, text(INITIALIZE)],
    ["a session that is opened in a batch", 400, text([INITIALIZE, LIST])],
    ["a later revision without what that asks for", 400, text(LIST), { "mcp-protocol-version": "2026-07-28" }],
  ])("are refused: %s", async (_what, status, body, headers = {}) => {
    const answer = await send(body, { ...session, ...headers });
    expect(answer.status).toBe(status);
    expect(JSON.parse(answer.text)).toMatchObject({ jsonrpc: "2.0", error: { code: expect.any(Number) } });
    await expectUnharmed(answer.text);
  });

  test("have a number of any length, which is the answer's as well", async () => {
    const id = "ü".repeat(100_000);
    const { status, text: answer } = await send(text({ ...LIST, id }), session);
    expect(status).toBe(200);
    expect(answer).toContain(id);
  });

  test("have keys that are data like others", async () => {
    const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_weather","arguments":{"__proto__":{"city":"Oslo"}},"__proto__":{"name":"fail"}}}`;
    const { status, text: answer } = await send(body, session);
    expect(status).toBe(200);
    expect(answer).toContain("/city");
  });

  test("are answered by errors of the protocol, whatever is in them", async () => {
    const method = fc.constantFrom(
      "tools/list",
      "tools/call",
      "initialize",
      "logging/setLevel",
      "ping",
      "subscriptions/listen",
      "notifications/cancelled",
      "server/discover",
      "x",
    );
    const id = fc.oneof(fc.constant(1), fc.jsonValue());
    const params = fc.oneof(
      fc.jsonValue(),
      fc.record({
        name: fc.oneof(fc.constant("get_weather"), fc.jsonValue()),
        arguments: fc.jsonValue(),
        _meta: fc.jsonValue(),
        cursor: fc.jsonValue(),
        level: fc.jsonValue(),
        requestId: fc.jsonValue(),
      }),
      fc.record({
        _meta: fc.record(
          Object.fromEntries(
            Object.entries(MODERN).map(([key, value]) => [key, fc.oneof(fc.constant(value), fc.jsonValue())]),
          ),
        ),
      }),
    );
    const message = fc.record({ jsonrpc: fc.constant("2.0"), id, method, params }, { requiredKeys: ["jsonrpc"] });
    const body = fc.oneof(
      message.map((one) => text(one)),
      fc.array(message, { maxLength: 3 }).map((all) => text(all)),
      fc.jsonValue().map((value) => text(value)),
      fc.string({ unit: "binary" }),
    );
    const headers = fc.record(
      {
        "mcp-session-id": fc.constant(session["mcp-session-id"] ?? ""),
        "mcp-protocol-version": fc.constantFrom("2025-06-18", "2026-07-28", "x"),
        "mcp-method": method,
      },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(body, headers, async (sent, more) => {
        const given = Object.fromEntries(Object.entries(more).filter(([, value]) => value !== undefined));
        const signal = AbortSignal.timeout(10_000);
        const answer = await fetch(`${server.url}/mcp`, {
          method: "POST",
          body: sent,
          headers: { "content-type": "application/json", accept: ACCEPT, ...given },
          signal,
        });
        expect(answer.status).toBeLessThan(500);
        // A stream of news that was opened goes on.
        const reader = answer.body?.getReader();
        const { value } = (await reader?.read()) ?? {};
        await reader?.cancel();
        expect(Buffer.from(value ?? []).toString()).not.toMatch(/node_modules|\/src\/|FST_|\bat .*:\d+:\d+/);
      }),
      { numRuns: 300 },
    );
    await expectUnharmed("");
  });
});

describe("callers with keys", () => {
  const callerWith = (key: string): Caller => ({ ...ANYBODY, key, tenant: key });

  async function openEndpoint(): Promise<AsyncDisposable & { readonly endpoint: Endpoint }> {
    const endpoint = new Endpoint(engine, (caller) => new ScopedEngine(engine).runnerFor(caller), {
      perKey: 4,
      total: 8,
      idleMs: 60_000,
    });
    return { endpoint, [Symbol.asyncDispose]: () => endpoint.close() };
  }

  const post = (until: AbortSignal, more: Record<string, string> = {}): Request =>
    new Request("http://localhost/mcp", {
      method: "POST",
      headers: { "content-type": "application/json", accept: ACCEPT, ...more },
      signal: until,
    });

  test("find no session that another key has opened", async () => {
    await using bench = await openEndpoint();
    const { endpoint } = bench;
    const { signal } = new AbortController();
    const [owner, other] = [callerWith("owner"), callerWith("other")];
    const opened = await endpoint.answer(post(signal), INITIALIZE, owner);
    const session = { "mcp-session-id": opened.headers.get("mcp-session-id") ?? "" };
    const statusOf = async (method: string, caller: Caller): Promise<number> => {
      const headers = { "content-type": "application/json", accept: ACCEPT, ...session };
      const asked = new Request("http://localhost/mcp", { method, headers, signal });
      return (await endpoint.answer(asked, method === "POST" ? LIST : undefined, caller)).status;
    };
    for (const method of ["POST", "GET", "DELETE"]) expect(await statusOf(method, other)).toBe(404);
    for (const method of ["POST", "GET", "DELETE"]) expect(await statusOf(method, owner)).toBe(200);
    expect(await statusOf("POST", owner)).toBe(404);
  });

  test("open as many sessions as they like, of which the last few live on", async () => {
    await using bench = await openEndpoint();
    const { endpoint } = bench;
    /** What a request is answered, read to its end. */
    const ask = async (name: string | undefined, message: object): Promise<Response> => {
      const until = new AbortController();
      const session = name === undefined ? {} : { "mcp-session-id": name };
      const answer = await endpoint.answer(post(until.signal, session), message, callerWith("a"));
      await answer.text();
      until.abort();
      return answer;
    };
    const names: string[] = [];
    for (let count = 0; count < 100; count++) {
      const opened = await ask(undefined, INITIALIZE);
      names.push(opened.headers.get("mcp-session-id") ?? "");
      // The first is used all the time.
      expect((await ask(names[0], LIST)).status).toBe(200);
    }
    const living = [];
    for (const name of names) if ((await ask(name, LIST)).status === 200) living.push(name);
    expect(living).toEqual([names[0], ...names.slice(-3)]);
  });

  test("are refused a session where all that they may have answer something", async () => {
    await using bench = await openEndpoint();
    const { endpoint } = bench;
    const busy = new AbortController();
    const open = (): Promise<Response> => endpoint.answer(post(busy.signal), INITIALIZE, callerWith("a"));
    const call = { jsonrpc: "2.0", id: 3, method: "tools/call", params: { name: "wait", arguments: {} } };
    for (let count = 0; count < 4; count++) {
      const name = (await open()).headers.get("mcp-session-id") ?? "";
      const asked = await endpoint.answer(post(busy.signal, { "mcp-session-id": name }), call, callerWith("a"));
      expect(asked.status).toBe(200);
    }
    expect((await open()).status).toBe(429);
    busy.abort();
    expect((await open()).status).toBe(200);
  });

  test("have a few streams of news each, until they let go of one", async () => {
    await using bench = await openEndpoint();
    const { endpoint } = bench;
    const listen = {
      jsonrpc: "2.0",
      id: 1,
      method: "subscriptions/listen",
      params: { _meta: MODERN, notifications: { toolsListChanged: true } },
    };
    const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": "subscriptions/listen" };
    const statusOf = async (caller: Caller, until: AbortSignal): Promise<number> =>
      (await endpoint.answer(post(until, headers), listen, caller)).status;
    const [all, one] = [new AbortController(), new AbortController()];
    expect(await statusOf(callerWith("a"), one.signal)).toBe(200);
    for (let count = 1; count < 4; count++) expect(await statusOf(callerWith("a"), all.signal)).toBe(200);
    expect(await statusOf(callerWith("a"), all.signal)).toBe(429);
    expect(await statusOf(callerWith("b"), all.signal)).toBe(200);
    one.abort();
    expect(await statusOf(callerWith("a"), all.signal)).toBe(200);
    all.abort();
  });
});
