import { spawn } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { createServer as createHttpServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { Client, InMemoryTransport, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { context, propagation, type Span, SpanKind, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import {
  AlwaysOnSampler,
  InMemorySpanExporter,
  ParentBasedSampler,
  type ReadableSpan,
  SimpleSpanProcessor,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import fc from "fast-check";
import { pino } from "pino";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createEngine, defineCapability, type Engine, type ToolDefinition } from "../../../../src/glovebox/index.ts";
import { createServer, type Server } from "../../../../src/server/http/server.ts";
import { createMcpServer } from "../../../../src/server/mcp/server.ts";
import { executors } from "../../../processes.ts";

const exporter = new InMemorySpanExporter();
const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const SPAN_ID = "b7ad6b7169203331";
const ADD = fileURLToPath(new URL("../../../../fixtures/tools/add.js", import.meta.url));
const SAMPLED = `00-${TRACE_ID}-${SPAN_ID}-01`;

let flakes = 0;
let killsLeft = 0;
const lines: Record<string, unknown>[] = [];
/** What the capability's handler finds to be active. */
let seen: Span | undefined;

const world = defineCapability({
  name: "world",
  methods: {
    look: { handler: () => ((seen = trace.getActiveSpan()), "seen") },
    flake: {
      handler: () => {
        if (flakes-- > 0) throw new Error("not yet");
        return "now";
      },
    },
    kill: {
      handler: () => {
        if (killsLeft-- > 0) for (const pid of executors()) process.kill(pid, "SIGKILL");
      },
    },
    never: { handler: () => new Promise(() => undefined) },
  },
});

function tool(name: string, source: string, more: Partial<ToolDefinition> = {}): ToolDefinition {
  const capabilities = { world: true, tools: ["look"] };
  return { name, description: "d", source, capabilities, ...more };
}

const TOOLS = [
  tool("add", "export default ({ a, b }) => a + b;"),
  tool("look", "export default (i, { host }) => host.world.look();"),
  tool("throw", "export default () => { throw new RangeError('a-word-of-the-tool'); };"),
  tool("parent", "export default (i, { host }) => host.tools.call('look', {});"),
  tool("flaky", "export default (i, { host }) => host.world.flake();", { retries: 2 }),
  tool(
    "victim",
    "export default async (i, { host }) => { await host.world.look(); await host.world.kill(); return 1; };",
  ),
  tool("late", "export default (i, { host }) => host.world.never();", { limits: { wallMs: 2_000 } }),
  tool("greedy", "export default (i, { host }) => host.vault.open({});"),
  tool("keen", "export default async (i, { host }) => { for (let n = 0; n < 300; n++) await host.world.look(); };", {
    limits: { capabilityCalls: 1_000 },
  }),
];

const provider = new TracerProvider({
  spanProcessors: [new SimpleSpanProcessor({ exporter })],
  sampler: new ParentBasedSampler({ root: new AlwaysOnSampler() }),
});

let engine: Engine;
let server: Server;

beforeAll(async () => {
  trace.setGlobalTracerProvider(provider);
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  const write = (line: string): void => void lines.push(JSON.parse(line) as Record<string, unknown>);
  engine = await createEngine({
    workers: 1,
    logger: pino({ level: "trace" }, { write }),
    executor: { kind: "process", spare: false },
    tools: TOOLS,
    maxLimits: { capabilityCalls: 1_000 },
    capabilities: [world],
    policy: { rules: [{ allow: { world: true, tools: ["*"] } }] },
  });
  server = await createServer(engine, { port: 0 });
});

afterAll(async () => {
  await server?.close();
  trace.disable();
  context.disable();
  propagation.disable();
});

beforeEach(() => {
  exporter.reset();
});

/** The spans that have ended, once there are so many. */
async function ended(count = 0): Promise<readonly ReadableSpan[]> {
  await expect.poll(() => exporter.getFinishedSpans().length, { timeout: 60_000 }).toBeGreaterThanOrEqual(count);
  return exporter.getFinishedSpans();
}

function the(spans: readonly ReadableSpan[], name: string): ReadableSpan {
  const [span, ...more] = spans.filter((one) => one.name === name);
  if (span === undefined || more.length > 0) throw new Error(`${more.length + 1} spans are named ${name}`);
  return span;
}

const ms = ([seconds, nanos]: readonly [number, number]): number => seconds * 1e3 + nanos / 1e6;

/** Each span as its name, in those of the spans below which it is. */
function tree(spans: readonly ReadableSpan[], parent?: string): unknown {
  const below = spans.filter(({ parentSpanContext }) => parentSpanContext?.spanId === parent);
  const inOrder = below.toSorted((a, b) => ms(a.startTime) - ms(b.startTime));
  return inOrder.map((span) => [span.name, ...(tree(spans, span.spanContext().spanId) as unknown[])]);
}

describe("a call", () => {
  test("has a span with the wait and the run below it", async () => {
    await engine.execute({ id: "c1", name: "add", arguments: { a: 1, b: 2 } }, { tenant: "acme" });
    const spans = await ended(3);
    expect(tree(spans)).toEqual([["execute_tool add", ["glovebox.queue"], ["glovebox.run"]]]);
    expect(the(spans, "execute_tool add").attributes).toEqual({
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.type": "function",
      "gen_ai.tool.name": "add",
      "gen_ai.tool.call.id": "c1",
      "glovebox.tenant": "acme",
      "glovebox.attempts": 1,
      "glovebox.cpu_ms": expect.any(Number),
      "glovebox.heap_bytes": expect.any(Number),
    });
  });

  test("is below the span that is active where it is made", async () => {
    const tracer = provider.getTracer("test");
    await tracer.startActiveSpan("agent", async (span) => {
      await engine.execute({ name: "add", arguments: { a: 1, b: 2 } });
      span.end();
    });
    expect(tree(await ended(4))).toEqual([["agent", ["execute_tool add", ["glovebox.queue"], ["glovebox.run"]]]]);
  });

  test("has a span for each thing it asks of the host, which is active where that is answered", async () => {
    await engine.execute({ name: "look", arguments: {} });
    const spans = await ended(4);
    expect(tree(spans)).toEqual([
      ["execute_tool look", ["glovebox.queue"], ["glovebox.run", ["glovebox.capability world.look"]]],
    ]);
    expect(seen?.spanContext().spanId).toBe(the(spans, "glovebox.capability world.look").spanContext().spanId);
  });

  test("has the calls on its behalf below it, and all times within those of the span above", async () => {
    await engine.execute({ name: "parent", arguments: {} });
    const spans = await ended(8);
    const below = ["execute_tool look", ["glovebox.queue"], ["glovebox.run", ["glovebox.capability world.look"]]];
    expect(tree(spans)).toEqual([
      ["execute_tool parent", ["glovebox.queue"], ["glovebox.run", ["glovebox.capability tools.call", below]]],
    ]);
    const byId = new Map(spans.map((span) => [span.spanContext().spanId, span]));
    for (const { name, startTime, endTime, parentSpanContext } of spans) {
      const above = byId.get(parentSpanContext?.spanId ?? "");
      expect(ms(endTime), name).toBeGreaterThanOrEqual(ms(startTime));
      if (above === undefined) continue;
      expect(ms(startTime), name).toBeGreaterThanOrEqual(ms(above.startTime));
      expect(ms(endTime), name).toBeLessThanOrEqual(ms(above.endTime));
    }
  });

  test("that fails says so by its code, and by no word of the tool's", async () => {
    await engine.execute({ name: "throw", arguments: { secret: "an-argument" } });
    const spans = await ended(3);
    const { status, attributes } = the(spans, "execute_tool throw");
    expect(status).toEqual({ code: 2 });
    expect(attributes["error.type"]).toBe("tool_error");
    const told = JSON.stringify(
      spans.map(({ name, attributes: said, status: how, events }) => [name, said, how, events]),
    );
    expect(told).not.toMatch(/a-word-of-the-tool|an-argument/);
  });

  test("that is refused has a span that names no tool that there is not", async () => {
    await engine.execute({ name: "made-up-by-somebody", arguments: {} });
    const [span, ...more] = await ended(1);
    expect(more).toEqual([]);
    expect(span?.name).toBe("execute_tool");
    expect(span?.attributes["error.type"]).toBe("tool_not_found");
    expect(JSON.stringify(span?.attributes)).not.toContain("made-up");
  });

  test("that is tried again says when and why", async () => {
    flakes = 1;
    const { success } = await engine.execute({ name: "flaky", arguments: {} });
    const spans = await ended(5);
    expect(success).toBe(true);
    const [event] = the(spans, "glovebox.run").events;
    expect(event).toMatchObject({ name: "glovebox.retry", attributes: { "error.type": "capability_failed" } });
    const asked = spans.filter(({ name }) => name === "glovebox.capability world.flake");
    expect(asked.map(({ attributes }) => attributes["error.type"])).toEqual(["capability_failed", undefined]);
  });

  test("that loses its executor says so, and has no second span for what was answered from the journal", async () => {
    killsLeft = 1;
    const { success, metadata } = await engine.execute({ name: "victim", arguments: {} });
    const spans = await ended(5);
    expect([success, metadata.attempts]).toEqual([true, 2]);
    expect(the(spans, "glovebox.run").events.map(({ name }) => name)).toEqual(["glovebox.restart"]);
    the(spans, "glovebox.capability world.look");
  });

  test("that ends before its answer takes what it asked with it", async () => {
    await engine.execute({ name: "late", arguments: {} });
    const spans = await ended(4);
    expect(the(spans, "glovebox.capability world.never").attributes["error.type"]).toBe("cancelled");
    expect(the(spans, "execute_tool late").attributes["error.type"]).toBe("wall_limit");
  });

  test("that asks for what there is not names no span by it", async () => {
    await engine.execute({ name: "greedy", arguments: {} });
    const names = (await ended(3)).map(({ name }) => name);
    expect(names.join()).not.toContain("vault");
  });

  test("that asks for very much has spans for the first of it, and the number of the others", async () => {
    await engine.execute({ name: "keen", arguments: {} });
    const spans = await ended(259);
    expect(spans.length).toBe(259);
    expect(the(spans, "execute_tool keen").attributes["glovebox.capability_spans_dropped"]).toBe(44);
  });

  test("has its span active where listeners hear of its end", async () => {
    let heard: string | undefined;
    const listener = (): void => {
      heard = trace.getActiveSpan()?.spanContext().spanId;
    };
    engine.on("tool:post", listener);
    await engine.execute({ name: "add", arguments: { a: 1, b: 2 } });
    engine.off("tool:post", listener);
    expect(heard).toBe(the(await ended(3), "execute_tool add").spanContext().spanId);
  });
});

test("the servers that tools ask hear of no trace, whatever the process is instrumented with", async () => {
  // What the official instrumentation of the HTTP client does.
  const instrument = (message: unknown): void => {
    const carrier: Record<string, string> = {};
    propagation.inject(context.active(), carrier);
    injected.push(carrier);
    const { request } = message as { readonly request: { addHeader(name: string, value: string): void } };
    for (const [name, value] of Object.entries(carrier)) request.addHeader(name, value);
  };
  const injected: Record<string, string>[] = [];
  let heard: IncomingHttpHeaders = {};
  const origin = createHttpServer(({ headers }, response) => {
    heard = headers;
    response.end("hello");
  });
  origin.listen(0, "127.0.0.1");
  await once(origin, "listening");
  const url = `http://127.0.0.1:${(origin.address() as AddressInfo).port}`;
  subscribe("undici:request:create", instrument);
  await using own = await createEngine({
    workers: 1,
    executor: "threads",
    policy: { rules: [{ allow: { fetch: { origins: [], privateOrigins: [url] } } }] },
  });
  try {
    const source = "export default async ({ url }) => (await fetch(url)).text();";
    await own.register({ ...tool("ask", source), capabilities: { fetch: { origins: [url] } } });
    expect((await own.execute({ name: "ask", arguments: { url } })).output).toBe("hello");
    // Requests are sent by the broker thread, which nothing of this one instruments.
    expect(injected).toEqual([]);
    expect(heard.host).toBe(new URL(url).host);
    expect(heard).not.toHaveProperty("traceparent");
    the(await ended(4), "glovebox.capability fetch.request");
  } finally {
    unsubscribe("undici:request:create", instrument);
    origin.close();
  }
});

test("lines of the log name the spans that they are about", async () => {
  lines.length = 0;
  await engine.execute({ name: "look", arguments: {} });
  const spans = await ended(4);
  const logged = lines.map(({ msg, trace_id, span_id }) => [msg, trace_id, span_id]);
  const ids = (name: string): string[] => {
    const { traceId, spanId } = the(spans, name).spanContext();
    return [traceId, spanId];
  };
  expect(logged).toEqual([
    ["a call made a capability call", ...ids("glovebox.capability world.look")],
    ["a call ended", ...ids("execute_tool look")],
  ]);
});

test("without a manager of contexts, calls on behalf of others are below them all the same", async () => {
  context.disable();
  try {
    await engine.execute({ name: "parent", arguments: {} });
    const below = ["execute_tool look", ["glovebox.queue"], ["glovebox.run", ["glovebox.capability world.look"]]];
    const run = ["glovebox.run", ["glovebox.capability tools.call"], below];
    expect(tree(await ended(8))).toEqual([["execute_tool parent", ["glovebox.queue"], run]]);
  } finally {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  }
});

test("over MCP, a call is below the span that its _meta names", async () => {
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await createMcpServer(engine, { name: "glovebox", version: "1.0.0" }).connect(ours);
  const client = new Client({ name: "tester", version: "1.0.0" });
  await client.connect(theirs);
  const _meta = { traceparent: SAMPLED };
  await client.callTool({ name: "add", arguments: { a: 1, b: 2 }, _meta });
  await client.close();
  const { parentSpanContext } = the(await ended(3), "tools/call add");
  expect(parentSpanContext).toMatchObject({ traceId: TRACE_ID, spanId: SPAN_ID, isRemote: true });
});

test("over MCP, a call's span has what the conventions for MCP ask for, and the calls on its behalf have not", async () => {
  const client = new Client({ name: "tester", version: "1.0.0" });
  const transport = new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`));
  await client.connect(transport);
  await client.callTool({ name: "parent", arguments: {} });
  const { sessionId, protocolVersion } = transport;
  await client.close();
  const spans = await ended(8);
  const sent = /^(?:mcp|jsonrpc|network)\./;
  const described = (name: string): object =>
    Object.fromEntries(Object.entries(the(spans, name).attributes).filter(([key]) => sent.test(key)));
  expect(described("tools/call parent")).toEqual({
    "mcp.method.name": "tools/call",
    "mcp.session.id": sessionId,
    "mcp.protocol.version": protocolVersion,
    "jsonrpc.request.id": expect.stringMatching(/^\d+$/),
    "network.transport": "tcp",
    "network.protocol.name": "http",
  });
  expect(sessionId).toMatch(/^[\w-]{43}$/);
  expect(described("execute_tool look")).toEqual({});
  const kinds = ["tools/call parent", "execute_tool look"].map((name) => the(spans, name).kind);
  expect(kinds).toEqual([SpanKind.SERVER, SpanKind.INTERNAL]);
});

test("a server that is started as the sample says writes its last spans before it ends", async () => {
  const [preload, main] = ["../../../../fixtures/deploy/tracing.mjs", "../../../../src/cli/main.ts"].map((file) =>
    fileURLToPath(new URL(file, import.meta.url)),
  );
  const flags = ["--no-warnings", "--import", `${preload}`, `${main}`];
  const args = ["serve", "--port", "0", "--workers", "1", "--tools", ADD];
  const child = spawn(process.execPath, [...flags, ...args], { stdio: ["ignore", "pipe", "ignore"] });
  const deadline = setTimeout(() => child.kill("SIGKILL"), 120_000);
  try {
    let written = "";
    let isCalled = false;
    for await (const part of child.stdout.setEncoding("utf8")) {
      written += part;
      const url = /listening on (\S+)/.exec(written)?.[1];
      if (url === undefined || isCalled) continue;
      isCalled = true;
      const headers = { "content-type": "application/json", traceparent: SAMPLED };
      const body = JSON.stringify({ name: "add", arguments: { a: 1, b: 2 } });
      await (await fetch(`${url}/v1/execute`, { method: "POST", headers, body })).arrayBuffer();
      child.kill("SIGTERM");
    }
    for (const name of ["execute_tool add", "glovebox.queue", "glovebox.run"]) expect(written).toContain(`'${name}'`);
    expect(written).toContain(TRACE_ID);
  } finally {
    clearTimeout(deadline);
    child.kill("SIGKILL");
  }
});

describe("over HTTP", () => {
  async function post(headers: Record<string, string>): Promise<number> {
    const response = await fetch(`${server.url}/v1/execute`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify({ name: "add", arguments: { a: 1, b: 2 } }),
    });
    await response.arrayBuffer();
    return response.status;
  }

  test("a call is below the span that the request names", async () => {
    await post({ traceparent: SAMPLED, tracestate: "vendor=1" });
    const { parentSpanContext } = the(await ended(3), "execute_tool add");
    expect(parentSpanContext).toMatchObject({ traceId: TRACE_ID, spanId: SPAN_ID, isRemote: true });
    expect(parentSpanContext?.traceState?.get("vendor")).toBe("1");
  });

  test("a recorded call is an exemplar of the histogram of durations", async () => {
    await post({ traceparent: SAMPLED });
    await ended(3);
    const scraped = await fetch(`${server.url}/metrics`, { headers: { accept: "application/openmetrics-text" } });
    expect(scraped.headers.get("content-type")).toBe("application/openmetrics-text; version=1.0.0; charset=utf-8");
    expect(await scraped.text()).toMatch(
      new RegExp(`^glovebox_call_duration_seconds_bucket\\{.*tool="add"\\} \\d+ # \\{trace_id="${TRACE_ID}"\\} `, "m"),
    );
  });

  test("what the sender does not record is not recorded", async () => {
    await post({ traceparent: `00-${TRACE_ID}-${SPAN_ID}-00` });
    await post({});
    const spans = await ended(3);
    expect(spans.map(({ parentSpanContext }) => parentSpanContext?.traceId)).not.toContain(TRACE_ID);
    expect(spans.length).toBe(3);
  });

  test("whatever is sent as a trace, the call runs", async () => {
    const near = fc.tuple(fc.constantFrom("00", "ff", "0", "01"), fc.string(), fc.string(), fc.string());
    const sent = fc.oneof(
      fc.string({ maxLength: 2_000 }),
      near.map((parts) => parts.join("-")),
      fc.constant(SAMPLED),
    );
    const header = sent.map((text) => text.replaceAll(/[^\x20-\x7e]/g, "?").trim());
    await fc.assert(
      fc.asyncProperty(header, header, async (traceparent, tracestate) => {
        expect(await post({ traceparent, tracestate })).toBe(200);
      }),
      { numRuns: 50 },
    );
  });
});
