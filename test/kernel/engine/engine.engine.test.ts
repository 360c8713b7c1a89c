import { getEventListeners } from "node:events";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import {
  createEngine,
  defineCapability,
  type Engine,
  type GloveboxError,
  type Policy,
  type ToolDefinition,
  type ToolResult,
} from "../../../src/glovebox/index.ts";

let engine: Engine;
const counted: string[] = [];

const counter = defineCapability({
  name: "counter",
  methods: {
    add: {
      input: { type: "object", properties: { by: { type: "integer" } }, required: ["by"], additionalProperties: false },
      output: { type: "integer" },
      handler: ({ by }: { by: number }, { callId, tenant }) => {
        counted.push(`${callId} ${tenant ?? "-"} ${by}`);
        if (by === 13) throw new Error("unlucky: see /etc/secret/place for why");
        if (by === 14) return "not an integer" as never;
        if (by === 15) throw Object.assign(new Error("x"), { message: { code: 1 } });
        if (by === 16) throw Object.create(null);
        return by;
      },
    },
  },
});

beforeAll(async () => {
  engine = await createEngine({
    workers: 1,
    capabilities: [counter],
    policy: { rules: [{ tools: ["counts*"], allow: { counter: true } }] },
  });
});
afterAll(() => engine.close());

let names = 0;

async function tool(source: string, more: Partial<ToolDefinition> = {}): Promise<string> {
  const name = more.name ?? `tool-${++names}`;
  await engine.register({ name, description: "a tool of these tests", source, ...more });
  return name;
}

async function call(source: string, args: Record<string, unknown> = {}, more: Partial<ToolDefinition> = {}) {
  return engine.execute({ name: await tool(source, more), arguments: args });
}

const codeOf = (result: ToolResult) => result.error?.code ?? "ok";

