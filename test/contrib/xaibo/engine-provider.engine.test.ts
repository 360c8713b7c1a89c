import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RunOptions, ToolRunner } from "../../../src/standard/contracts.ts";
import {
  isToolProvider,
  ToolError,
  ToolExecutionError,
  ToolNotFoundError,
  ToolParameterError,
  type ToolProviderProtocol,
  toolProvider,
} from "../../../src/contrib/xaibo/index.ts";
import { toolError } from "../../../src/kernel/base/errors.ts";
import { createEngine, type Engine, type ToolCall, type ToolResult } from "../../../src/glovebox/index.ts";
import { emptyMetadata, failure } from "../../../src/kernel/base/result.ts";

let engine: Engine;

beforeAll(async () => {
  const make = (name: string, source: string, more: object = {}) => ({
    name,
    description: `Does ${name}.`,
    source,
    ...more,
  });
  engine = await createEngine({
    workers: 1,
    executor: "threads",
    tools: [
      make(
        "divide_numbers",
        "export default ({ a, b }) => { if (b === 0) throw new RangeError('by zero'); return { quotient: a / b } }",
        {
          inputSchema: {
            type: "object",
            properties: { a: { type: "number" }, b: { type: "number", default: 2 } },
            required: ["a"],
          },
        },
      ),
      make("give_function", "export default () => () => 1"),
      make("give_bigint", "export default () => 10n"),
      make("give_nan", "export default () => ({ mean: 0 / 0 })"),
      make("give_cycle", "export default () => { const a = {}; a.a = a; return a }"),
      make("give_much", "export default () => 'x'.repeat(5_000)", { limits: { outputBytes: 1_000 } }),
    ],
  });
});

afterAll(() => engine.close());

const thrownBy = (provider: ToolProviderProtocol, name: string, parameters: Record<string, unknown>) =>
  provider.execute_tool(name, parameters).then(
    () => null,
    (error: unknown) => error,
  );

