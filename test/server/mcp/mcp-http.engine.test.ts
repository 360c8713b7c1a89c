import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { Client, type Progress, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { CallEvent, Engine } from "../../../src/glovebox/index.ts";
import { createServer, type Server } from "../../../src/server/http/server.ts";
import { openEngine } from "../../standard/contracts/engine.ts";

const LOG_LEVEL = "io.modelcontextprotocol/logLevel";

const CLIMB = `export default async ({ steps }, { progress }) => {
  for (let step = 1; step <= steps; step++) {
    console.debug("at", step);
    console.warn("careful at", step);
    progress(step, steps, "step " + step);
    progress(step, steps, "still on step " + step);
    await new Promise((done) => setTimeout(done, 60));
  }
  return { steps };
}`;

/** 400,000 characters of every kind that JSON or an event stream writes in another way. */
const LONG = `export default ({ form }) => {
  const text = 'é"\\\\\\n😀\\u2028</script>\\u0001'.repeat(20_000);
  return form === "text" ? text : form === "list" ? [text] : { text, more: [1, { a: null }] };
}`;

interface Bench {
  readonly engine: Engine;
  readonly server: Server;
}

async function startBench(): Promise<Bench> {
  const engine = await openEngine();
  await engine.register({ name: "climb", description: "Climbs some steps, and says so", source: CLIMB });
  return { engine, server: await createServer(engine, { port: 0 }) };
}

let engine: Engine;
let server: Server;
const open: Client[] = [];

beforeAll(async () => {
  ({ engine, server } = await startBench());
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((client) => client.close()));
  await engine.unregister("new_one");
});
afterAll(() => server.close());

interface Connected {
  readonly client: Client;
  readonly transport: StreamableHTTPClientTransport;
  /** The tools that there were, each time that the client was told of others. */
  readonly changes: string[][];
  readonly logs: unknown[];
  /** What it was told of how far its calls have come. */
  readonly told: Progress[];
  readonly problems: Error[];
}

