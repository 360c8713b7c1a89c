import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  guardedProvider,
  isToolProvider,
  ToolError,
  ToolExecutionError,
  ToolNotFoundError,
  ToolParameterError,
} from "../../../src/contrib/xaibo/index.ts";

const GREET = {
  name: "greet_person",
  description: "Greets somebody by name.",
  parameters: {
    name: { type: "string", description: "Whom", required: true },
    times: { type: "integer", description: "How often", required: false, default: 1 },
  },
} as const;
const FAIL = { name: "fail_always", description: "Fails whatever it is given." };

/** A provider that notes what reaches its own function. */
function providerThatNotes({ throwOnError = false }: { readonly throwOnError?: boolean } = {}) {
  const reached: unknown[] = [];
  const provider = guardedProvider({
    tools: [GREET, FAIL],
    throwOnError,
    execute: (name, parameters) => {
      reached.push([name, parameters]);
      if (name === "fail_always") throw new RangeError("out of luck");
      return { text: `Hello ${String(parameters["name"])}` };
    },
  });
  return { provider, reached };
}

describe("the guard", () => {
  test.each<[string, unknown, boolean]>([
    ["an object with both methods", { list_tools: () => [], execute_tool: () => ({}) }, true],
    ["what inherits them", Object.create({ list_tools() {}, execute_tool() {} }), true],
    ["a guarded provider", providerThatNotes().provider, true],
    ["what only lists", { list_tools: () => [] }, false],
    ["what only executes", { execute_tool: () => ({}) }, false],
    ["what has values of these names", { list_tools: [], execute_tool: {} }, false],
    ["nothing", null, false],
    ["a text", "list_tools execute_tool", false],
  ])("%s: whether it is a provider is decided by its methods [E03]", (_what, value, expected) => {
    expect(isToolProvider(value)).toBe(expected);
  });
});

describe("the error classes", () => {
  test.each([ToolNotFoundError, ToolExecutionError, ToolParameterError])("%o is a ToolError [E21]", (Kind) => {
    const error = new Kind("no", { code: "tool_error", retryable: true, details: { a: 1 } });
    expect(error).toBeInstanceOf(ToolError);
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({ name: Kind.name, message: "no", code: "tool_error", retryable: true });
    expect(new ToolError("no")).not.toBeInstanceOf(Kind);
  });
});

