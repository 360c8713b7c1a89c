import type { ServerResponse } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import type { HttpServer } from "../../../../src/connectors/tool/mcp/server.ts";
import { failureOf, opened, resultOf, textOf } from "./opened.ts";
import { byHand } from "./programs/by-hand.ts";
import { serve, v1Sessions, v2Requests } from "./programs/http.ts";

const VALUE = "s3cr3t-value-of-the-connector";
const LATER = { backoffMinMs: 60_000 };
const EVENTS = { "content-type": "text/event-stream" };

const eventOf = (message: object): string => `data: ${JSON.stringify(message)}\n\n`;

const over = (url: string, more: Partial<HttpServer> = {}): HttpServer => ({
  kind: "http",
  url,
  headers: [],
  isPrivate: true,
  ...more,
});

const secretsOf = (url: string) => ({ T: { value: VALUE, bind: [{ origin: new URL(url).origin }] } });

test.for([
  ["sessions of the SDK v1", v1Sessions(), "2025-11-25"],
  ["the SDK v2", v2Requests(), "2026-07-28"],
  ["the SDK v2 without older revisions", v2Requests("reject"), "2026-07-28"],
] as const)("a server with %s is called by Streamable HTTP", async ([, handle, protocol]) => {
  const { url } = await serve(handle);
  const { session, tools, call } = opened(over(url));
  expect((await tools()).map(({ name }) => name)).toEqual(expect.arrayContaining(["echo", "add", "wait"]));
  expect(session.state).toMatchObject({ kind: "up", peer: { protocol } });
  expect(textOf(await call("echo", { text: "hé" }))).toBe("hé");
  expect(resultOf(await call("add", { a: 1, b: 2 }))).toMatchObject({ structuredContent: { sum: 3 } });
  expect(failureOf(await call("wait", { ms: 60_000 }, { timeoutMs: 300 })).message).toMatch(
    /^it did not answer within/,
  );
  expect(session.state.kind).toBe("up");
});

test("a session's list that changes is told", async () => {
  const { url } = await serve(v1Sessions());
  const { tools, call, changes } = opened(over(url));
  const before = (await tools()).length;
  await call("grow");
  await expect.poll(changes, { timeout: 60_000 }).toBeGreaterThan(0);
  expect((await tools()).length).toBe(before + 1);
});

test("a session that the server has forgotten is made again", async () => {
  let handle = v1Sessions();
  const { url } = await serve((request, response) => handle(request, response));
  const { call, states } = opened(over(url), { limits: { backoffMinMs: 50 } });
  expect(textOf(await call("echo", { text: "1" }))).toBe("1");
  handle = v1Sessions();
  expect(failureOf(await call("echo", { text: "2" }))).toMatchObject({ isTransient: true, isSent: false });
  // It is down for a moment only, which a look could miss.
  const kinds = ["connecting", "up", "down", "connecting", "up"];
  await expect.poll(() => states.map(({ kind }) => kind)).toEqual(kinds);
  expect(textOf(await call("echo", { text: "3" }))).toBe("3");
});

test("a server that is down is tried again until it is there", async () => {
  const first = await serve(v2Requests());
  const { port } = new URL(first.url);
  const { session, call } = opened(over(first.url), { limits: { backoffMinMs: 50, backoffMaxMs: 200 } });
  await session.list();
  await first.close();
  expect(failureOf(await call("echo", { text: "x" }))).toMatchObject({ isTransient: true });
  await expect.poll(() => session.state.kind, { timeout: 60_000 }).toBe("down");
  expect(session.state).toMatchObject({
    failure: { message: expect.stringContaining("the connection was refused") as string },
  });
  await serve(v2Requests(), Number(port));
  await expect.poll(() => session.state.kind, { timeout: 60_000 }).toBe("up");
  expect(textOf(await call("echo", { text: "again" }))).toBe("again");
});

