import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEngine, type Engine } from "../../../../src/glovebox/index.ts";
import type { ExecuteOptions } from "../../../../src/kernel/engine/execute-options.ts";
import { ProgramCalls } from "../../../../src/code-mode/result.ts";
import type { ProgramCall } from "../../../../src/kernel/broker/capabilities/program-tools.ts";
import { buildProgram } from "../../../../src/kernel/tool/program/build.ts";
import { runProgram } from "./run-program.ts";

let engine: Engine;
beforeAll(async () => {
  engine = await createEngine({
    workers: 1,
    tools: [
      {
        name: "math.add",
        description: "Adds.",
        inputSchema: {
          type: "object",
          properties: { a: { type: "number" }, b: { type: "number" } },
          required: ["a", "b"],
        },
        source: "export default ({ a, b }) => ({ sum: a + b });",
      },
      { name: "geo-find", description: "Finds.", source: "export default ({ place }) => place;" },
      { name: "fail", description: "Fails.", source: "export default () => { throw new RangeError('no luck'); };" },
    ],
  });
});
afterAll(() => engine.close());

async function run(code: string, { input = null as unknown, options = {} as ExecuteOptions, resultChars = 500 } = {}) {
  const calls = new ProgramCalls();
  const tools = {
    refuse: () => undefined,
    search: (query: unknown) => query,
    onCall: (call: ProgramCall) => calls.begin(call),
  };
  const { text } = await buildProgram(code, "");
  const result = await runProgram(
    engine,
    { kind: "tools", code: text, input, resultChars, limits: {}, tools },
    options,
  );
  return { ...result, calls: calls.list(0).map(({ tool, code: ended }) => `${tool}: ${ended}`) };
}

describe("a program", () => {
  test("calls tools by their names, one after the other and at once", async () => {
    const { output, calls } = await run(
      `const { sum } = await tools.math.add({ a: 1, b: 2 });
       const places = await Promise.all(["x", "y"].map((place) => tools["geo-find"]({ place })));
       return { sum, places };`,
    );
    expect(output).toEqual({ value: { sum: 3, places: ["x", "y"] }, warnings: [] });
    expect(calls).toEqual(["math.add: ok", "geo-find: ok", "geo-find: ok"]);
  });

  test("gets its input, and has console and search_tools", async () => {
    const { output, metadata } = await run("console.log('seen'); return [input.n, await search_tools('add')]", {
      input: { n: 4 },
    });
    expect(output).toEqual({ value: [4, { query: "add" }], warnings: [] });
    expect(metadata.logs).toEqual([{ level: "log", message: "seen" }]);
  });

  test("may catch the failure of a tool, which has its tool, code and message", async () => {
    const { output } = await run(
      `try { await tools.fail() } catch (error) {
         return [error instanceof ToolError, error.name, error.tool, error.code, error.message];
       }`,
    );
    expect(output).toEqual({ value: [true, "ToolError", "fail", "tool_error", "no luck"], warnings: [] });
  });

  test("fails with the line of the call whose failure it does not catch", async () => {
    const { error } = await run("const a: number = 1;\n\n  const b = await tools.fail({ a });\nreturn b;");
    expect(error).toMatchObject({
      code: "tool_error",
      type: "ToolError",
      message: "no luck",
      details: { stack: "ToolError: no luck\n    at eval (program.ts:3:25)" },
    });
  });

  test("fails with its own line where it throws itself", async () => {
    const { error } = await run("const rows: string[] = [];\n\n\n\n\n\nreturn rows[0].length;");
    expect(error?.details).toMatchObject({ stack: expect.stringContaining("program.ts:7:16") as string });
  });

  test("that does not wait for a call ends after it, with a warning where it failed", async () => {
    const { output, calls } = await run("tools.math.add({ a: 1, b: 2 }); tools.fail(); return 1");
    expect(output).toEqual({ value: 1, warnings: ["a call that was not awaited failed: fail: no luck"] });
    expect(calls.toSorted()).toEqual(["fail: tool_error", "math.add: ok"]);
  });

  test("with a long result gives a preview of the same form, and says how long it is", async () => {
    const { output } = await run("return Array.from({ length: 1_000 }, (_, i) => ({ i, text: 'row ' + i }))");
    const { value, truncated } = output as { value: unknown[]; truncated: unknown };
    expect(value.slice(0, 2)).toEqual([
      { i: 0, text: "row 0" },
      { i: 1, text: "row 1" },
    ]);
    expect(value).toContain("… 990 more …");
    expect(value.at(-1)).toEqual({ i: 999, text: "row 999" });
    expect(truncated).toEqual({ chars: 26_781, kept: expect.any(Number) as number });
  });

  test("with a result that is no JSON fails as any tool", async () => {
    expect((await run("return [() => 5]")).error?.code).toBe("invalid_output");
  });

  test("is strict: a name that is not declared is a mistake", async () => {
    expect((await run("total = 1; return total")).error).toMatchObject({ type: "ReferenceError" });
  });

  test("calls only tools of its caller", async () => {
    const options = { tools: ["run_code", "geo-*"] };
    const { error } = await run(
      "return [await tools['geo-find']({ place: 1 }), await tools.math.add({ a: 1, b: 1 })]",
      {
        options,
      },
    );
    expect(error?.message).toBe('there is no tool "math.add"');
  });
});

test.each([
  "fetch('https://example.com')",
  "new XMLHttpRequest()",
  "require('fs')",
  "process.exit()",
  "host.kv.get('a')",
])("a program has nothing outside its tools: %s", async (code) => {
  expect((await run(`return await ${code}`)).error).toMatchObject({ type: "ReferenceError" });
});