describe("a guarded provider", () => {
  test("lists its tools [E01 E04]", async () => {
    expect(await providerThatNotes().provider.list_tools()).toEqual([GREET, FAIL]);
  });

  test("wraps what its function makes, and fills in defaults [E02 E28]", async () => {
    const { provider, reached } = providerThatNotes();
    const given = { name: "Ada" };
    expect(await provider.execute_tool("greet_person", given)).toEqual({
      success: true,
      result: { text: "Hello Ada" },
      error: null,
    });
    expect(reached).toEqual([["greet_person", { name: "Ada", times: 1 }]]);
    expect(given).toEqual({ name: "Ada" });
  });

  test("tells which tools exist where none has the name, whatever the parameters [E25 E28]", async () => {
    const { provider, reached } = providerThatNotes();
    expect(await provider.execute_tool("greet", { times: "many" })).toEqual({
      success: false,
      result: null,
      error: "Tool 'greet' not found. Available tools: ['greet_person', 'fail_always']",
    });
    expect(reached).toEqual([]);
  });

  test("tells what is wrong with parameters before anything is executed [E22 E26 E28]", async () => {
    const { provider, reached } = providerThatNotes();
    const { success, error } = await provider.execute_tool("greet_person", { times: 1.5 });
    expect(success).toBe(false);
    expect(error).toMatch(/name/);
    expect(error).toMatch(/\/times must be integer/);
    expect(reached).toEqual([]);
  });

  test("tells what its function throws as unexpected [E27]", async () => {
    const { provider } = providerThatNotes();
    const { error } = await provider.execute_tool("fail_always", {});
    expect(error).toBe("Unexpected error: out of luck");
  });

  test.each<[string, Record<string, unknown>, new (message: string) => ToolError]>([
    ["greet", {}, ToolNotFoundError],
    ["greet_person", {}, ToolParameterError],
    ["fail_always", {}, ToolExecutionError],
  ])(
    "throws for %j what it would otherwise answer, word for word [E05 E06 E07 E22]",
    async (name, parameters, Kind) => {
      const { error: words } = await providerThatNotes().provider.execute_tool(name, parameters);
      const thrown = await providerThatNotes({ throwOnError: true })
        .provider.execute_tool(name, parameters)
        .catch((error: unknown) => error);
      expect(thrown).toBeInstanceOf(Kind);
      expect(thrown).toMatchObject({ message: words });
    },
  );

  const cycle: Record<string, unknown> = {};
  cycle["self"] = [cycle];
  test.each<[string, unknown, string]>([
    ["a function", { run: () => 1 }, "/run is a function"],
    ["a BigInt", [1n], "/0 is a BigInt"],
    ["a cycle", cycle, "/self/0 is a part of itself"],
    ["a symbol", Symbol("s"), "it is a symbol"],
  ])("refuses a result with %s in it [E44]", async (_what, value, problem) => {
    const parts = { tools: [FAIL], execute: () => value };
    const { success, error } = await guardedProvider(parts).execute_tool("fail_always", {});
    expect({ success, error }).toEqual({
      success: false,
      error: `Unexpected error: the result cannot be written as JSON: ${problem}`,
    });
    await expect(
      guardedProvider({ ...parts, throwOnError: true }).execute_tool("fail_always", {}),
    ).rejects.toBeInstanceOf(ToolExecutionError);
  });

  test("answers with a result whatever it is asked, and throws nothing [E07 E47]", async () => {
    const { provider } = providerThatNotes();
    const bad = Object.defineProperty({}, "name", { enumerable: true, get: () => expect.fail("a trap") });
    const asked = fc.oneof(
      fc.anything({ withNullPrototype: true }),
      fc.constant(bad),
      fc.constant(cycle),
      fc.constant({ name: 1n }),
    );
    const names = fc.oneof(
      fc.constantFrom("greet_person", "fail_always", "__proto__"),
      fc.anything({ withNullPrototype: true }),
    );
    await fc.assert(
      fc.asyncProperty(names, asked, async (name, parameters) => {
        const result = await provider.execute_tool(name as string, parameters as Record<string, unknown>);
        expect(Object.keys(result)).toEqual(["success", "result", "error"]);
        expect(result.success ? result.error : typeof result.error).toBe(result.success ? null : "string");
      }),
    );
  });

  test("takes a value that is in two places, which is no cycle", async () => {
    const twice = { a: 1 };
    const provider = guardedProvider({ tools: [FAIL], execute: () => [twice, twice] });
    expect(await provider.execute_tool("fail_always", {})).toMatchObject({ success: true, result: [twice, twice] });
  });

  test("waits for its function no longer than it was told to, and no longer than the caller does", async () => {
    const never = () => new Promise(() => undefined);
    const short = guardedProvider({ tools: [FAIL], execute: never, callMs: 5 });
    expect(await short.execute_tool("fail_always", {})).toMatchObject({
      error: "Unexpected error: Tool 'fail_always' took longer than 5 ms",
    });
    const long = guardedProvider({ tools: [FAIL], execute: never });
    expect(await long.execute_tool("fail_always", {}, { signal: AbortSignal.abort() })).toMatchObject({
      error: "Unexpected error: Tool 'fail_always' is not waited for any more: the call was cancelled",
    });
  });

  test("refuses two tools of one name [E09]", () => {
    expect(() => guardedProvider({ tools: [FAIL, FAIL], execute: () => 1 })).toThrow(
      'is "fail_always", as is another tool\'s',
    );
  });
});
