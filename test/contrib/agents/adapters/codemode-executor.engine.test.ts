import { createBrowserCodeTool, type Executor } from "@cloudflare/codemode/browser";
import { createCodeTool, tanstackTools } from "@cloudflare/codemode/tanstack-ai";
import { toolDefinition } from "@tanstack/ai";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { createCodemodeExecutor } from "../../../../src/contrib/agents/adapters/index.ts";
import { createEngine, type Engine } from "../../../../src/glovebox/index.ts";

let engine: Engine;
let executor: Executor;
beforeAll(async () => {
  engine = await createEngine({ workers: 1 });
  executor = createCodemodeExecutor(engine);
});
afterAll(() => engine.close());

const add = async (args: unknown): Promise<unknown> => {
  const { a, b } = args as { a: number; b: number };
  return a + b;
};

/** What the tests of Cloudflare's executors ask of one. */
describe("an executor of Cloudflare's codemode", () => {
  test.each([
    ["async () => 42", 42],
    ["async () => ({ a: [1, { b: 2 }] })", { a: [1, { b: 2 }] }],
    ["async () => null", null],
    ["async () => { await new Promise((done) => setTimeout(done, 1)); return 'late' }", "late"],
    ["async () => 1 // a comment at the end", 1],
    ["async () => {}", undefined],
  ])("gives the value of %s", async (code, result) => {
    expect(await executor.execute(code, [])).toEqual({ result, logs: [] });
  });

  test("has the functions of several providers, in sequence and at once", async () => {
    const providers = [
      { name: "math", fns: { add } },
      { name: "text", fns: { join: async (...parts: unknown[]) => parts.join("-") } },
    ];
    const code = `async () => {
      const sum = await math.add({ a: 1, b: 2 });
      return Promise.all([text.join("a", sum), math.add({ a: sum, b: 1 })]);
    }`;
    expect((await executor.execute(code, providers)).result).toEqual(["a-3", 4]);
  });

  test("takes functions without a provider under the name codemode", async () => {
    expect((await executor.execute("async () => codemode.add({ a: 1, b: 1 })", { add })).result).toBe(2);
  });

  test("finds functions by the names that the types of models have", async () => {
    const fns = { "get-weather": async () => "sun", "2fast": async () => "car" };
    const code = "async () => [await codemode.get_weather(), await codemode['get-weather'](), await codemode._2fast()]";
    expect((await executor.execute(code, fns)).result).toEqual(["sun", "sun", "car"]);
  });

  test("runs a provider's prelude before the program", async () => {
    const fns = { save: async (value: unknown) => value };
    const prelude = "state.twice = async (value) => [await state.save(value), await state.save(value)];";
    const { result } = await executor.execute("async () => state.twice(3)", [{ name: "state", fns, prelude }]);
    expect(result).toEqual([3, 3]);
  });

  test("calls connectors by their bindings", async () => {
    const callTool = vi.fn(async (method: string, args: unknown) => ({ method, args }));
    const { result } = await executor.execute("async () => github.list({ n: 1 })", [], {
      connectors: [{ name: "github", binding: { callTool } }],
    });
    expect(result).toEqual({ method: "list", args: { n: 1 } });
  });

  test("gives console lines, also of a program that fails", async () => {
    const code = "async () => { console.log('a', 1); console.warn('b'); console.error('c'); throw new Error('oops') }";
    expect(await executor.execute(code, [])).toEqual({
      result: undefined,
      error: "oops",
      logs: ["a 1", "[warn] b", "[error] c"],
    });
  });

  test("gives the error of a function to the program, and nothing of the host", async () => {
    const fns = {
      fail: async () => {
        throw new Error("no luck");
      },
    };
    const code = "async () => { try { await codemode.fail() } catch (error) { return [error.message, error.stack] } }";
    const [message, stack] = (await executor.execute(code, fns)).result as string[];
    expect(message).toBe("no luck");
    expect(stack).not.toContain(import.meta.dirname);
    expect((await executor.execute("async () => codemode.fail()", fns)).error).toBe("no luck");
    expect((await executor.execute("async () => codemode.nothing()", fns)).error).toBe('Tool "nothing" not found');
  });

  test.each([
    "async () => {",
    "}); (async () => {",
    "async () => { while (true) {} }",
    "async () => new Promise(() => {})",
  ])("ends %s with an error", async (code) => {
    const short = createCodemodeExecutor(engine, { limits: { wallMs: 300 } });
    const { result, error } = await short.execute(code, []);
    expect([result, typeof error]).toEqual([undefined, "string"]);
  });

  test.each(["constructor-x", "Promise", "__host", "a; alert()", ""])("refuses a provider named %j", async (name) => {
    const { error } = await executor.execute("async () => 1", [{ name, fns: {} }]);
    expect(error).toContain("cannot be the name of a provider");
  });

  test("gives a program no other way to the host", async () => {
    const code = `async () => [typeof fetch, typeof process, typeof require, typeof __host,
      await codemode.constructor().catch(() => "none"), await codemode.__proto__().catch(() => "none"), await codemode]`;
    const { result } = await executor.execute(code, { add });
    expect((result as unknown[]).slice(0, 6)).toEqual([
      "undefined",
      "undefined",
      "undefined",
      "undefined",
      "none",
      "none",
    ]);
  });
});

describe("the published package", () => {
  test("runs its tool for browsers on it", async () => {
    const inputSchema = {
      type: "object" as const,
      properties: { a: { type: "number" as const }, b: { type: "number" as const } },
    };
    const tool = createBrowserCodeTool({
      executor,
      tools: { "add-up": { description: "Adds.", inputSchema, execute: add } },
    });
    expect(tool.description).toContain("add_up");
    const code = "const sum = await codemode.add_up({ a: 20, b: 22 });\nconsole.log('added');\nsum;";
    expect(await tool.execute({ code })).toEqual({ result: 42, logs: ["added"] });
    await expect(tool.execute({ code: "throw new Error('oops')" })).rejects.toThrow("Code execution failed: oops");
  });

  test("runs tools of TanStack AI on it", async () => {
    const input = z.object({ a: z.number(), b: z.number() });
    const definition = toolDefinition({
      name: "add",
      description: "Adds.",
      inputSchema: input,
      outputSchema: z.number(),
    });
    const tool = createCodeTool({ executor, tools: [tanstackTools([definition.server(({ a, b }) => a + b)])] });
    const result = await tool.execute?.({ code: "async () => codemode.add({ a: 1, b: 2 })" });
    expect(result).toMatchObject({ result: 3 });
  });
});
