import { expect, test } from "vitest";
import type { McpCall, McpOperation } from "../../../src/kernel/guest/host.ts";
import { callMcp } from "../../../src/connectors/guest/mcp.ts";

const operation: McpOperation = {
  kind: "mcp",
  connector: "c",
  tool: "t",
  isTyped: false,
  isRead: false,
  isRepeatable: false,
};

/** What a tool returns for an answer of its server. */
function read(result: unknown, isTyped = false): Promise<unknown> {
  return callMcp({ ...operation, isTyped }, { a: 1 }, () => Promise.resolve(JSON.stringify(result)));
}

const text = (...texts: readonly string[]) => ({ content: texts.map((each) => ({ type: "text", text: each })) });

test("the server is asked for its tool, with the arguments as JSON", async () => {
  const asked: unknown[] = [];
  await callMcp(operation, { a: [1, "é"] }, (method, args) => {
    asked.push(method, args);
    return Promise.resolve("{}");
  });
  expect(asked).toEqual([
    "call",
    { connector: "c", tool: "t", isRead: operation.isRead, arguments: '{"a":[1,"é"]}' } satisfies McpCall,
  ]);
});

test("the structured content is the output, whatever the texts are", async () => {
  expect(await read({ structuredContent: { sum: 3 }, ...text("3") })).toEqual({ sum: 3 });
  expect(await read({ structuredContent: [1], ...text("{}") })).toEqual([1]);
  expect(await read({ structuredContent: null, ...text("x") })).toBeNull();
});

test("one text that is JSON is parsed where no output schema is declared", async () => {
  expect(await read(text('{"items":[{"id":1}]}'))).toEqual({ items: [{ id: 1 }] });
  expect(await read(text(" \n[1,2]"))).toEqual([1, 2]);
  expect(await read(text('{"items":1}'), true)).toBe('{"items":1}');
});

test("a text that only looks like JSON, or is a scalar, stays a text", async () => {
  for (const each of ["{not json", "[1,2", "42", "true", '"quoted"', "", "null", "hello {}"])
    expect(await read(text(each))).toBe(each);
});

test("several blocks, and blocks that are no text, are a list", async () => {
  expect(await read(text("1", "2"))).toEqual([
    { type: "text", text: "1" },
    { type: "text", text: "2" },
  ]);
  const image = { type: "image", data: "aGk=", mimeType: "image/png" };
  expect(await read({ content: [image] })).toEqual([image]);
  expect(await read({ content: [] })).toEqual([]);
});

test("what the server calls an error is one, with its words", async () => {
  await expect(read({ isError: true, ...text("no such file", "try again") })).rejects.toThrow(
    "no such file\ntry again",
  );
  await expect(read({ isError: true, structuredContent: { code: 7 }, content: [] })).rejects.toThrow('{"code":7}');
  await expect(read({ isError: true })).rejects.toThrow("the tool failed without a reason");
});

test("an error's words are at most 4,000 characters", async () => {
  const failure = await read({ isError: true, ...text("x".repeat(100_000)) }).catch((error: unknown) => error);
  expect(String(failure).length).toBeLessThan(4_100);
});

test("an answer that is no result of a tool is an empty list, and never an exception of ours", async () => {
  for (const odd of [{}, { content: "text" }, { content: null }, { content: { 0: "x" } }])
    expect(await read(odd)).toEqual([]);
  expect(await read({ content: [null] })).toEqual([null]);
  expect(await read({ content: [7] })).toEqual([7]);
});
