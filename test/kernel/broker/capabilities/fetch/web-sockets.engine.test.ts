import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  createEngine,
  type Engine,
  type Recording,
  replayCall,
  type ToolDefinition,
} from "../../../../../src/glovebox/index.ts";
import { ExecutorKiller } from "../../../engine/executor-killer.ts";
import { serve, type TestServer } from "./server.ts";
import { serveSockets, type SocketServer } from "./socket-server.ts";

/** What each connection has told the server, and how it was closed. */
const heard: { readonly path: string; readonly messages: string[]; closed: number | null }[] = [];
let server: SocketServer;
/** A server of events, which ends each stream after one. */
let events: TestServer;

const PRELUDE = `
const open = (url, protocols) => new Promise((resolve, reject) => {
  const ws = new WebSocket(url, protocols);
  ws.binaryType = "arraybuffer";
  ws.onopen = () => resolve(ws);
  ws.onerror = ({ error }) => reject(error);
});
const next = (ws) => new Promise((resolve, reject) => {
  ws.addEventListener("message", ({ data }) => resolve(data), { once: true });
  ws.addEventListener("close", ({ code }) => reject(new Error("closed with " + code)), { once: true });
});`;

beforeAll(async () => {
  server = await serveSockets((socket, { url = "" }) => {
    const one: (typeof heard)[number] = { path: url, messages: [], closed: null };
    const number = heard.push(one);
    socket.on("close", (code) => (one.closed = code));
    socket.on("message", (data: Buffer, binary) => {
      one.messages.push(data.toString());
      socket.send(binary ? data : `${number}: ${data.toString()}`, { binary });
    });
    if (url === "/flood") for (let at = 0; at < 2_000; at++) socket.send(Buffer.alloc(1_000));
  });
});
beforeAll(async () => {
  events = await serve((_request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(`retry: 100\nid: ${events.seen.length}\nevent: tick\ndata: ${events.seen.length}\n\n`);
  });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await events[Symbol.asyncDispose]();
});