describe("a call", () => {
  test("gives the tool's output, and what it cost", async () => {
    const result = await call("export default ({ a, b }) => ({ sum: a + b });", { a: 1, b: 2 });
    expect(result).toMatchObject({ success: true, output: { sum: 3 }, error: null });
    expect(result.metadata).toMatchObject({ attempts: 1, logs: [], tool: expect.stringMatching(/^tool-/) });
    expect(result.metadata.cpuMs).toBeGreaterThan(0);
    expect(result.metadata.heapBytes).toBeGreaterThan(0);
  });

  test("keeps the caller's id, and makes one where it is missing", async () => {
    const name = await tool("export default (i, { callId }) => callId;");
    expect(await engine.execute({ id: "mine", name, arguments: {} })).toMatchObject({
      output: "mine",
      metadata: { callId: "mine" },
    });
    const unnamed = await engine.execute({ name, arguments: {} });
    expect(unnamed.output).toBe(unnamed.metadata.callId);
  });

  test("lists every violation of the arguments with a pointer, what was expected and what came", async () => {
    const inputSchema = {
      type: "object",
      properties: { count: { type: "integer" }, unit: { enum: ["m", "km"] } },
      required: ["count", "unit"],
    };
    const result = await call("export default () => 1;", { count: "five" }, { inputSchema });
    expect(codeOf(result)).toBe("invalid_arguments");
    const details = result.error?.details as { violations: { pointer: string }[] } | undefined;
    expect(details?.violations.map(({ pointer }) => pointer).toSorted()).toEqual(["/count", "/unit"]);
    expect(result.error?.message).toContain("/count must be integer");
    expect(result.metadata.attempts).toBe(0);
  });

  test.each([
    [
      "a name",
      {
        get name(): string {
          throw new Error("no");
        },
        arguments: {},
      },
    ],
    [
      "arguments",
      {
        name: "any",
        get arguments(): Record<string, unknown> {
          throw new Error("no");
        },
      },
    ],
  ])("answers a call whose %s cannot be read", async (what, hostile) => {
    const name = await tool("export default () => 1;");
    const given = what === "arguments" ? Object.defineProperty(hostile, "name", { value: name }) : hostile;
    expect(codeOf(await engine.execute(given))).toBe("invalid_arguments");
  });

  test("fills in defaults without touching the caller's object", async () => {
    const inputSchema = { type: "object", properties: { unit: { type: "string", default: "km" } } };
    const args = {};
    const result = await call("export default (input) => input;", args, { inputSchema });
    expect(result.output).toEqual({ unit: "km" });
    expect(args).toEqual({});
  });

  test("checks the output against the tool's schema", async () => {
    const result = await call(
      "export default () => ({ n: 'x' });",
      {},
      {
        outputSchema: { type: "object", properties: { n: { type: "number" } } },
      },
    );
    expect(codeOf(result)).toBe("invalid_output");
    expect(result.error?.details).toHaveProperty("violations.0.pointer", "/n");
  });

  test("points the stack of an exception at the tool's own line", async () => {
    const source =
      "interface Input { deep: boolean }\n\nconst fail = (): never => {\n  throw new RangeError('no');\n};\n\nexport default (input: Input) => fail();\n";
    const result = await call(source);
    expect(result.error).toMatchObject({ code: "tool_error", type: "RangeError", message: "no" });
    const details = result.error?.details as { stack: string } | undefined;
    const stack = details?.stack;
    expect(stack).toMatch(/at fail \([\w.-]+:4:9\)/);
    expect(stack).not.toMatch(/prelude|node_modules|file:|\/src\//);
  });

  test("is cancelled by its signal while it runs, and before", async () => {
    const name = await tool("export default () => new Promise(() => {});");
    const abort = new AbortController();
    const running = engine.execute({ name, arguments: {} }, { signal: abort.signal });
    setTimeout(() => abort.abort(), 30);
    expect(codeOf(await running)).toBe("cancelled");
    expect(codeOf(await engine.execute({ name, arguments: {} }, { signal: abort.signal }))).toBe("cancelled");
  });

  test("is cancelled by a signal that it shares with others, which put one listener on it", async () => {
    const name = await tool("export default ({ ends }) => (ends ? 1 : new Promise(() => {}));");
    const [shared, other] = [new AbortController(), new AbortController()];
    const run = (ends: boolean, { signal }: AbortController) =>
      engine.execute({ name, arguments: { ends } }, { signal });
    const running = [run(false, shared), run(true, shared), run(false, shared)];
    expect(getEventListeners(shared.signal, "abort")).toHaveLength(1);
    expect((await running[1])?.success).toBe(true);
    const [after, alone] = [run(false, shared), run(false, other)];
    shared.abort();
    expect((await Promise.all([...running, after])).map(codeOf)).toEqual(["cancelled", "ok", "cancelled", "cancelled"]);
    expect(getEventListeners(shared.signal, "abort")).toHaveLength(0);
    other.abort();
    expect(codeOf(await alone)).toBe("cancelled");
    await vi.waitFor(() => expect(engine.stats().running).toBe(0), { timeout: 120_000 });
  });

  test.each([
    ["signal", { signal: new AbortController() }],
    ["tenant", { tenant: 7 }],
    ["onLog", { onLog: "loud" }],
    ["onProgress", { onProgress: 1 }],
  ])("is refused where its %s is invalid, and costs no slot", async (option, options) => {
    const name = await tool("export default () => 1;");
    const refused = await engine.execute({ name, arguments: {} }, options as never);
    expect(refused.error).toMatchObject({ code: "invalid_arguments", message: expect.stringContaining(option) });
    expect(engine.stats()).toMatchObject({ running: 0, queued: 0 });
  });

  test("has its limits narrowed by the caller, and never widened beyond the ceiling", async () => {
    const name = await tool("export default () => { for (;;); };");
    expect(codeOf(await engine.execute({ name, arguments: {} }, { limits: { cpuMs: 20 } }))).toBe("cpu_limit");
    const wrong = await engine.execute({ name, arguments: {} }, { limits: { cpuMs: -1 } });
    expect(wrong.error).toMatchObject({ code: "invalid_arguments", message: expect.stringContaining("limits.cpuMs") });
  });

  test("is refused by a listener of tool:pre with the listener's reason", async () => {
    const name = await tool("export default () => 1;");
    const listener = (event: { tool: string; block(reason: string): void }) => {
      if (event.tool === name) event.block("not today");
    };
    engine.on("tool:pre", listener);
    const result = await engine.execute({ name, arguments: {} });
    engine.off("tool:pre", listener);
    expect(result.error).toMatchObject({ code: "blocked", message: "not today" });
    expect(codeOf(await engine.execute({ name, arguments: {} }))).toBe("ok");
  });

  test("is not harmed by a listener that throws", async () => {
    const listener = () => {
      throw new Error("a listener's own");
    };
    engine.on("tool:post", listener);
    const result = await call("export default () => 1;");
    engine.off("tool:post", listener);
    expect(result.success).toBe(true);
  });
});

describe("bad input", () => {
  test("answers a call whose options are invalid", async () => {
    const name = await tool("export default () => 1");
    expect(codeOf(await engine.execute({ name, arguments: {} }, null as never))).toBe("invalid_arguments");
  });

  const bad: [what: string, source: string, code: string][] = [
    ["a cyclic result", "export default () => { const a = {}; a.a = a; return a; };", "invalid_output"],
    ["a result that is no number", "export default () => ({ n: 0 / 0 });", "invalid_output"],
    ["a result of 300 MB", "export default () => 'x'.repeat(300e6);", "output_too_large"],
    ["a tool that throws only in calls", "let n; export default () => n.x;", "tool_error"],
  ];
  test.each(bad)("%s is a result with its code", async (_what, source, code) => {
    const result = await call(source);
    expect(codeOf(result)).toBe(code);
    expect(result.error?.message).not.toBe("");
  });

  test("a result nested so deeply that writing it as JSON would overflow the stack is invalid_output", async () => {
    const result = await call(
      "export default () => { let a = []; for (let i = 0; i < 5_000; i++) a = [a]; return a; };",
    );
    expect(codeOf(result)).toBe("invalid_output");
  });

  test("an unknown tool is tool_not_found", async () => {
    expect(codeOf(await engine.execute({ name: "nowhere", arguments: {} }))).toBe("tool_not_found");
  });

  test("an argument of 10 MB is input_too_large", async () => {
    const result = await call("export default () => 1;", { text: "x".repeat(10 * 1024 * 1024) });
    expect(result.error).toMatchObject({ code: "input_too_large", message: expect.stringContaining("limit") });
  });

  test.each([
    [
      "cyclic arguments",
      () => {
        const a: Record<string, unknown> = {};
        a["a"] = a;
        return a;
      },
    ],
    ["arguments that are no numbers", () => ({ n: Number.NaN })],
    ["arguments that are a list", () => [] as unknown as Record<string, unknown>],
    ["arguments that are text", () => "text" as unknown as Record<string, unknown>],
  ])("%s are invalid_arguments", async (_what, make) => {
    expect(codeOf(await call("export default () => 1;", make()))).toBe("invalid_arguments");
  });

  test.each([
    ["does not parse", "export default (", /line|:1:/],
    ["exports nothing", "const a = 1;", /default/],
    ["throws at load", "throw new Error('too early'); export default () => 1;", /too early/],
    ["imports a module that Node has not", "import x from 'node:x'; export default () => x;", /node:x/],
  ])("a tool that %s is not registered, and the error says why", async (_what, source, message) => {
    const registering = engine.register({ name: "broken", description: "broken", source });
    await expect(registering).rejects.toMatchObject({ code: "load_error", message: expect.stringMatching(message) });
    expect(engine.get("broken")).toBeUndefined();
  });

  test("a schema that is invalid is not registered, and the error points into it", async () => {
    const inputSchema = { type: "object", properties: { a: { type: "no such type" } } };
    const registering = engine.register({
      name: "broken",
      description: "b",
      source: "export default () => 1;",
      inputSchema,
    });
    await expect(registering).rejects.toMatchObject({
      code: "load_error",
      message: expect.stringContaining("/properties/a"),
    });
  });
});

describe("registration", () => {
  test("replaces a tool atomically: calls in flight end on the old version", async () => {
    const source = (version: number) =>
      `export default async () => { await new Promise((done) => setTimeout(done, 100)); return ${version}; };`;
    const name = await tool(source(1));
    const old = Array.from({ length: 5 }, () => engine.execute({ name, arguments: {} }));
    await engine.register({ name, description: "newer", source: source(2) });
    const young = Array.from({ length: 5 }, () => engine.execute({ name, arguments: {} }));
    expect((await Promise.all(old)).map(({ output }) => output)).toEqual([1, 1, 1, 1, 1]);
    expect((await Promise.all(young)).map(({ output }) => output)).toEqual([2, 2, 2, 2, 2]);
  });

  test("works while calls run", async () => {
    const name = await tool("export default ({ n }) => n;");
    const outputs = await Promise.all(
      Array.from({ length: 50 }, async (_, n) => {
        if (n % 10 === 0) await tool("export default () => 1;");
        return (await engine.execute({ name, arguments: { n } })).output;
      }),
    );
    expect(outputs).toEqual(Array.from({ length: 50 }, (_, n) => n));
  });

  test("takes a hundred tools at once, and each answers with its own", async () => {
    const all = Array.from({ length: 100 }, (_, n) => tool(`export default () => ${n};`));
    const hundred = await Promise.all(all);
    const results = await Promise.all(hundred.map((name) => engine.execute({ name, arguments: {} })));
    expect(results.map(({ output }) => output)).toEqual(Array.from({ length: 100 }, (_, n) => n));
  });

  test("says in the tool's info that it cannot load in a hardened realm, and runs it in a context of its own", async () => {
    const name = await tool(
      "Array.prototype.last = function () { return this[this.length - 1]; }; export default () => [1, 2].last();",
    );
    expect(engine.get(name)).toMatchObject({ isolation: "context", isolationReason: expect.any(String) });
    expect(await engine.execute({ name, arguments: {} })).toMatchObject({ output: 2 });
  });

  test("is undone by unregister", async () => {
    const name = await tool("export default () => 1;");
    expect(await engine.unregister(name)).toBe(true);
    expect(await engine.unregister(name)).toBe(false);
    expect(codeOf(await engine.execute({ name, arguments: {} }))).toBe("tool_not_found");
  });
});

describe("a capability", () => {
  const source = "export default async ({ by }, { host }) => host.counter.add({ by });";
  const counts = () => tool(source, { name: `counts-${++names}`, capabilities: { counter: true } });

  test("answers a tool that asks for it and is allowed it, with the call's identity", async () => {
    const name = await counts();
    const result = await engine.execute({ id: "who", name, arguments: { by: 2 } }, { tenant: "acme" });
    expect(result.output).toBe(2);
    expect(counted).toContain("who acme 2");
  });

  test.each([
    ["that does not ask for it", {}, "other"],
    ["that no policy rule speaks of", { counter: true }, "other"],
  ])("is denied to a tool %s", async (_what, capabilities, prefix) => {
    const name = await tool(source, { name: `${prefix}-${++names}`, capabilities });
    expect(codeOf(await engine.execute({ name, arguments: { by: 1 } }))).toBe("capability_denied");
  });

  test("is denied to a call that is narrowed to less", async () => {
    const result = await engine.execute({ name: await counts(), arguments: { by: 1 } }, { capabilities: {} });
    expect(codeOf(result)).toBe("capability_denied");
  });

  test.each([
    ["wrong arguments", { by: "x" }],
    ["a handler that throws", { by: 13 }],
    ["an answer its schema does not allow", { by: 14 }],
    ["a handler whose error has no message that is text", { by: 15 }],
    ["a handler that throws what cannot be read", { by: 16 }],
  ])("fails for %s, without telling paths of the host", async (_what, args) => {
    const result = await engine.execute({ name: await counts(), arguments: args });
    expect(codeOf(result)).toBe("capability_failed");
    expect(JSON.stringify(result)).not.toContain("/etc");
  });
});

test("what a called tool failed with carries nothing from one call to the next", async () => {
  await using own = await createEngine({
    executor: "threads",
    workers: 1,
    policy: { rules: [{ allow: { tools: ["fails"] } }] },
  });
  const [description, capabilities] = ["a tool of this test", { tools: ["fails"] }];
  await own.register({ name: "fails", description, source: "export default () => { throw new Error('no'); }" });
  const source = `export default async (_, { host }) => {
    const error = await host.tools.fails().catch((thrown) => thrown);
    const shared = [error.constructor, Object.getPrototypeOf(error)];
    const before = shared.map((each) => each.left ?? "nothing");
    for (const each of shared) { try { each.left = "something"; } catch {} }
    return [error.toolCode, ...before];
  }`;
  await own.register({ name: "calls", description, source, capabilities });
  for (const _ of [1, 2]) {
    const { output } = await own.execute({ name: "calls", arguments: {} });
    expect(output).toEqual(["tool_error", "nothing", "nothing"]);
  }
});

describe("a policy that is invalid", () => {
  test.each([
    ["rules that are no list", { rules: 5 }, "policy.rules"],
    ["names that are no list", { rules: [{ tools: 5, allow: { env: ["A"] } }] }, "policy.rules[0].tools"],
    ["a rule that allows nothing", { rules: [{ allow: { env: ["A"] } }, { tools: ["x"] }] }, "policy.rules[1].allow"],
    ["a list that is misspelt", { rules: [{ tool: ["x"], allow: { env: ["A"] } }] }, "policy.rules[0].tool"],
    ["a setting that is gone", { rules: [{ allow: {}, onMachines: ["kv"] }] }, "policy.rules[0].onMachines"],
    ["a rule that is nothing", { rules: [null] }, "policy.rules[0]"],
    ["something else beside its rules", { rules: [], rule: [] }, "policy.rule"],
    ["a value that is invalid", { rules: [{ allow: { env: ["A", 5] } }] }, "policy.rules[0].allow.env/1"],
  ])("keeps the engine from starting: %s", async (_what, policy, where) => {
    const starting = createEngine({ workers: 1, executor: "threads", policy: policy as unknown as Policy });
    await expect(starting).rejects.toThrow(where);
    await expect(starting).rejects.toBeInstanceOf(TypeError);
  });
});

describe("names of capabilities", () => {
  test("are bounded before they leave the isolate", async () => {
    const source =
      "export default async (i, { host }) => { try { await host['a'.repeat(1e6)].b(); } catch (e) { return e.name; } };";
    expect((await call(source)).output).toBe("TypeError");
  });
});

describe("closing", () => {
  test.each(["process", "threads"] as const)(
    "ends a registration that is under way, in the %s executor",
    async (executor) => {
      const closing = await createEngine({ workers: 1, executor });
      const registering = closing
        .register({ name: "late", description: "l", source: "export default () => 1;" })
        .catch((error: GloveboxError) => error.code);
      await closing.close({ drainMs: 0 });
      expect(await registering).toBe("engine_closed");
    },
  );
});

describe("metrics", () => {
  test("count calls by tool and code, and never make a label of an unknown name", async () => {
    const name = await tool("export default () => 1;");
    await engine.execute({ name, arguments: {} });
    await engine.execute({ name: "made up\n{}", arguments: {} });
    const text = await engine.metrics();
    expect(text).toContain(`glovebox_calls_total{tool="${name}",code="ok"} 1`);
    expect(text).toMatch(/^glovebox_rejections_total\{code="tool_not_found"\} [1-9]/m);
    expect(text).not.toContain("made up");
  });

  test("have every name of the contract", async () => {
    const text = await engine.metrics();
    const names =
      "calls_total queue_depth queue_wait_seconds calls_in_flight call_duration_seconds cpu_seconds_total dispatch_batch_size isolates isolate_starts_total isolate_heap_bytes executor_restarts_total executor_rss_bytes capability_calls_total rejections_total quarantined_tools";
    for (const each of names.split(" ")) expect(text).toContain(`# TYPE glovebox_${each} `);
  });
});
