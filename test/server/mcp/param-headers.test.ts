import { describe, expect, test } from "vitest";
import { findMismatch } from "../../../src/server/mcp/param-headers.ts";

const base64 = (text: string) => `=?base64?${Buffer.from(text).toString("base64")}?=`;

const TOOL = {
  name: "route",
  description: "Has arguments that are headers too.",
  inputSchema: {
    type: "object",
    properties: {
      region: { type: "string", "x-mcp-header": "Region" },
      plain: { type: "string" },
      deep: {
        type: "object",
        properties: {
          count: { type: "integer", "x-mcp-header": "Count" },
          dry: { type: "boolean", "x-mcp-header": "Dry" },
        },
      },
    },
  },
};

const problem = (args: unknown, headers: Record<string, string> = {}, tool: typeof TOOL = TOOL): string | null =>
  findMismatch(tool, args, new Headers(headers))?.problem ?? null;

describe("the headers of a call agree with its arguments", () => {
  test.each<[what: string, args: unknown, headers?: Record<string, string>]>([
    ["where no argument needs one", { plain: "a" }],
    ["where there are no arguments", undefined],
    ["where an argument is null", { region: null }, { "mcp-param-region": "eu" }],
    ["where a text is the same", { region: "eu" }, { "Mcp-Param-Region": "eu" }],
    ["where a text is encoded", { region: "Zürich" }, { "mcp-param-region": base64("Zürich") }],
    ["where a text looks as if it were encoded", { region: "=?base64?SGVs" }, { "mcp-param-region": "=?base64?SGVs" }],
    ["where a number is written in another way", { deep: { count: 42 } }, { "mcp-param-count": "42.0" }],
    ["where a truth value is written", { deep: { dry: true } }, { "mcp-param-dry": "true" }],
    ["where a number is too large to be one", { deep: { count: 2 ** 60 } }],
  ])("%s", (_what, args, headers) => {
    expect(problem(args, headers)).toBeNull();
  });
});

describe("the headers of a call contradict its arguments", () => {
  test.each<[what: string, args: unknown, headers: Record<string, string>, problem: string]>([
    ["where one is missing", { region: "eu" }, {}, "it is missing, though the argument is there"],
    ["where one differs", { region: "eu" }, { "mcp-param-region": "us" }, "the argument differs"],
    ["where one differs in case", { region: "eu" }, { "mcp-param-region": "EU" }, "the argument differs"],
    ["where an encoded one differs", { region: "eu" }, { "mcp-param-region": base64("us") }, "the argument differs"],
    [
      "where the padding is wrong",
      { region: "Hello" },
      { "mcp-param-region": "=?base64?SGVsbG8?=" },
      "its Base64 is invalid",
    ],
    [
      "where it is not Base64",
      { region: "Hello" },
      { "mcp-param-region": "=?base64?SGVs!!!bG8=?=" },
      "its Base64 is invalid",
    ],
    ["where it is not UTF-8", { region: "Hello" }, { "mcp-param-region": "=?base64?/w==?=" }, "its Base64 is invalid"],
    ["where a number differs", { deep: { count: 42 } }, { "mcp-param-count": "43" }, "the argument differs"],
    [
      "where a number is one only for JavaScript",
      { deep: { count: 16 } },
      { "mcp-param-count": "0x10" },
      "the argument differs",
    ],
    [
      "where an argument has another type than its schema",
      { region: 1 },
      {},
      "it is missing, though the argument is there",
    ],
  ])("%s", (_what, args, headers, expected) => {
    expect(problem(args, headers)).toBe(expected);
  });
});

test.each<[what: string, properties: object]>([
  ["with a space in its name", { region: { type: "string", "x-mcp-header": "a b" } }],
  ["of a list", { region: { type: "array", "x-mcp-header": "A" } }],
  ["without a type", { region: { "x-mcp-header": "A" } }],
  ["twice", { region: { type: "string", "x-mcp-header": "A" }, b: { type: "string", "x-mcp-header": "a" } }],
])("a tool that declares a header %s needs none", (_what, properties) => {
  const tool = { ...TOOL, inputSchema: { type: "object", properties } } as unknown as typeof TOOL;
  expect(problem({ region: "eu" }, {}, tool)).toBeNull();
});
