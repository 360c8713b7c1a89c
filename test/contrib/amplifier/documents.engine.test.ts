import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { amplifier, ToolResult } from "../../../src/contrib/amplifier/index.ts";
import type { Engine } from "../../../src/glovebox/index.ts";
import { refusalOf, temporaryFolder } from "../../kernel/tool/temporary.ts";
import { moduleAt, moduleOf, openEngine } from "./modules.ts";

let engine: Engine;

beforeAll(async () => {
  engine = await openEngine();
  for (const name of ["my_tool", "graceful", "token_aware"]) await engine.register(moduleAt(name));
});
afterAll(() => engine.close());

/** A result as the document's tools answer it, after its way out of the isolate. */
async function execute(name: string, input: Record<string, unknown>): Promise<ToolResult> {
  return new ToolResult(amplifier.writeResult(await engine.execute({ name, arguments: input })));
}

test("the contract's own test of a tool passes [A25]", async () => {
  const result = await execute("my_tool", { required_param: "value" });
  expect(result.success).toBe(true);
  expect(result.error).toBeNull();
});

describe("the guide's graceful degradation", () => {
  test("answers with what its work has made", async () => {
    expect(await execute("careful", { ends: "well" })).toMatchObject({ success: true, output: { ends: "well" } });
  });

  test("keeps a permission's refusal as it is [B39]", async () => {
    const { success, output, error } = await execute("careful", { ends: "forbidden" });
    expect({ success, output, error }).toEqual({
      success: false,
      output: null,
      error: { message: "not yours to read", type: "PermissionError" },
    });
  });

  test("says of all else that it was not expected, and its class [B40]", async () => {
    const { success, error } = await execute("careful", { ends: "broken" });
    expect({ success, error }).toEqual({
      success: false,
      error: { message: "Unexpected error: too far", type: "RangeError" },
    });
  });
});

test("the guide's own truncation cuts what is longer than 50,000 characters, and nothing else [B41 B42]", async () => {
  for (const chars of [0, 49_999, 50_000]) {
    expect((await execute("fetch_content", { chars })).output === "x".repeat(chars)).toBe(true);
  }
  const { output } = await execute("fetch_content", { chars: 50_123 });
  expect(output === `${"x".repeat(50_000)}\n\n[Truncated: 123 chars remaining]`).toBe(true);
});

describe("what a model is told of a result", () => {
  /** The text of what a tool answers in the sandbox. */
  async function textOf(answer: object): Promise<string> {
    const folder = await temporaryFolder({ "told.js": moduleOf("told", `return ${JSON.stringify(answer)};`) });
    await engine.register(join(folder, "told.js"));
    return (await execute("told", {})).get_serialized_output();
  }

  test("is the message of an error, whatever else there is [B06]", async () => {
    expect(await textOf({ success: false, output: "half", error: { message: "no such file" } })).toBe(
      "Error: no such file",
    );
  });

  test("is that it is unknown where an error says nothing [B07]", async () => {
    for (const error of [{ type: "KeyError" }, {}, null]) {
      expect(await textOf({ success: false, error })).toBe("Error: Unknown error");
    }
  });

  test("is the text of a success, and nothing where it is missing [B08]", async () => {
    expect(await textOf({ success: true, output: "done" })).toBe("done");
    expect(await textOf({ success: true })).toBe("");
  });

  test("is JSON of anything else, without control characters [B09]", async () => {
    expect(await textOf({ success: true, output: { a: "b\u0007c", d: [1, null] } })).toBe('{"a":"bc","d":[1,null]}');
  });
});

describe("what is mounted in the sandbox", () => {
  async function mounting(tool: string): Promise<string> {
    const text = `export async function mount(coordinator) { await coordinator.mount("tools", ${tool}, { name: "m" }); return null; }`;
    return join(await temporaryFolder({ "a.js": text }), "a.js");
  }

  test("is a tool without a schema [A06]", async () => {
    const path = await mounting('{ name: "bare", description: "Is bare.", execute: async () => ({ output: "run" }) }');
    expect((await engine.register(path)).inputSchema).toEqual({ type: "object" });
    expect((await execute("bare", { any: 1 })).output).toBe("run");
  });

  test.each([
    ["name", '{ description: "Is.", execute: async () => ({}) }'],
    ["description", '{ name: "part", execute: async () => ({}) }'],
    ["execute", '{ name: "part", description: "Is." }'],
  ])("is refused where it has no %s [A07]", async (_what, tool) => {
    const error = await refusalOf(engine.register(await mounting(tool)));
    expect(error.code).toBe("load_error");
    expect(error.message).toContain("/mounts/0/tool: must have name, description and execute(input)");
    expect(engine.get("part")).toBeUndefined();
  });
});
