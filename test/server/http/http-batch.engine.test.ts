import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEngine, defineCapability, type Engine, type ToolResult } from "../../../src/glovebox/index.ts";
import { createServer, type Server } from "../../../src/server/http/server.ts";
import { conformingFetch } from "../mcp/conformance.ts";
import { readEvents } from "../../standard/contracts/events.ts";

const ECHO = { name: "echo", description: "Gives its input back.", source: "export default (input) => input;" };
const FILL = {
  name: "fill",
  description: "Answers so many characters.",
  source: 'export default ({ length }) => "x".repeat(length);',
};
const WAIT = {
  name: "wait",
  description: "Says something, and waits until the test opens its gate.",
  source:
    'export default async (input, { host }) => { console.log("here"); await host.gate.pass(); return "passed"; };',
  capabilities: { gate: true },
};

interface Answer {
  readonly status: number;
  readonly body: { readonly results?: readonly ToolResult[]; readonly error?: ToolResult["error"] };
}

describe("a batch", () => {
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
    server = await createServer(engine, { port: 0, drainMs: 1_000, bodyBytes: 100_000, batchCalls: 100 });
  });

  afterAll(async () => {
    gate.resolve();
    await server.close();
  });

  const send = (body: unknown, init: RequestInit = {}): Promise<Response> =>
    conformingFetch(`${server.url}/v1/execute/batch`, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "content-type": "application/json", ...(init.headers as Record<string, string> | undefined) },
      ...(init.signal === undefined ? {} : { signal: init.signal }),
    });
  const post = async (body: unknown): Promise<Answer> => {
    const response = await send(body);
    return { status: response.status, body: (await response.json()) as Answer["body"] };
  };
  const stream = (calls: readonly unknown[], signal?: AbortSignal): Promise<Response> =>
    send({ calls }, { headers: { accept: "text/event-stream" }, ...(signal === undefined ? {} : { signal }) });

  test("is answered with its calls' results in their order, the bad ones' among them", async () => {
    const one = fc.oneof(
      fc.record({ name: fc.constant("echo"), arguments: fc.dictionary(fc.string(), fc.integer()) }),
      fc.record({ name: fc.constant("nobody"), arguments: fc.constant({}) }),
      fc.record({ name: fc.constant("echo"), arguments: fc.constant([]) }),
      fc.jsonValue(),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(one, { minLength: 1, maxLength: 20 }), async (calls) => {
        const { status, body } = await post({ calls });
        expect({ status, count: body.results?.length }).toEqual({ status: 200, count: calls.length });
        for (const [at, call] of calls.entries()) {
          const { name, arguments: args } = (call ?? {}) as { name?: unknown; arguments?: unknown };
          const result = body.results?.[at];
          if (name === "echo" && !Array.isArray(args)) {
            expect(result).toMatchObject({ success: true });
            expect(JSON.stringify(result?.output)).toBe(JSON.stringify(args));
          } else {
            const code = name === "nobody" ? "tool_not_found" : "invalid_arguments";
            expect(result).toMatchObject({ success: false, error: { code } });
          }
        }
      }),
      { numRuns: 50 },
    );
  });

  test("has options for all calls, and a call's own go before them", async () => {
    const call = { name: "echo", arguments: { text: "0123456789" } };
    const options = { limits: { outputBytes: 5 } };
    const own = { ...call, options: { limits: { outputBytes: 500 } } };
    const { body } = await post({ calls: [call, own], options });
    expect(body.results?.map(({ error }) => error?.code ?? "ok")).toEqual(["output_too_large", "ok"]);
  });

  test.each([
    ["a list", []],
    ["no calls", {}],
    ["an empty list of calls", { calls: [] }],
    ["more calls than the operator allows", { calls: Array.from({ length: 101 }, () => ({ name: "echo" })) }],
    ["something that a batch does not have", { calls: [{ name: "echo" }], call: 1 }],
    ["options that there are not", { calls: [{ name: "echo" }], options: { tenants: "a" } }],
    ["one key for all calls", { calls: [{ name: "echo" }], options: { idempotencyKey: "k" } }],
  ])("is refused as a whole where it is or has %s", async (_, body) => {
    const answer = await post(body);
    expect(answer).toMatchObject({ status: 400, body: { success: false, error: { code: "invalid_arguments" } } });
  });

  test("is refused as a whole where its request has a key, which would be that of one call", async () => {
    const response = await send({ calls: [{ name: "echo" }] }, { headers: { "idempotency-key": "k" } });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ success: false, error: { code: "invalid_arguments" } });
  });

  test("is refused as a whole where its body is too large", async () => {
    const calls = Array.from({ length: 50 }, () => ({ name: "echo", arguments: { text: "x".repeat(2_500) } }));
    expect(await post({ calls })).toMatchObject({ status: 413, body: { error: { code: "input_too_large" } } });
  });

  test("does not answer more than the largest result may have", async () => {
    const length = 1_000_000;
    const calls = Array.from({ length: 70 }, () => ({ name: "fill", arguments: { length } }));
    const { body } = await post({ calls });
    const [whole, cut] = [true, false].map((success) => body.results?.filter((one) => one.success === success) ?? []);
    expect(whole?.length).toBe(Math.floor((64 * 1024 * 1024) / (length + 200)));
    expect(new Set(cut?.map(({ error }) => error?.code))).toEqual(new Set(["output_too_large"]));
    expect(body.results?.length).toBe(70);
  });

  test("that is streamed has its results as they come, each with the place of its call", async () => {
    gate = Promise.withResolvers();
    const response = await stream([{ name: "wait", arguments: {} }, { name: "echo", arguments: { a: 1 } }, 1]);
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    const events = readEvents(response.body);
    const seen: { event: string; index?: number; result?: ToolResult }[] = [];
    for await (const { event, data } of events) {
      seen.push({ event, ...(JSON.parse(data) as { index: number }) });
      if (seen.length === 3) gate.resolve();
    }
    expect(seen.slice(0, 3).toSorted((a, b) => (a.index ?? 0) - (b.index ?? 0))).toMatchObject([
      { event: "log", index: 0, message: "here" },
      { event: "result", index: 1, result: { success: true, output: { a: 1 } } },
      { event: "result", index: 2, result: { success: false, error: { code: "invalid_arguments" } } },
    ]);
    expect(seen.slice(3)).toMatchObject([
      { event: "capability", index: 0, capability: "gate" },
      { event: "result", index: 0, result: { success: true, output: "passed" } },
    ]);
  });

  test.each(["in one piece", "as a stream"])(
    "that is answered %s is cancelled when its client goes away",
    async (how) => {
      gate = Promise.withResolvers();
      waiting = 0;
      const codes: (string | undefined)[] = [];
      const ended = Promise.withResolvers<void>();
      const listener = ({ result }: { result: ToolResult }) => {
        if (codes.push(result.error?.code) === 5) ended.resolve();
      };
      engine.on("tool:error", listener);
      const client = new AbortController();
      const calls = Array.from({ length: 5 }, () => ({ name: "wait", arguments: {} }));
      const headers = { accept: how === "as a stream" ? "text/event-stream" : "application/json" };
      const answer = send({ calls }, { headers, signal: client.signal }).then((response) => response.text());
      await expect.poll(() => waiting, { timeout: 60_000 }).toBe(5);
      client.abort();
      await expect(answer).rejects.toThrow(/abort/);
      await ended.promise;
      engine.off("tool:error", listener);
      expect(codes).toEqual(Array.from({ length: 5 }, () => "cancelled"));
    },
  );

  test("is refused where no type of answer suits", async () => {
    const response = await send({ calls: [{ name: "echo" }] }, { headers: { accept: "application/xml" } });
    expect(response.status).toBe(406);
    await response.text();
  });
});