test("a secret goes into the header that names it, and only to the origin it is bound to", async () => {
  const { url, requests } = await serve(v2Requests());
  const headers = [
    ["authorization", "Bearer glovebox.secret.T."],
    ["x-plain", "yes"],
  ] as const;
  const { call } = opened(over(url, { headers }), { secrets: secretsOf(url) });
  expect(textOf(await call("echo", { text: "glovebox.secret.T." }))).toBe("glovebox.secret.T.");
  expect(requests.length).toBeGreaterThan(1);
  for (const request of requests)
    expect(request.headers).toMatchObject({ authorization: `Bearer ${VALUE}`, "x-plain": "yes" });

  const unbound = opened(over(url, { headers }), { secrets: secretsOf("https://other.example"), limits: LATER });
  const before = requests.length;
  expect(await unbound.session.list()).toMatchObject({
    failure: { message: expect.stringContaining("does not belong to http://127.0.0.1") as string, isSent: false },
  });
  expect(requests.length).toBe(before);
});

test("a secret that the server echoes comes back as its placeholder, in results, lists and errors", async () => {
  const { url } = await serve(
    byHand((method, _params, headers) => {
      const token = String(headers["authorization"]);
      if (method === "tools/list")
        return {
          tools: [
            { name: "t", description: token, inputSchema: { type: "object", title: token } },
            { name: token.repeat(20), inputSchema: {} },
          ],
        };
      return { content: [{ type: "text", text: token }] };
    }),
  );
  const { session, call } = opened(over(url, { headers: [["authorization", "Bearer glovebox.secret.T."]] }), {
    secrets: secretsOf(url),
  });
  const listed = await session.list();
  const answer = await call("t");
  expect(textOf(answer)).toBe("Bearer glovebox.secret.T.");
  expect(JSON.stringify([listed, answer])).not.toContain(VALUE);
  expect(JSON.stringify(listed)).toContain("glovebox.secret.T.");
});

test("a redirect to another origin is not followed, and the secret stays", async () => {
  const other = await serve(v2Requests());
  const { url } = await serve((_request, response) => void response.writeHead(307, { location: other.url }).end());
  const { session } = opened(over(url, { headers: [["authorization", "Bearer glovebox.secret.T."]] }), {
    secrets: secretsOf(url),
    limits: LATER,
  });
  expect(await session.list()).toMatchObject({ kind: "failed" });
  expect(session.state.kind).toBe("down");
  expect(other.requests).toEqual([]);
});

test("a redirect within the origin is followed", async () => {
  const handle = v2Requests();
  const { url } = await serve((request, response) =>
    request.url === "/mcp" ? void response.writeHead(308, { location: "/elsewhere" }).end() : handle(request, response),
  );
  expect(textOf(await opened(over(url)).call("echo", { text: "x" }))).toBe("x");
});

test("an address that is not public is refused, unless the connector may have one", async () => {
  const { url, requests } = await serve(v2Requests());
  const { session } = opened(over(url, { isPrivate: false }), { limits: LATER });
  expect(await session.list()).toMatchObject({
    failure: {
      message: expect.stringContaining("resolves to an address that is not public") as string,
      isTransient: false,
      isSent: false,
    },
  });
  expect(requests).toEqual([]);
});

test("names are resolved by the embedder where it does that", async () => {
  const { url } = await serve(v2Requests());
  const asked: string[] = [];
  const lookup = (name: string): Promise<readonly string[]> => {
    asked.push(name);
    return Promise.resolve(["127.0.0.1"]);
  };
  const named = url.replace("127.0.0.1", "tools.example");
  expect(textOf(await opened(over(named), { fetch: { lookup } }).call("echo", { text: "x" }))).toBe("x");
  expect(asked).toContain("tools.example");
});