describe.for(["threads", "process"] as const)("a tool in %s", (executor) => {
  const killer = new ExecutorKiller();
  let engine: Engine;
  let names = 0;

  beforeAll(async () => {
    engine = await createEngine({
      workers: 1,
      executor,
      capabilities: [killer.capability],
      policy: {
        rules: [{ allow: { fetch: { origins: [], privateOrigins: [server.origin, events.origin] }, kill: true } }],
      },
    });
    killer.watch(engine);
  });
  afterAll(() => engine.close());

  async function put(body: string, more: Partial<ToolDefinition> = {}): Promise<string> {
    const name = `tool-${++names}`;
    const source = `${PRELUDE}\nexport default async ({ url }, { host }) => { ${body} };`;
    const capabilities = { fetch: { origins: [server.origin, events.origin], maxBytes: 50_000_000 }, kill: true };
    await engine.register({ name, description: "d", source, capabilities, ...more });
    return name;
  }

  async function call(body: string, more: Partial<ToolDefinition> = {}, path = "/") {
    return await engine.execute({ name: await put(body, more), arguments: { url: server.url + path } });
  }

  test("talks to a server, text and bytes, and closes", async () => {
    const { output, metadata } = await call(
      `const ws = await open(url);
      ws.send("hello");
      const text = await next(ws);
      ws.send(new Uint8Array([0, 255]));
      const bytes = [...new Uint8Array(await next(ws))];
      const closed = new Promise((resolve) => { ws.onclose = ({ code, reason, wasClean }) => resolve([code, reason, wasClean]); });
      ws.close(3000, "bye");
      return [text.replace(/^.*: /, ""), bytes, await closed];`,
      {},
      "/talk",
    );
    expect(output).toEqual(["hello", [0, 255], [3_000, "bye", true]]);
    // What it cost is the call's: asks, and the bytes of both directions.
    expect(metadata["host"]).toMatchObject({ asks: expect.any(Number), bytes: expect.any(Number) });
  });

  test("that ends, fails, is cancelled or runs out of time leaves no connection", async () => {
    const wait = "const ws = await open(url); await new Promise(() => {});";
    await call("await open(url); return 1;");
    await call("await open(url); throw new Error('x');");
    await call(wait, { limits: { wallMs: 300 } });
    await call("await open(url); for (;;) {}", { limits: { cpuMs: 100 } });
    const abort = new AbortController();
    const cancelled = engine.execute(
      { name: await put(wait), arguments: { url: `${server.url}/wait` } },
      { signal: abort.signal },
    );
    await expect.poll(() => heard.at(-1)?.path).toBe("/wait");
    abort.abort();
    expect((await cancelled).error?.code).toBe("cancelled");
    await expect.poll(() => server.open()).toBe(0);
  });

  test("without a grant for the origin gets an error that names it", async () => {
    const body = `try { await open(url); } catch ({ code, message }) { return [code, message]; }`;
    const capabilities = { fetch: { origins: ["https://api.example.com", server.origin] } };
    const name = await put(body, { capabilities });
    const { output, metadata } = await engine.execute({ name, arguments: { url: "wss://evil.example/x?y=z" } });
    expect(output).toEqual([
      "capability_denied",
      expect.stringContaining("GET https://evil.example/x was not granted"),
    ]);
    expect(metadata.logs[0]?.message).toContain('add "https://evil.example" to fetch.origins');
    const { error } = await call("new WebSocket(url)", { capabilities: {} });
    expect(error).toMatchObject({ code: "capability_denied", message: expect.stringContaining(server.origin) });
  });

  test("that asks too much ends with the limit", async () => {
    const { error } = await call(
      "const ws = await open(url); await new Promise((_, reject) => { ws.onerror = ({ error }) => reject(error); });",
      { limits: { capabilityBytes: 500_000 } },
      "/flood",
    );
    expect(error?.code).toBe("capability_limit");
    await expect.poll(() => server.open()).toBe(0);
  });

  test("that has opened one is not tried again after its own failure", async () => {
    const before = heard.length;
    const { error, metadata } = await call("await open(url); throw new Error('x');", {
      retries: 2,
      retryOn: "failure",
    });
    expect([error?.code, metadata.attempts, heard.length - before]).toEqual(["tool_error", 1, 1]);
  });

  test("reads a stream of events, again after its end, with the last id", async () => {
    const before = events.seen.length;
    const name = await put(`return new Promise((resolve) => {
      const got = [];
      const source = new EventSource(url);
      source.addEventListener("tick", ({ data, lastEventId }) => {
        if (got.push([data, lastEventId]) < 3) return;
        source.close();
        resolve(got);
      });
    });`);
    const { output } = await engine.execute({ name, arguments: { url: events.origin } });
    const ids = [1, 2, 3].map((at) => `${before + at}`);
    expect(output).toEqual(ids.map((id) => [id, id]));
    expect(events.seen.slice(before).map(({ headers }) => headers["last-event-id"])).toEqual([
      undefined,
      ...ids.slice(0, 2),
    ]);
  });

  test("is replayed from its recording, without a connection", async () => {
    const name = await put("const ws = await open(url); ws.send('x'); return await next(ws);");
    const { metadata } = await engine.execute({ name, arguments: { url: server.url } }, { record: true });
    const before = heard.length;
    expect((await replayCall(metadata["recording"] as Recording)).isSame).toBe(true);
    expect(heard).toHaveLength(before);
  });

  test.runIf(executor === "process")(
    "whose executor is killed goes on with the same connection, and sends nothing twice",
    async () => {
      // The process that was at work before anybody listened is replaced by one that is known.
      await call("for (;;) [].indexOf.call({ length: 2 ** 53 - 1 }, 1);", { limits: { cpuMs: 20 } });
      killer.left = 2;
      const before = heard.length;
      const { output, metadata } = await call(
        `const ws = await open(url);
      const got = [];
      for (let at = 0; at < 4; at++) {
        ws.send("m" + at);
        got.push(await next(ws));
        await host.kill.now();
      }
      return got;`,
        {},
        "/killed",
      );
      const number = before + 1;
      expect(output).toEqual([0, 1, 2, 3].map((at) => `${number}: m${at}`));
      expect(metadata.attempts).toBe(3);
      expect(heard.slice(before)).toMatchObject([{ path: "/killed", messages: ["m0", "m1", "m2", "m3"] }]);
    },
  );
});
