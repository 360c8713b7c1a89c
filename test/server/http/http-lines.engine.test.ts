import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEngine, defineCapability, type Engine, type ToolResult } from "../../../src/glovebox/index.ts";
import { createServer, type Server } from "../../../src/server/http/server.ts";

const LINES = "application/x-ndjson";
const ECHO = { name: "echo", description: "Gives its input back.", source: "export default (input) => input;" };
const FILL = {
  name: "fill",
  description: "Answers so many characters.",
  source: 'export default ({ length }) => "x".repeat(length);',
};
const WAIT = {
  name: "wait",
  description: "Waits until the test opens its gate.",
  source: 'export default async (input, { host }) => { await host.gate.pass(); return "passed"; };',
  capabilities: { gate: true },
};

interface Line {
  readonly index: number;
  readonly result: ToolResult;
}

/** The lines of an answer, as they come. */
async function* linesOf({ body }: Response): AsyncGenerator<Line> {
  let rest = "";
  for await (const text of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) yield JSON.parse(line) as Line;
  }
  expect(rest).toBe("");
}

describe("a batch that is answered in lines", () => {
  const UNREAD_CHARS = 20_000_000;
  let engine: Engine;
  let server: Server;
  let gate = Promise.withResolvers<void>();
  let waiting = 0;

  beforeAll(async () => {
    const pass = { handler: () => (waiting++, gate.promise) };
    engine = await createEngine({
      workers: 1,
      executor: "threads",
      tools: [ECHO, FILL, WAIT],
      capabilities: [defineCapability({ name: "gate", methods: { pass } })],
      policy: { rules: [{ allow: { gate: true } }] },
    });
    server = await createServer(engine, { port: 0, connections: { unreadChars: UNREAD_CHARS } });
  });

  afterAll(async () => {
    gate.resolve();
    await server.close();
  });

  const send = (
    calls: readonly unknown[],
    { accept = LINES, signal }: { accept?: string; signal?: AbortSignal } = {},
  ) =>
    fetch(`${server.url}/v1/execute/batch`, {
      method: "POST",
      body: JSON.stringify({ calls }),
      headers: { "content-type": "application/json", accept },
      ...(signal === undefined ? {} : { signal }),
    });
  const wait = { name: "wait", arguments: {} };

  test("has a line for each result as its call ends, with the call's place, and the bad ones among them", async () => {
    gate = Promise.withResolvers();
    const response = await send([wait, { name: "echo", arguments: { a: 1 } }, 1]);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe(LINES);
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    const seen: Line[] = [];
    for await (const line of linesOf(response)) if (seen.push(line) === 2) gate.resolve();
    expect(seen.slice(0, 2).toSorted((a, b) => a.index - b.index)).toMatchObject([
      { index: 1, result: { success: true, output: { a: 1 }, metadata: { tool: "echo" } } },
      { index: 2, result: { success: false, error: { code: "invalid_arguments" } } },
    ]);
    expect(seen.slice(2)).toMatchObject([{ index: 0, result: { success: true, output: "passed" } }]);
  });

  test("has one line for each call and nothing else, whatever the calls are", async () => {
    const call = fc.oneof(
      fc.record({ name: fc.constantFrom("echo", "nobody"), arguments: fc.dictionary(fc.string(), fc.string()) }),
      fc.jsonValue(),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(call, { minLength: 1, maxLength: 20 }), async (calls) => {
        const lines = await Array.fromAsync(linesOf(await send(calls)));
        expect(lines.map(({ index }) => index).toSorted((a, b) => a - b)).toEqual([...calls.keys()]);
        for (const { index, result } of lines) {
          if (result.success) expect(result.output).toEqual((calls[index] as { arguments: unknown }).arguments);
        }
      }),
      { numRuns: 50 },
    );
  });

  test("keeps its results for a client that reads slowly, and drops none", async () => {
    const calls = Array.from({ length: 60 }, () => ({ name: "fill", arguments: { length: 200_000 } }));
    const seen: number[] = [];
    for await (const { index, result } of linesOf(await send(calls))) {
      seen.push(index);
      expect(result.output).toHaveLength(200_000);
      await delay(2);
    }
    expect(seen.toSorted((a, b) => a - b)).toEqual([...calls.keys()]);
  });

  test("costs a client its connection that leaves more unread than all may", async () => {
    const body = JSON.stringify({
      calls: Array.from({ length: 60 }, () => ({ name: "fill", arguments: { length: 900_000 } })),
    });
    const ended = Promise.withResolvers<void>();
    let left = 60;
    const count = (): void => void (--left === 0 && ended.resolve());
    for (const event of ["tool:post", "tool:error"] as const) engine.on(event, count);
    const socket = connect({ port: server.port, host: "127.0.0.1" }).pause();
    const head = ["POST /v1/execute/batch HTTP/1.1", "host: localhost", "content-type: application/json"];
    socket.on("error", () => undefined);
    socket.write([...head, `accept: ${LINES}`, `content-length: ${body.length}`, "", body].join("\r\n"));
    await ended.promise;
    for (const event of ["tool:post", "tool:error"] as const) engine.off(event, count);
    const other = await send([{ name: "echo", arguments: {} }]);
    expect(await Array.fromAsync(linesOf(other))).toHaveLength(1);
    const closed = once(socket, "close");
    socket.resume();
    await closed;
    expect(socket.bytesRead).toBeLessThan(60 * 900_000);
  });

  test("is cancelled when its client goes away", async () => {
    gate = Promise.withResolvers();
    waiting = 0;
    const codes: (string | undefined)[] = [];
    const ended = Promise.withResolvers<void>();
    const listener = ({ result }: { result: ToolResult }): void => {
      if (codes.push(result.error?.code) === 5) ended.resolve();
    };
    engine.on("tool:error", listener);
    const client = new AbortController();
    const response = await send(
      Array.from({ length: 5 }, () => wait),
      { signal: client.signal },
    );
    await expect.poll(() => waiting, { timeout: 60_000 }).toBe(5);
    client.abort();
    await expect(response.text()).rejects.toThrow(/abort/);
    await ended.promise;
    engine.off("tool:error", listener);
    expect(codes).toEqual(Array.from({ length: 5 }, () => "cancelled"));
  });

  test.each([
    ["alone", LINES, LINES],
    ["in other letters", "application/X-NDJSON; charset=utf-8", LINES],
    ["above JSON", "application/json;q=0.5, application/x-ndjson", LINES],
    ["below events", "text/event-stream;q=0.9, application/x-ndjson;q=0.8", "text/event-stream"],
    ["under a star", "application/*", "application/json; charset=utf-8"],
    ["never", "*/*, application/x-ndjson;q=0", "application/json; charset=utf-8"],
    ["behind a thousand others", `${"a/b,".repeat(1_000)}${LINES}`, LINES],
  ])("is chosen by Accept among the others: %s", async (_where, accept, type) => {
    const response = await send([{ name: "echo", arguments: {} }], { accept });
    expect(response.headers.get("content-type")).toBe(type);
    await response.text();
  });

  test("is not what a single call is answered with", async () => {
    const response = await fetch(`${server.url}/v1/execute`, {
      method: "POST",
      body: JSON.stringify({ name: "echo", arguments: {} }),
      headers: { "content-type": "application/json", accept: LINES },
    });
    expect(response.status).toBe(406);
    await response.text();
  });
});

test("a server that closes sends the lines of the calls that it has begun", async () => {
  const gate = Promise.withResolvers<void>();
  const entered = Promise.withResolvers<void>();
  const pass = { handler: () => (entered.resolve(), gate.promise) };
  const engine = await createEngine({
    workers: 1,
    executor: "threads",
    tools: [ECHO, WAIT],
    capabilities: [defineCapability({ name: "gate", methods: { pass } })],
    policy: { rules: [{ allow: { gate: true } }] },
  });
  const server = await createServer(engine, { port: 0, drainMs: 5_000 });
  const response = await fetch(`${server.url}/v1/execute/batch`, {
    method: "POST",
    body: JSON.stringify({
      calls: [
        { name: "wait", arguments: {} },
        { name: "echo", arguments: {} },
      ],
    }),
    headers: { "content-type": "application/json", accept: LINES },
  });
  await entered.promise;
  const closing = server.close();
  const lines: Line[] = [];
  for await (const line of linesOf(response)) if (lines.push(line) === 1) gate.resolve();
  expect(lines.map(({ index, result }) => [index, result.success])).toEqual([
    [1, true],
    [0, true],
  ]);
  await closing;
});