describe("an engine as a provider", () => {
  test("is a provider [E03]", () => {
    expect(isToolProvider(toolProvider(engine))).toBe(true);
  });

  test("lists the engine's tools with their descriptions and parameters [E01 E04]", async () => {
    const tools = await toolProvider(engine).list_tools();
    expect(tools).toHaveLength(6);
    expect(tools).toContainEqual({
      name: "divide_numbers",
      description: "Does divide_numbers.",
      parameters: { a: { type: "number", required: true }, b: { type: "number", required: false, default: 2 } },
    });
  });

  test("shows only the tools that it was told to", async () => {
    const provider = toolProvider(engine, { tools: ["give_much"] });
    expect((await provider.list_tools()).map(({ name }) => name)).toEqual(["give_much"]);
    expect((await provider.execute_tool("divide_numbers", { a: 1 })).error).toBe(
      "Tool 'divide_numbers' not found. Available tools: ['give_much']",
    );
  });

  test("executes a tool in the sandbox, with its defaults [E02 E13]", async () => {
    expect(await toolProvider(engine).execute_tool("divide_numbers", { a: 6 })).toEqual({
      success: true,
      result: { quotient: 3 },
      error: null,
    });
  });

  test.each<[string, Record<string, unknown>, new (message: string) => ToolError, string]>([
    ["no_such_tool", {}, ToolNotFoundError, "tool_not_found"],
    ["divide_numbers", { a: "six" }, ToolParameterError, "invalid_arguments"],
    ["divide_numbers", { a: 6, b: 0 }, ToolExecutionError, "tool_error"],
    ["give_much", {}, ToolExecutionError, "output_too_large"],
  ])(
    "throws for %s with %j what it would otherwise answer [E05 E06 E07 E22 F2]",
    async (name, parameters, Kind, code) => {
      const { success, error } = await toolProvider(engine).execute_tool(name, parameters);
      expect(success).toBe(false);
      const thrown = await thrownBy(toolProvider(engine, { throwOnError: true }), name, parameters);
      expect(thrown).toBeInstanceOf(Kind);
      expect(thrown).toBeInstanceOf(ToolError);
      expect(thrown).toMatchObject({ message: error, code, retryable: false });
    },
  );

  test("names the tools there are where one is not found [E05 E25]", async () => {
    const { error } = await toolProvider(engine).execute_tool("no_such_tool", {});
    expect(error).toMatch(/^Tool 'no_such_tool' not found\. Available tools: \['divide_numbers', 'give_bigint', /);
  });

  test("the engine itself throws nothing for any failure of a tool [F2]", async () => {
    const result = await engine.execute({ name: "divide_numbers", arguments: { a: 1, b: 0 } });
    expect(result).toMatchObject({
      success: false,
      error: { code: "tool_error", type: "RangeError", message: "by zero" },
    });
  });

  test("give_bigint gives the digits [E44]", async () => {
    expect((await engine.execute({ name: "give_bigint", arguments: {} })).output).toBe(10);
  });

  test.each(["give_function", "give_nan", "give_cycle"])(
    "%s gives no JSON, and that is a typed error [E44]",
    async (name) => {
      const result = await engine.execute({ name, arguments: {} });
      expect(result).toMatchObject({ success: false, error: { code: "invalid_output", type: "InvalidOutputError" } });
      expect(await thrownBy(toolProvider(engine, { throwOnError: true }), name, {})).toMatchObject({
        name: "ToolExecutionError",
        code: "invalid_output",
      });
    },
  );

  test("a result that is too large says how large it is and how large it may be [E45]", async () => {
    const { success, error } = await toolProvider(engine).execute_tool("give_much", {});
    expect(success).toBe(false);
    expect(error).toMatch(/^the output has 500\d \w+ of JSON, the limit is 1000/);
  });
});

/** A runner whose calls fail as told, one after the other, and then succeed. */
function failing(results: readonly ToolResult[], annotations: object): ToolRunner & { readonly calls: RunOptions[] } {
  const calls: RunOptions[] = [];
  const tool = { name: "t", description: "T.", inputSchema: { type: "object" }, annotations };
  return {
    calls,
    list: () => [tool],
    get: (name) => (name === "t" ? tool : undefined),
    execute: (call: ToolCall, options: RunOptions = {}) => {
      const metadata = emptyMetadata(call.id ?? "c", call.name, 0);
      const result = results[calls.length] ?? { success: true, output: "done", error: null, metadata };
      calls.push(options);
      return Promise.resolve(result);
    },
  };
}

describe("retries", () => {
  const metadata = emptyMetadata("c", "t", 0);
  const lost = failure(toolError("executor_lost", "lost"), metadata);
  const full = failure(toolError("queue_full", "full", { retryAfterMs: 1 }), metadata);
  const threw = failure(toolError("tool_error", "threw"), metadata);

  test.each<[string, object, { idempotencyKey?: string }, readonly ToolResult[], number, boolean]>([
    ["an idempotent tool's failure that may pass", { idempotent: true }, {}, [lost, full], 3, true],
    ["that of a tool that only reads", { readOnly: true }, {}, [full], 2, true],
    ["that of a call with a key", {}, { idempotencyKey: "k" }, [lost], 2, true],
    ["that of any other call", {}, {}, [lost], 1, false],
    ["a failure that will not pass", { idempotent: true }, { idempotencyKey: "k" }, [threw], 1, false],
    ["one that does not pass in time", { idempotent: true }, {}, [full, full, full], 3, false],
  ])(
    "%s: is tried again only where that is safe and may help [F12]",
    async (_what, annotations, context, results, calls, success) => {
      const runner = failing(results, annotations);
      const result = await toolProvider(runner, { retries: 2 }).execute_tool("t", {}, context);
      expect(result.success).toBe(success);
      expect(runner.calls).toHaveLength(calls);
      expect(runner.calls.every((options) => options.idempotencyKey === context.idempotencyKey)).toBe(true);
    },
  );

  test("end with the caller's signal [F12]", async () => {
    const slow = failure(toolError("queue_full", "full", { retryAfterMs: 60_000 }), metadata);
    const runner = failing([slow, slow], { idempotent: true });
    const controller = new AbortController();
    const answer = toolProvider(runner, { retries: 2 }).execute_tool("t", {}, { signal: controller.signal });
    controller.abort();
    expect((await answer).success).toBe(false);
    expect(runner.calls.length).toBeLessThanOrEqual(2);
  });
});
