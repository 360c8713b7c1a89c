import { createServer as createProxy, connect as connectTo, type Socket } from "node:net";
import { once } from "node:events";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CallEvent, defineCapability, type Engine } from "../../../src/glovebox/index.ts";
import { ANYBODY } from "../../../src/server/access/caller.ts";
import { ScopedEngine } from "../../../src/server/access/scoped-engine.ts";
import { createServer, type Server } from "../../../src/server/http/server.ts";
import { Endpoint } from "../../../src/server/mcp/endpoint.ts";
import { KEPT_LIMITS } from "../../../src/server/mcp/kept-streams.ts";
import { openEngine } from "../../standard/contracts/engine.ts";

const SLOW = `export default async ({ form, ms = 400 }, { progress }) => {
  progress(1, 2);
  await new Promise((done) => setTimeout(done, ms));
  return form === "long" ? { text: "é\\n".repeat(150_000) } : "done";
}`;
/** It ends when the test lets it. */
const GATED = "export default async (_, { host }) => { await host.gate.pass(); return 'done'; };";
const opened = Promise.withResolvers<void>();
const LONG_TEXT = "é\n".repeat(150_000);
const ACCEPT = "application/json, text/event-stream";
const INITIALIZE = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "tester", version: "1.0.0" } },
};

let engine: Engine;
let server: Server;

beforeAll(async () => {
  const gate = defineCapability({ name: "gate", methods: { pass: { handler: () => opened.promise } } });
  engine = await openEngine({ capabilities: [gate], policy: { rules: [{ allow: { gate: true } }] } });
  await engine.register({ name: "gated", description: "Waits", source: GATED, capabilities: { gate: true } });
  await engine.register({ name: "slow", description: "Takes a while", source: SLOW });
  server = await createServer(engine, { port: 0 });
});
afterAll(() => server.close());

function callOf(name: string, args: object = {}, id = 2): object {
  return { jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: args, _meta: { progressToken: 1 } } };
}

/** The next call that ends. */
function ended(): Promise<CallEvent> {
  const { promise, resolve } = Promise.withResolvers<CallEvent>();
  engine.on("tool:post", resolve).on("tool:error", resolve);
  return promise.finally(() => engine.off("tool:post", resolve).off("tool:error", resolve));
}

interface StreamEvent {
  readonly id: string | undefined;
  readonly retry: string | undefined;
  readonly data: string;
}

/** The events of a stream, as they come. */
async function* eventsOf(response: Response): AsyncGenerator<StreamEvent> {
  let text = "";
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString("latin1");
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const lines = text.slice(0, end);
      text = text.slice(end + 2);
      const field = (name: string): string | undefined => new RegExp(`^${name}: ?(.*)$`, "m").exec(lines)?.[1];
      const data = field("data");
      if (data === undefined) continue;
      yield { id: field("id"), retry: field("retry"), data: Buffer.from(data, "latin1").toString() };
    }
  }
}

function send(url: string, body: object | null, more: Record<string, string> = {}): Promise<Response> {
  const headers = { "content-type": "application/json", accept: ACCEPT, ...more };
  return fetch(url, body === null ? { headers } : { method: "POST", headers, body: JSON.stringify(body) });
}

async function openSession(url: string, more: Record<string, string> = {}): Promise<Record<string, string>> {
  const opened = await send(url, INITIALIZE, more);
  await opened.text();
  return { "mcp-session-id": opened.headers.get("mcp-session-id") ?? "", ...more };
}

