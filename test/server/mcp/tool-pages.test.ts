import { Client, InMemoryTransport, type ListToolsResult } from "@modelcontextprotocol/client";
import { expect, test } from "vitest";
import { createToolServer } from "../../../src/server/mcp/tool-server.ts";
import type { ToolDescription } from "../../../src/standard/contracts.ts";

/** Numbers of tools in the pages of a list, and the names in all of them. */
async function pagesOf(tools: readonly ToolDescription[]): Promise<{ pages: number[]; names: string[] }> {
  const runner = { list: () => tools, get: () => undefined, execute: () => Promise.reject(new Error("nobody calls")) };
  const server = createToolServer(runner, { name: "test", version: "1.0.0" });
  const client = new Client({ name: "tester", version: "1.0.0" });
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(ours), client.connect(theirs)]);
  const pages: number[] = [];
  const names: string[] = [];
  for (let cursor: string | undefined = ""; cursor !== undefined;) {
    const page: ListToolsResult = await client.request({
      method: "tools/list",
      params: cursor === "" ? {} : { cursor },
    });
    pages.push(page.tools.length);
    names.push(...page.tools.map(({ name }) => name));
    cursor = page.nextCursor;
  }
  await client.close();
  return { pages, names };
}

const toolsOf = (count: number, characters: number): ToolDescription[] =>
  Array.from({ length: count }, (_, index) => ({
    name: `tool_${String(index).padStart(3, "0")}`,
    description: "x".repeat(characters),
    inputSchema: { type: "object" },
  }));

test("a page has at most a hundred tools", async () => {
  const tools = toolsOf(205, 10);
  expect(await pagesOf(tools)).toEqual({ pages: [100, 100, 5], names: tools.map(({ name }) => name) });
});

test("a page of long tools has at most four million characters, and at least one tool", async () => {
  const tools = [...toolsOf(6, 1_000_000), { ...toolsOf(1, 5_000_000)[0], name: "zz" } as ToolDescription];
  expect(await pagesOf(tools)).toEqual({ pages: [4, 2, 1], names: tools.map(({ name }) => name) });
});
