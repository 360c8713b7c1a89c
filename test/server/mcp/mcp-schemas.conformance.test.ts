import { readFileSync } from "node:fs";
import { Client as Client2, InMemoryTransport as Memory2 } from "@modelcontextprotocol/client";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport as Memory1 } from "@modelcontextprotocol/sdk/inMemory.js";
import type { Server } from "@modelcontextprotocol/server";
import { beforeAll, describe, expect, test } from "vitest";
import { GloveboxError } from "../../../src/kernel/base/errors.ts";
import type { JsonSchema } from "../../../src/kernel/base/json.ts";
import { emptyMetadata, success } from "../../../src/kernel/base/result.ts";
import { compileChecks } from "../../../src/kernel/base/schema/checks.ts";
import { createToolServer } from "../../../src/server/mcp/tool-server.ts";
import type { ToolDescription } from "../../../src/standard/contracts.ts";
import { openChecks } from "../../kernel/base/schema/run-checks.ts";

type Group = readonly [what: string, schema: JsonSchema, tests: readonly (readonly [what: string, value: unknown])[]];

/** A tool that returns its argument `value`, and values that its `outputSchema` allows. */
interface Sample {
  readonly tool: ToolDescription;
  readonly values: readonly unknown[];
}

/** Each schema of JSON Schema's own suite that a tool may have. */
function readSamples(): Sample[] {
  return ["draft-07", "2019-09", "2020-12"].flatMap((draft) => {
    const text = readFileSync(new URL(`../../../fixtures/json-schema/${draft}.jsonl`, import.meta.url), "utf8");
    return text
      .trimEnd()
      .split("\n")
      .flatMap((line, index) => {
        const [description, given, tests] = JSON.parse(line) as Group;
        const $schema = `https://json-schema.org/draft/${draft}/schema`;
        const schema = typeof given === "object" && draft !== "draft-07" ? { ...given, $schema } : given;
        const check = checkOf(schema);
        if (check === null) return [];
        const name = `${draft}.${String(index).padStart(3, "0")}`;
        const values = tests.map(([, value]) => value).filter(check);
        return [{ tool: { name, description, inputSchema: { type: "object" }, outputSchema: schema }, values }];
      });
  });
}

function checkOf(schema: JsonSchema): ((value: unknown) => boolean) | null {
  try {
    const { output } = openChecks(compileChecks(true, schema));
    return (value) => output(value) === null;
  } catch (error) {
    if (error instanceof GloveboxError) return null;
    throw error;
  }
}

interface AnyClient {
  listTools(page: { cursor?: string }): Promise<{ tools: { name: string }[]; nextCursor?: string | undefined }>;
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<unknown>;
}

async function connectV1(server: Server): Promise<AnyClient> {
  const [ours, theirs] = Memory1.createLinkedPair();
  const client = new Client1({ name: "tester", version: "1.0.0" });
  await Promise.all([server.connect(ours as Parameters<Server["connect"]>[0]), client.connect(theirs)]);
  return client as AnyClient;
}

async function connectV2(server: Server): Promise<AnyClient> {
  const [ours, theirs] = Memory2.createLinkedPair();
  const client = new Client2({ name: "tester", version: "1.0.0" });
  await Promise.all([server.connect(ours), client.connect(theirs)]);
  return client as AnyClient;
}

let samples: Sample[];
beforeAll(() => {
  samples = readSamples();
}, 300_000);

describe.each([
  ["version 1", connectV1],
  ["version 2", connectV2],
] as const)("a client of the official SDK, %s", (_name, connect) => {
  test(
    "lists tools with the schemas of JSON Schema's suite, and accepts what they allow",
    { timeout: 60_000 },
    async () => {
      const tools = new Map(samples.map(({ tool }) => [tool.name, tool]));
      const server = createToolServer(
        {
          list: () => [...tools.values()],
          get: (name) => tools.get(name),
          execute: async ({ name, arguments: { value } }) => success(value, emptyMetadata("", name, 0)),
        },
        { name: "test", version: "1.0.0" },
      );
      const client = await connect(server);
      const valuesOf = new Map(samples.map(({ tool, values }) => [tool.name, values]));
      const problems: string[] = [];
      let listed = 0;
      for (let cursor: string | undefined = ""; cursor !== undefined;) {
        const page = await client.listTools(cursor === "" ? {} : { cursor });
        for (const { name } of page.tools) {
          for (const value of valuesOf.get(name) ?? []) {
            const problem = await client.callTool({ name, arguments: { value } }).then(() => null, String);
            if (problem !== null) problems.push(`${tools.get(name)?.description}: ${problem}`);
          }
        }
        listed += page.tools.length;
        cursor = page.nextCursor;
      }
      expect(problems).toEqual([]);
      expect([listed, tools.size > 900]).toEqual([tools.size, true]);
      await server.close();
    },
  );
});