/** A proxy that drops its connections when told to. */
async function openProxy(to: number): Promise<AsyncDisposable & { readonly url: string; readonly drop: () => void }> {
  const sockets = new Set<Socket>();
  const proxy = createProxy((socket) => {
    const other = connectTo(to, "127.0.0.1");
    for (const one of [socket, other]) {
      sockets.add(one);
      one.on("error", () => undefined).on("close", () => sockets.delete(one));
    }
    socket.pipe(other).pipe(socket);
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const drop = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  const address = proxy.address();
  const port = typeof address === "object" ? address?.port : 0;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    drop,
    [Symbol.asyncDispose]: async () => {
      drop();
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
}

describe("a client that loses its connection", () => {
  test.each(["short", "long"])("gets its call's result when it comes back: a %s one", async (form) => {
    await using proxy = await openProxy(server.port);
    const client = new Client({ name: "tester", version: "1.0.0" }, { versionNegotiation: { mode: "legacy" } });
    await client.connect(new StreamableHTTPClientTransport(new URL(proxy.url)));
    const starts: unknown[] = [];
    const count = (event: unknown): void => void starts.push(event);
    engine.on("tool:pre", count);
    const call = client.callTool({ name: "slow", arguments: { form } }, { onprogress: proxy.drop });
    const result = await call;
    engine.off("tool:pre", count);
    if (form === "long") expect(result.structuredContent).toEqual({ text: LONG_TEXT });
    else expect(result.content).toEqual([{ type: "text", text: "done" }]);
    expect(starts).toHaveLength(1);
    await client.close();
  });

  test("finds the events after the one that it has, and the stream's end", async () => {
    await using proxy = await openProxy(server.port);
    const session = await openSession(proxy.url);
    const done = ended();
    const events = eventsOf(await send(proxy.url, callOf("slow"), session));
    const first = (await events.next()).value as StreamEvent;
    expect(first).toMatchObject({ id: expect.stringMatching(/^[0-9a-f-]{36}_1$/), retry: "1000", data: "" });
    await events.next();
    proxy.drop();
    await events.next().catch(() => undefined);
    expect((await done).result.success).toBe(true);
    const again = await send(proxy.url, null, { ...session, "last-event-id": first.id ?? "" });
    const [progress, result, ...others] = await Array.fromAsync(eventsOf(again));
    expect(JSON.parse(progress?.data ?? "")).toMatchObject({ method: "notifications/progress" });
    expect(JSON.parse(result?.data ?? "")).toMatchObject({ id: 2, result: { content: [{ text: "done" }] } });
    expect(others).toEqual([]);
    const last = await send(proxy.url, null, { ...session, "last-event-id": progress?.id ?? "" });
    expect((await Array.fromAsync(eventsOf(last))).map(({ data }) => data)).toEqual([result?.data]);
  });

  test("takes its stream over from a connection whose end the server has not noticed", async () => {
    const session = await openSession(`${server.url}/mcp`);
    const lost = eventsOf(await send(`${server.url}/mcp`, callOf("gated"), session));
    const first = (await lost.next()).value as StreamEvent;
    const again = await send(`${server.url}/mcp`, null, { ...session, "last-event-id": first.id ?? "" });
    opened.resolve();
    const results = await Array.fromAsync(eventsOf(again));
    expect(JSON.parse(results.at(-1)?.data ?? "")).toMatchObject({ id: 2, result: {} });
    const rest = await Array.fromAsync(lost);
    expect(rest.filter(({ data }) => data.includes('"result"'))).toEqual([]);
  });

  test("gets no stream of another session, nor one that was never there, nor that of a call that it cancelled", async () => {
    const url = `${server.url}/mcp`;
    const [own, other] = [await openSession(url), await openSession(url)];
    const events = eventsOf(await send(url, callOf("wait", {}, 7), own));
    const { id = "" } = (await events.next()).value as StreamEvent;
    const statusOf = async (session: Record<string, string>, event: string): Promise<number> => {
      const answer = await send(url, null, { ...session, "last-event-id": event });
      await answer.body?.cancel();
      return answer.status;
    };
    expect(await statusOf(other, id)).toBe(405);
    for (const unknown of ["x", "_1", `${crypto.randomUUID()}_1`]) expect(await statusOf(own, unknown)).toBe(405);
    const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 7 } };
    expect((await send(url, cancelled, own)).status).toBe(202);
    expect(await Array.fromAsync(events)).toEqual([]);
    expect(await statusOf(own, id)).toBe(405);
  });
});

test("a server that stops sends the result to a client that has come back", async () => {
  const own = await openEngine();
  await own.register({ name: "slow", description: "Takes a while", source: SLOW });
  await using stopping = await createServer(own, { port: 0 });
  const url = `${stopping.url}/mcp`;
  const session = await openSession(url);
  const gone = new AbortController();
  const headers = { "content-type": "application/json", accept: ACCEPT, ...session };
  const body = JSON.stringify(callOf("slow", { ms: 700 }));
  const events = eventsOf(await fetch(url, { method: "POST", headers, body, signal: gone.signal }));
  const { id = "" } = (await events.next()).value as StreamEvent;
  gone.abort();
  const again = await send(url, null, { ...session, "last-event-id": id });
  const closed = stopping.close();
  const results = await Array.fromAsync(eventsOf(again));
  expect(JSON.parse(results.at(-1)?.data ?? "")).toMatchObject({ id: 2, result: { content: [{ text: "done" }] } });
  await closed;
});

describe("the endpoint", () => {
  async function openCall(awayMs: number) {
    const endpoint = new Endpoint(engine, (caller) => new ScopedEngine(engine).runnerFor(caller), undefined, {
      ...KEPT_LIMITS,
      awayMs,
    });
    const ask = (
      body: object | undefined,
      until: AbortSignal,
      more: Record<string, string> = {},
    ): Promise<Response> => {
      const headers = { "content-type": "application/json", accept: ACCEPT, ...more };
      const method = body === undefined ? "GET" : "POST";
      return endpoint.answer(new Request("http://localhost/mcp", { method, headers, signal: until }), body, ANYBODY);
    };
    const opened = await ask(INITIALIZE, new AbortController().signal);
    const session = { "mcp-session-id": opened.headers.get("mcp-session-id") ?? "" };
    const connection = new AbortController();
    const events = eventsOf(await ask(callOf("wait"), connection.signal, session));
    const { id = "" } = (await events.next()).value as StreamEvent;
    const resume = (until: AbortSignal) => ask(undefined, until, { ...session, "last-event-id": id });
    return { connection, resume, [Symbol.asyncDispose]: () => endpoint.close() };
  }

  test("cancels the call of a client that does not come back in time", async () => {
    await using open = await openCall(20);
    const failed = ended();
    open.connection.abort();
    expect((await failed).result.error?.code).toBe("cancelled");
    expect((await open.resume(new AbortController().signal)).status).toBe(405);
  });

  test("cancels the call of a client that comes back and goes away again", async () => {
    await using open = await openCall(20);
    const again = new AbortController();
    expect((await open.resume(again.signal)).status).toBe(200);
    open.connection.abort();
    const failed = ended();
    again.abort();
    expect((await failed).result.error?.code).toBe("cancelled");
  });

  test("cancels the calls of a session that ends, whose clients are away", async () => {
    const open = await openCall(60_000);
    const failed = ended();
    open.connection.abort();
    await open[Symbol.asyncDispose]();
    expect((await failed).result.error?.code).toBe("cancelled");
  });
});