test.for([
  [401, {}, { message: "it refuses the connector's credentials (HTTP 401)", isTransient: false }],
  [403, {}, { message: "it refuses the connector's credentials (HTTP 403)", isTransient: false }],
  [500, {}, { message: expect.stringContaining("HTTP 500") as string, isTransient: true }],
  [
    429,
    { "retry-after": "7" },
    { message: "it answered with HTTP 429", isTransient: true, isSent: false, retryAfterMs: 7_000 },
  ],
  [503, {}, { message: "it answered with HTTP 503", isTransient: true, isSent: false, retryAfterMs: null }],
] as const)("HTTP %i says what it means, at the start and for a call", async ([status, headers, failure]) => {
  const refuse: Parameters<typeof serve>[0] = (_request, response) =>
    void response.writeHead(status, headers).end("secret words");
  const atStart = opened(over((await serve(refuse)).url), { limits: LATER });
  expect(await atStart.session.list()).toMatchObject({ failure: { ...failure, isSent: false } });

  let handle = v2Requests();
  const { url } = await serve((request, response) => handle(request, response));
  const { session, call } = opened(over(url), { limits: LATER });
  await session.list();
  handle = async (request, response) => refuse(request, response);
  expect(await call("echo", { text: "x" })).toMatchObject({ failure });
});

test("a body that is larger than a message may be fails its call only", async () => {
  const large = "x".repeat(3 * 1024 * 1024);
  const { url } = await serve(
    byHand((method) => (method === "tools/list" ? { tools: [] } : { content: [{ type: "text", text: large }] })),
  );
  const { session, call } = opened(over(url), { limits: { ...LATER, messageBytes: 1024 * 1024 } });
  expect(failureOf(await call("t")).message).toMatch(/message of more than 1048576 bytes/);
  expect(session.state.kind).toBe("up");
});

test.for<readonly [string, string, RegExp]>([
  ["an event without end", "x".repeat(100_000), /^it sent a message of more than 1048576 bytes$|^it did not answer/],
  ["events without end", ": x\n\n".repeat(10_000), /^it sent more than 200 messages within|^it did not answer/],
])("%s fails its call only", async ([, piece, failure]) => {
  const handle = byHand(() => ({ tools: [] }), {
    streamed: async (response) => {
      response.writeHead(200, EVENTS).write("data: ");
      for (;;) {
        const error = await new Promise((resolve) => response.write(piece, resolve));
        if (error instanceof Error || response.destroyed) return;
      }
    },
  });
  const { url } = await serve(handle);
  const { session, call } = opened(over(url), { limits: { ...LATER, messageBytes: 1024 * 1024, inflowMessages: 200 } });
  await session.list();
  expect(failureOf(await call("t", {}, { timeoutMs: 10_000 })).message).toMatch(failure);
  expect(session.state.kind).toBe("up");
});

test("an answer that comes byte by byte takes no more memory than another", async () => {
  const long = "x".repeat(2 * 1024 * 1024);
  const { url } = await serve(
    byHand(() => ({ tools: [] }), {
      streamed: (response, id) => {
        const answer = JSON.stringify({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text: long }] } });
        const head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
        response.socket?.write(`${head}${answer.replaceAll(/./g, "1\r\n$&\r\n")}0\r\n\r\n`);
      },
    }),
  );
  const { session, call } = opened(over(url), { limits: { ...LATER, heapMb: 96 } });
  expect(textOf(await call("t", {}, { timeoutMs: 120_000 }))).toBe(long);
  expect(session.state.kind).toBe("up");
});

test.for(["\n\n", "\r\r", "\r\n\r\n", "\n\r\n"])(
  "events that end with %j are counted each, also in one piece",
  async (end) => {
    const { url } = await serve(
      byHand(() => ({ tools: [] }), {
        streamed: (response, id) => {
          const answer = eventOf({ jsonrpc: "2.0", id, result: { content: [] } });
          response.writeHead(200, EVENTS).end(`: x${end}`.repeat(1_000) + answer);
        },
      }),
    );
    const { call } = opened(over(url), { limits: { ...LATER, inflowMessages: 200 } });
    expect(failureOf(await call("t", {}, { timeoutMs: 3_000 })).message).toMatch(
      /^it sent more than 200 messages within|^it did not answer/,
    );
  },
);

