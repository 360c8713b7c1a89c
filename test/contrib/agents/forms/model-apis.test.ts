import { describe, expect, test } from "vitest";
import {
  aiSdk,
  anthropic,
  ContractError,
  gemini,
  glovebox,
  mcp,
  openaiChat,
  openaiResponses,
} from "../../../../src/standard/contracts.ts";
import { toolError } from "../../../../src/kernel/base/errors.ts";
import { emptyMetadata, failure } from "../../../../src/kernel/base/result.ts";

const strictOf = (inputSchema: object): boolean =>
  openaiResponses.writeTool({ name: "t", description: "d", inputSchema: { ...inputSchema } }).strict;

const closed = (properties: object, more: object = {}): object => ({
  type: "object",
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
  ...more,
});

describe("OpenAI's strict tools", () => {
  test.each([
    ["no parameters", closed({})],
    [
      "what they know of texts, numbers and lists",
      closed({
        a: { type: "string", pattern: "^a", format: "date-time" },
        b: { type: ["integer", "null"], minimum: 1, multipleOf: 2 },
        c: { type: "array", items: { enum: ["x", "y"] }, maxItems: 3 },
        d: { anyOf: [closed({ e: { type: "boolean" } }), { type: "null" }] },
      }),
    ],
    ["definitions", closed({ a: { $ref: "#/$defs/a" } }, { $defs: { a: { type: "string", description: "A" } } })],
  ])("are those with %s", (_what, schema) => expect(strictOf(schema)).toBe(true));

  test.each([
    ["an open object", { type: "object", properties: {} }],
    ["an optional property", closed({ a: { type: "string" } }, { required: [] })],
    ["an open object further in", closed({ a: { type: "object", properties: {} } })],
    ["an object without a type further in", closed({ a: { properties: { b: { type: "string" } } } })],
    ["an open object in a definition", closed({ a: { $ref: "#/$defs/a" } }, { $defs: { a: { type: "object" } } })],
    ["a default", closed({ a: { type: "string", default: "x" } })],
    ["a format that they do not know", closed({ a: { type: "string", format: "uri" } })],
    ["allOf", closed({}, { allOf: [] })],
    ["a choice at the root", closed({}, { anyOf: [{ type: "object" }] })],
    ["eleven levels", Array.from({ length: 11 }).reduce<object>((inner) => closed({ a: inner }), { type: "string" })],
    ["more than a thousand choices", closed({ a: { enum: Array.from({ length: 1_001 }, (_, at) => at) } })],
  ])("are not strict with %s", (_what, schema) => expect(strictOf(schema)).toBe(false));
});

describe("arguments that come as text", () => {
  const call = (text: unknown) => openaiChat.readCall({ id: "c", function: { name: "t", arguments: text } });

  test("are read, and none at all are an empty object", () => {
    expect(call('{"a":[1]}').arguments).toEqual({ a: [1] });
    expect(call(" ").arguments).toEqual({});
  });

  test.each([
    ["that is no JSON", '{"a":', "is not JSON"],
    ["that is no object", "[1]", "must be an object, but is a list"],
    ["nested too deep", "[".repeat(2_000), "is nested deeper than 1000 levels"],
    ["that is no text", { a: 1 }, "must be a string, but is a object"],
  ])("are refused %s", (_what, text, problem) => {
    expect(() => call(text)).toThrow(ContractError);
    expect(() => call(text)).toThrow(`openai-chat /function/arguments: ${problem}`);
  });

  test("that name what every object has are arguments like others", () => {
    const { arguments: read } = call('{"__proto__":{"polluted":true},"constructor":1}');
    expect(Object.keys(read)).toEqual(["__proto__", "constructor"]);
    expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
  });
});

