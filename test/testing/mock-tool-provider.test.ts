import { describe, expect, test } from "vitest";
import { isToolProvider, type XaiboTool } from "../../src/contrib/xaibo/index.ts";
import { MockToolProvider } from "../../src/testing/index.ts";

const tools: readonly XaiboTool[] = [{ name: "test_tool", description: "A test tool", parameters: {} }];

/** The document's mock, with failures beside it. */
const mock = () =>
  new MockToolProvider(tools, {
    test_tool: { message: "success" },
    empty_tool: null,
    broken_tool: new RangeError("out of order"),
  });

describe("the mock provider", () => {
  test("is a provider, of the tools that it was given [E03 E36]", async () => {
    expect(isToolProvider(mock())).toBe(true);
    expect(await mock().list_tools()).toEqual([{ name: "test_tool", description: "A test tool", parameters: {} }]);
  });

  test("answers what it was told to [E37]", async () => {
    const result = await mock().execute_tool("test_tool", {});
    expect(result.success).toBe(true);
    expect(result.result).toEqual({ message: "success" });
    expect(await mock().execute_tool("empty_tool", {})).toMatchObject({ success: true, result: null });
  });

  test("an error it was told is a failure with its message [E37]", async () => {
    expect(await mock().execute_tool("broken_tool", {})).toMatchObject({ success: false, error: "out of order" });
  });

  test.each(["other_tool", "toString", "__proto__"])("says of %s that it is not mocked [E37]", async (name) => {
    expect(await mock().execute_tool(name, {})).toMatchObject({ success: false, error: `Tool ${name} not mocked` });
  });

  test("remembers every call in its order, with its parameters [E36]", async () => {
    const provider = mock();
    expect(provider.call_history).toEqual([]);
    await provider.execute_tool("test_tool", { a: 1 });
    await provider.execute_tool("empty_tool", {});
    await provider.execute_tool("test_tool", { a: 2 });
    expect(provider.call_history).toEqual([
      ["test_tool", { a: 1 }],
      ["empty_tool", {}],
      ["test_tool", { a: 2 }],
    ]);
  });

  test("remembers calls that fail as well [E38]", async () => {
    const provider = mock();
    await provider.execute_tool("broken_tool", { a: 1 });
    await provider.execute_tool("other_tool", { b: 2 });
    expect(provider.call_history).toEqual([
      ["broken_tool", { a: 1 }],
      ["other_tool", { b: 2 }],
    ]);
  });
});