test("a server that asks back without end is answered by a bounded number of requests", async () => {
  const waiting = new Set<ServerResponse>();
  let most = 0;
  const { url } = await serve(
    byHand(() => ({ tools: [] }), {
      streamed: (response, id) => {
        const asked = Array.from({ length: 2_000 }, (_, at) =>
          eventOf({ jsonrpc: "2.0", id: `a${at}`, method: "ping" }),
        );
        const answer = eventOf({ jsonrpc: "2.0", id, result: { content: [] } });
        response.writeHead(200, EVENTS).end(asked.join("") + answer);
      },
      answered: (response) => {
        waiting.add(response);
        most = Math.max(most, waiting.size);
        response.once("close", () => waiting.delete(response));
      },
    }),
  );
  const { session, call } = opened(over(url), { limits: { ...LATER, requests: 20 } });
  expect(resultOf(await call("t"))).toEqual({ content: [] });
  expect(session.state.kind).toBe("up");
  await expect.poll(() => most).toBeGreaterThan(5);
  // Nobody answers them: they end with the call that has caused them.
  await expect.poll(() => waiting.size, { timeout: 60_000 }).toBe(0);
  expect(most).toBeLessThanOrEqual(20);
});

test("a stream that the server leaves open behind an answer ends with the call", async () => {
  const streams = new Set<ServerResponse>();
  const { url } = await serve(
    byHand(() => ({ tools: [] }), {
      streamed: (response, id) => {
        streams.add(response);
        response.once("close", () => streams.delete(response));
        response.writeHead(200, EVENTS).write(eventOf({ jsonrpc: "2.0", id, result: { content: [] } }));
      },
    }),
  );
  const { session, call } = opened(over(url), { limits: LATER });
  for (let times = 0; times < 3; times++) expect(resultOf(await call("t"))).toEqual({ content: [] });
  await expect.poll(() => streams.size, { timeout: 60_000 }).toBe(0);
  expect(session.state.kind).toBe("up");
});

test("a stream that ends at once, again and again, is resumed no faster than after a while", async () => {
  const hand = byHand(() => ({ tools: [] }));
  const { url, requests } = await serve((request, response) => {
    if (request.method !== "GET") return hand(request, response);
    response.writeHead(200, EVENTS).end("retry: 0\nid: 1\ndata:\n\n");
  });
  const { session } = opened(over(url), { limits: { ...LATER, resumeMinMs: 60_000 } });
  const streams = (): number => requests.filter(({ method }) => method === "GET").length;
  await session.list();
  await expect.poll(streams).toBe(1);
  for (let times = 0; times < 50; times++) await session.list();
  expect(streams()).toBe(1);
});

test("a list that is fresh for a time is asked for again after it", async () => {
  const { url } = await serve(byHand(() => ({ tools: [], ttlMs: 50 })));
  const { session, changes } = opened(over(url), { limits: { ttlMinMs: 300 } });
  await session.list();
  expect(changes()).toBe(0);
  await expect.poll(changes, { timeout: 60_000 }).toBe(1);
});

test("a body that is encoded, though nobody asked for that, is refused", async () => {
  const { url } = await serve(
    (_request, response) =>
      void response.writeHead(200, { "content-encoding": "gzip", "content-type": "application/json" }).end("x"),
  );
  expect(await opened(over(url), { limits: LATER }).session.list()).toMatchObject({ kind: "failed" });
});

test("a page of HTML is no MCP server", async () => {
  const { url } = await serve(
    (_request, response) => void response.writeHead(200, { "content-type": "text/html" }).end("<html>"),
  );
  const { session } = opened(over(url), { limits: LATER });
  const listed = await session.list();
  expect(listed).toMatchObject({ kind: "failed" });
  expect(JSON.stringify(listed)).not.toContain("<html>");
  onTestFinished(() => session.close());
});