describe("Gemini's functions", () => {
  test("are read from OpenAPI's schemas as well", () => {
    const read = gemini.readTool({
      name: "find",
      description: "Finds",
      parameters: {
        type: "OBJECT",
        properties: {
          query: { type: "STRING", nullable: true },
          tags: { type: "ARRAY", items: { type: "STRING", enum: ["a"] }, maxItems: "5" },
          at: { anyOf: [{ type: "INTEGER" }, { type: "NUMBER" }] },
        },
        required: ["query"],
      },
      response: { type: "STRING" },
    });
    expect(read).toEqual({
      name: "find",
      description: "Finds",
      inputSchema: {
        type: "object",
        properties: {
          query: { type: ["string", "null"] },
          tags: { type: "array", items: { type: "string", enum: ["a"] }, maxItems: 5 },
          at: { anyOf: [{ type: "integer" }, { type: "number" }] },
        },
        required: ["query"],
      },
      outputSchema: { type: "string" },
    });
  });

  test("with a schema nested without end are refused", () => {
    const deep = Array.from({ length: 100 }).reduce<object>((items) => ({ type: "ARRAY", items }), { type: "STRING" });
    expect(() => gemini.readTool({ name: "t", parameters: deep })).toThrow(/nested deeper than 64 levels/);
  });

  test("answer with the whole response where it has neither output nor error", () => {
    const read = (response: object) => gemini.readResult({ functionResponse: { name: "t", response } });
    expect(read({ sum: 3 })).toEqual({ ok: true, output: { sum: 3 } });
    expect(read({ error: "no" })).toEqual({ ok: false, error: { message: "no" } });
  });
});

describe("the ai package's results", () => {
  const read = (output: object) => aiSdk.readResult({ type: "tool-result", toolCallId: "c", toolName: "t", output });

  test("are read in all the forms that they have", () => {
    expect(read({ type: "error-text", value: "no" })).toEqual({ ok: false, error: { message: "no" } });
    expect(read({ type: "error-json", value: { reason: 1 } })).toEqual({
      ok: false,
      error: { message: '{"reason":1}' },
    });
    expect(read({ type: "execution-denied", reason: "not you" })).toEqual({
      ok: false,
      error: { code: "blocked", message: "not you" },
    });
    expect(read({ type: "content", value: [{ type: "text", text: "a" }] })).toEqual({
      ok: true,
      output: [{ type: "text", text: "a" }],
    });
  });

  test("are asked for by a model in text, and by a message in JSON", () => {
    const call = { type: "tool-call", toolCallId: "c", toolName: "t" };
    expect(aiSdk.readCall({ ...call, input: '{"a":1}' })).toEqual(aiSdk.readCall({ ...call, input: { a: 1 } }));
  });

  test("have one tool in each definition", () => {
    expect(() => aiSdk.readTool({})).toThrow(ContractError);
    const tool = { description: "", inputSchema: { jsonSchema: {} } };
    expect(() => aiSdk.readTool({ a: tool, b: tool })).toThrow("ai-sdk: must hold one tool, but holds 2");
    const [named] = Object.keys(aiSdk.writeTool({ name: "__proto__", description: "", inputSchema: true }));
    expect(named).toBe("__proto__");
  });
});

describe("MCP", () => {
  test("takes a title from either place, and shows what is no text as it is", () => {
    const tool = { name: "t", inputSchema: { type: "object" } };
    expect(mcp.readTool({ ...tool, annotations: { title: "Old" } }).annotations).toEqual({ title: "Old" });
    expect(mcp.readTool({ ...tool, title: "New", annotations: { title: "Old" } }).annotations).toEqual({
      title: "New",
    });
    const image = { type: "image", data: "AA==", mimeType: "image/png" };
    expect(mcp.readResult({ content: [{ type: "text", text: "a" }, image] })).toEqual({
      ok: true,
      output: ["a", image],
    });
  });

  test("has names of its own rule, and no others [F5]", () => {
    const tool = { description: "d", inputSchema: { type: "object" } };
    for (const name of ["greeting-tool-v1", "files.read", "snake_case"]) {
      expect(mcp.readTool({ ...tool, name }).name).toBe(name);
      expect(mcp.writeTool({ ...tool, name }).name).toBe(name);
    }
    for (const name of ["", "a b", "a/b", "a".repeat(129)]) {
      expect(() => mcp.readTool({ ...tool, name })).toThrow("mcp /name: must be 1 to 128 of A-Z a-z 0-9 _ . -");
    }
  });
});

test("a tool that fails without a word has at least its error's type for Anthropic, which refuses empty errors", () => {
  const result = failure(toolError("tool_error", "", undefined, "TypeError"), emptyMetadata("c", "t", 0));
  expect(anthropic.writeResult(result)).toMatchObject({ content: "TypeError", is_error: true });
});

test("success is said, and not taken for granted [F4]", () => {
  expect(() => glovebox.readResult({ output: 1 })).toThrow("glovebox /success: must be true or false");
});