async function connect(mode: "legacy" | "auto", { url }: { url: string } = server): Promise<Connected> {
  const changes: string[][] = [];
  const logs: unknown[] = [];
  const told: Progress[] = [];
  const problems: Error[] = [];
  const onChanged = (_error: unknown, tools: readonly { name: string }[] | null): void =>
    void changes.push((tools ?? []).map(({ name }) => name));
  const client = new Client(
    { name: "tester", version: "1.0.0" },
    { versionNegotiation: { mode }, listChanged: { tools: { debounceMs: 0, onChanged } } },
  );
  open.push(client);
  client.onerror = (error) => problems.push(error);
  client.setNotificationHandler("notifications/message", ({ params }) => void logs.push(params));
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`));
  await client.connect(transport);
  const { onmessage } = transport;
  // The client forgets what is told of a call that it reads together with its result.
  transport.onmessage = (message) => {
    if ("method" in message && message.method === "notifications/progress") told.push(message.params as Progress);
    onmessage?.(message);
  };
  return { client, transport, changes, logs, told, problems };
}

/** The next call that fails. */
function failure(): Promise<CallEvent> {
  const { promise, resolve } = Promise.withResolvers<CallEvent>();
  engine.on("tool:error", resolve);
  return promise.finally(() => engine.off("tool:error", resolve));
}

describe.each([
  ["legacy", "2025-11-25"],
  ["auto", "2026-07-28"],
] as const)("the official client over HTTP (%s)", (mode, revision) => {
  test("is told who serves it, and in which revision of the protocol", async () => {
    const { client, transport } = await connect(mode);
    expect(client.getServerVersion()).toMatchObject({ name: "glovebox" });
    expect(client.getNegotiatedProtocolVersion()).toBe(revision);
    expect(transport.sessionId === undefined).toBe(mode === "auto");
  });

  test("lists tools, and calls one that answers what its schema promises", async () => {
    const { client, problems } = await connect(mode);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(["climb", "fail", "get_weather", "text.upper", "wait"]);
    expect(tools[2]).toMatchObject({ title: "Weather", annotations: { readOnlyHint: true } });
    const result = await client.callTool({ name: "get_weather", arguments: { city: "Oslo" } });
    expect(result.structuredContent).toEqual({ city: "Oslo", temperature: 4 });
    expect(problems).toEqual([]);
  });

  test("gets the failure of a tool as a result, and a tool that there is not as an error", async () => {
    const { client } = await connect(mode);
    const result = await client.callTool({ name: "fail", arguments: {} });
    expect(result).toMatchObject({ isError: true, content: [{ text: "there is no such place" }] });
    await expect(client.callTool({ name: "nothing", arguments: {} })).rejects.toMatchObject({ code: -32_602 });
  });

  test("hears how far its call has come, in rising steps and before the result", async () => {
    const { client, told } = await connect(mode);
    const call = { name: "climb", arguments: { steps: 3 } };
    const { structuredContent } = await client.callTool(call, { onprogress: () => undefined });
    expect(structuredContent).toEqual({ steps: 3 });
    expect(told.map(({ progress }) => progress)).toEqual([1, 2, 3]);
    expect(told[0]).toMatchObject({ progress: 1, total: 3, message: "step 1" });
  });

  test("hears what a tool logs only where it asks, and from that level on", async () => {
    const { client, logs } = await connect(mode);
    await client.callTool({ name: "climb", arguments: { steps: 1 } });
    expect(logs).toEqual([]);
    if (mode === "legacy") await client.setLoggingLevel("info");
    const meta = mode === "legacy" ? {} : { _meta: { [LOG_LEVEL]: "info" } };
    await client.callTool({ name: "climb", arguments: { steps: 2 }, ...meta });
    expect(logs).toEqual([
      { level: "warning", logger: "climb", data: "careful at 1" },
      { level: "warning", logger: "climb", data: "careful at 2" },
    ]);
  });

  test("cancels the call of a request that it aborts", async () => {
    const { client } = await connect(mode);
    const controller = new AbortController();
    const failed = failure();
    const abort = (): void => controller.abort();
    engine.on("tool:pre", abort);
    await expect(client.callTool({ name: "wait", arguments: {} }, { signal: controller.signal })).rejects.toThrow();
    expect((await failed).result.error?.code).toBe("cancelled");
    engine.off("tool:pre", abort);
    const result = await client.callTool({ name: "get_weather", arguments: { city: "Rome" } });
    expect(result.structuredContent).toEqual({ city: "Rome", temperature: 4 });
  });

  test("is told when tools come and go", async () => {
    const { client, changes } = await connect(mode);
    await client.listTools();
    await engine.register({ name: "new_one", description: "Is new", source: "export default () => 1" });
    await expect.poll(() => changes.at(-1)).toContain("new_one");
    await engine.unregister("new_one");
    await expect.poll(() => changes.at(-1)).not.toContain("new_one");
  });

  test("shares the server with another one, of which it hears nothing", async () => {
    const [one, other] = await Promise.all([connect(mode), connect("legacy")]);
    const climb = ({ client }: Connected, steps: number) =>
      client.callTool({ name: "climb", arguments: { steps } }, { onprogress: () => undefined });
    const results = await Promise.all([climb(one, 2), climb(other, 3)]);
    expect(results.map(({ structuredContent }) => structuredContent)).toEqual([{ steps: 2 }, { steps: 3 }]);
    const totals = [one, other].map(({ told }) => [...new Set(told.map(({ total }) => total))]);
    expect(totals).toEqual([[2], [3]]);
    expect([...one.problems, ...other.problems]).toEqual([]);
  });

  test("has its call ended and answered by a server that stops meanwhile", async () => {
    const own = await startBench();
    const { client, changes, told } = await connect(mode, own.server);
    await client.listTools();
    // Its stream of news is open.
    await own.engine.register({ name: "new_one", description: "Is new", source: "export default () => 1" });
    await expect.poll(() => changes.length).toBeGreaterThan(0);
    const call = client.callTool({ name: "climb", arguments: { steps: 5 } }, { onprogress: () => undefined });
    await expect.poll(() => told.length).toBeGreaterThan(0);
    const closed = own.server.close();
    expect((await call).structuredContent).toEqual({ steps: 5 });
    await closed;
  });
});

describe("the endpoint by hand", () => {
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const send = (message: object, more: Record<string, string> = {}, init: RequestInit = {}): Promise<Response> =>
    fetch(`${server.url}/mcp`, {
      method: "POST",
      headers: { ...headers, ...more },
      body: JSON.stringify({ jsonrpc: "2.0", ...message }),
      ...init,
    });

  const initialize = (protocolVersion = "2025-06-18"): Promise<Response> => {
    const clientInfo = { name: "tester", version: "1.0.0" };
    return send({ id: 1, method: "initialize", params: { protocolVersion, capabilities: {}, clientInfo } });
  };

  /** Opens a session, and answers the header that names it. */
  async function openSession(): Promise<Record<string, string>> {
    const response = await initialize();
    await response.text();
    const session = { "mcp-session-id": response.headers.get("mcp-session-id") ?? "" };
    expect((await send({ method: "notifications/initialized" }, session)).status).toBe(202);
    return session;
  }

  const call = (name: string, id = 2): object => ({ id, method: "tools/call", params: { name, arguments: {} } });
  const list = { id: 3, method: "tools/list" };

  /** The messages of a stream, as they come. Not each event has one. */
  async function* messagesOf(response: Response): AsyncGenerator<Record<string, unknown>> {
    let text = "";
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk).toString();
      for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
        const data = /^data: (.*)$/m.exec(text.slice(0, end))?.[1];
        text = text.slice(end + 2);
        if (data !== undefined && data !== "") yield JSON.parse(data) as Record<string, unknown>;
      }
    }
  }

  test.each(["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"])("speaks the revision %s", async (revision) => {
    const { value } = await messagesOf(await initialize(revision)).next();
    expect(value).toMatchObject({ result: { protocolVersion: revision, capabilities: { tools: {}, logging: {} } } });
  });

  test("gives each session a name that nobody guesses", async () => {
    const names = await Promise.all(Array.from({ length: 8 }, openSession));
    expect(new Set(names.map((name) => name["mcp-session-id"])).size).toBe(8);
    for (const name of names) expect(name["mcp-session-id"]).toMatch(/^[\w-]{43}$/);
  });

  test("ends a session when its client says so", async () => {
    const session = await openSession();
    expect((await send(list, session)).status).toBe(200);
    const ended = await fetch(`${server.url}/mcp`, { method: "DELETE", headers: session });
    expect(ended.status).toBe(200);
    const answer = await send(list, session);
    expect(answer.status).toBe(404);
    expect(await answer.json()).toMatchObject({ error: { message: "Session not found" } });
  });

  test.each(["", "x", "../..", "__proto__"])("knows no session of the name %j", async (name) => {
    for (const method of ["POST", "GET", "DELETE"]) {
      const init = method === "POST" ? {} : { method, body: null };
      const answer = await send(list, { "mcp-session-id": name }, init);
      await answer.text();
      expect([400, 404]).toContain(answer.status);
    }
  });

  test("wants a session for what is no request to open one", async () => {
    expect((await send(list)).status).toBe(400);
    expect((await fetch(`${server.url}/mcp`, { headers: { accept: "text/event-stream" } })).status).toBe(400);
    expect((await fetch(`${server.url}/mcp`, { method: "DELETE" })).status).toBe(400);
  });

  test("goes on to tell a client of news that has lost its stream and opens another", async () => {
    const session = await openSession();
    const listen = async (until?: AbortSignal): Promise<Response> =>
      fetch(`${server.url}/mcp`, { headers: { ...headers, ...session }, ...(until && { signal: until }) });
    const lost = new AbortController();
    expect((await listen(lost.signal)).status).toBe(200);
    expect((await listen()).status).toBe(409);
    lost.abort();
    let again = await listen();
    while (again.status === 409) again = await listen();
    await engine.register({ name: "new_one", description: "Is new", source: "export default () => 1" });
    const { value } = await messagesOf(again).next();
    expect(value).toMatchObject({ method: "notifications/tools/list_changed" });
  });

  test("ends the call of a client that goes away", async () => {
    const session = await openSession();
    const gone = new AbortController();
    const failed = failure();
    const sent = await send(call("wait"), session, { signal: gone.signal });
    expect(sent.status).toBe(200);
    gone.abort();
    expect((await failed).result.error?.code).toBe("cancelled");
  });

  test("ends the stream of a request that is cancelled, without an answer", async () => {
    const session = await openSession();
    const sent = await send(call("wait", 7), session);
    const cancelled = await send({ method: "notifications/cancelled", params: { requestId: 7 } }, session);
    expect(cancelled.status).toBe(202);
    expect(await Array.fromAsync(messagesOf(sent))).toEqual([]);
    // The number may be used again.
    expect(await Array.fromAsync(messagesOf(await send({ ...list, id: 7 }, session)))).toMatchObject([{ id: 7 }]);
  });

  test("answers each request of a batch", async () => {
    const session = await openSession();
    const body = JSON.stringify([1, 2].map((id) => ({ jsonrpc: "2.0", ...call("fail", id) })));
    const answers = await Array.fromAsync(messagesOf(await send({}, session, { body })));
    expect(new Set(answers.map(({ id }) => id))).toEqual(new Set([1, 2]));
    expect(answers).toHaveLength(2);
  });

  test.each([
    ["a page of another site", { origin: "https://evil.example" }],
    ["a page of nowhere", { origin: "null" }],
    ["a page of another port of this machine", { origin: "http://127.0.0.1:1" }],
  ])("refuses %s", async (_who, more) => {
    const answer = await send(list, more);
    expect(answer.status).toBe(403);
    expect(await answer.json()).toMatchObject({
      error: { message: expect.stringContaining("requests from this origin are not allowed") },
    });
  });

  test.each(["evil.example", "evil.example:80", "127.0.0.1.evil.example", "[::2]"])(
    "refuses a request for the host %j, whose name may have been given this machine's address",
    async (host) => {
      expect(await statusFor({ host })).toBe(403);
    },
  );

  test("takes a request for this machine by any of its own names", async () => {
    for (const host of ["localhost", "localhost:8080", "127.0.0.1", "127.1.2.3:80", "[::1]:80"]) {
      expect(await statusFor({ host, accept: "text/event-stream" })).toBe(400);
    }
  });

  /** What a request without a session is answered; `fetch` writes some of these headers itself. */
  async function statusFor(own: Record<string, string>): Promise<number | undefined> {
    const sent = request(`${server.url}/mcp`, { headers: own }).end();
    const [answer] = (await once(sent, "response")) as [IncomingMessage];
    answer.resume();
    return answer.statusCode;
  }

  test("takes a page of its own", async () => {
    const origin = new URL(server.url).origin;
    const answer = await send({ id: 1, method: "ping" }, { origin, ...(await openSession()) });
    expect(answer.status).toBe(200);
    await answer.text();
  });

  test("takes GET, POST and DELETE", async () => {
    for (const method of ["PUT", "PATCH", "OPTIONS", "HEAD"]) {
      const answer = await fetch(`${server.url}/mcp`, { method });
      expect([answer.status, answer.headers.get("allow")]).toEqual([405, "GET, POST, DELETE"]);
    }
  });
});

describe.each(["legacy", "auto"] as const)("a long output, for a client that is %s,", (mode) => {
  test.each(["text", "list", "object"])("arrives whole: %s", async (form) => {
    await engine.register({ name: "new_one", description: "Returns a long output", source: LONG });
    const { client } = await connect(mode);
    const { output } = await engine.execute({ name: "new_one", arguments: { form } });
    const { content, structuredContent, isError } = await client.callTool({ name: "new_one", arguments: { form } });
    const text = form === "text" ? output : JSON.stringify(output);
    expect(content).toEqual([{ type: "text", text }]);
    expect(isError).toBeUndefined();
    const wrapped = mode === "legacy" && form === "list" ? { result: output } : output;
    expect(structuredContent).toEqual(form === "text" ? undefined : wrapped);
  });
});
