import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { catalogOf, QUESTIONS } from "../../fixtures/code-mode/catalog.ts";
import { declareWithin } from "../../src/code-mode/declarations.ts";
import { ToolIndex } from "../../src/code-mode/search.ts";
import type { ToolDescription } from "../../src/kernel/tool/contracts/contract.ts";

const run = promisify(execFile);
const tools = catalogOf() as readonly ToolDescription[];

test("the declarations of 300 tools are the same bytes in another process, in which the tools come in another order", async () => {
  const program = fileURLToPath(new URL("programs/declares.ts", import.meta.url));
  const { stdout } = await run(process.execPath, ["--no-warnings", program]);
  expect(JSON.parse(stdout)).toBe(declareWithin(tools, { tokens: 4_000, isPinned: () => false }).text);
});

describe("of fifty questions of a model", () => {
  test("45 and more find the tool that is meant among the first five of 300", async () => {
    const index = await ToolIndex.of(tools);
    const lost: string[] = [];
    for (const [query, tool] of QUESTIONS) {
      const { matches, total, of } = await index.find({ query, limit: 5, detail: "name" });
      if (!matches.some(({ name }) => name === tool)) lost.push(`${query} → ${tool}`);
      expect([of, total >= matches.length]).toEqual([300, true]);
    }
    expect(QUESTIONS).toHaveLength(50);
    expect(lost.length, lost.join("\n")).toBeLessThanOrEqual(5);
  });

  test("each finds the same tools in the same order, in whatever order the tools were registered", async () => {
    const [one, other] = await Promise.all([ToolIndex.of(tools), ToolIndex.of(tools.toReversed())]);
    for (const [query] of QUESTIONS) {
      const asked = { query, limit: 25, detail: "name" } as const;
      const [first, second] = await Promise.all([one.find(asked), other.find(asked)]);
      expect(second.matches.map(({ name }) => name)).toEqual(first.matches.map(({ name }) => name));
    }
  });
});
