import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { load_spec, run_chain, scriptedProvider, toolFunction, ToolRegistry } from "../../src/contrib/strands/index.ts";
import {
  combineProviders,
  type LLM,
  LLMMessage,
  type LLMResponse,
  runConversation,
  toolProvider,
} from "../../src/contrib/xaibo/index.ts";
import { createEngine, type Engine } from "../../src/glovebox/index.ts";
import { Folder, workflow } from "./strands/folder.ts";

/** 3 MB: more than any model is told. */
const ROWS = `Array.from({ length: 60_000 }, (_, id) => ({ id, name: "Customer " + id, city: "City " + (id % 97) }))`;
const READ_MAX = 60_000;
const SEARCH = { search: "Customer 41234" };

let engine: Engine;
let other: Engine;

beforeAll(async () => {
  const make = (name: string) => ({ name, description: "All rows.", source: `export default () => ${ROWS};` });
  [engine, other] = (await Promise.all(
    ["rows", "others"].map((name) =>
      createEngine({ workers: 1, executor: "threads", limits: { outputBytes: 8 * 1024 ** 2 }, tools: [make(name)] }),
    ),
  )) as [Engine, Engine];
});
afterAll(() => Promise.all([engine.close(), other.close()]));

/** A model that asks for all rows and then searches them, in three turns. */
class SearchingModel implements LLM {
  readonly told: string[] = [];
  readonly functions: string[] = [];
  readonly #tool: string;

  constructor(tool: string) {
    this.#tool = tool;
  }

  generate(
    messages: readonly LLMMessage[],
    options: { functions?: readonly { name: string }[] } = {},
  ): Promise<LLMResponse> {
    this.functions.splice(0, Infinity, ...(options.functions ?? []).map(({ name }) => name));
    const results = messages.filter(({ role }) => role === "function");
    this.told.splice(0, Infinity, ...results.map(({ content }) => String(content)));
    const call = (id: string, name: string, args: object) =>
      Promise.resolve({
        content: null,
        tool_calls: [{ id, name, arguments: args as Readonly<Record<string, unknown>> }],
      });
    if (this.told.length === 0) return call("all", this.#tool, {});
    if (this.told.length === 1) return call("find", "read_output", { call: "all", ...SEARCH });
    return Promise.resolve({ content: "found" });
  }
}

describe("a conversation of Xaibo", () => {
  test("finds a row of a long output without having read it", async () => {
    const llm = new SearchingModel("rows");
    const { ended } = await runConversation({
      llm,
      provider: toolProvider(engine),
      messages: [LLMMessage.user("Find.")],
    });
    expect(ended).toBe("answer");
    expect(llm.functions).toEqual(["rows", "read_output"]);
    const [cut = "", found = ""] = llm.told;
    expect(cut).toContain("60000");
    expect(found).toContain('"name":"Customer 41234"');
    expect(cut.length + found.length).toBeLessThanOrEqual(READ_MAX);
  });

  test("reads on in the outputs of each of several engines", async () => {
    const provider = combineProviders([toolProvider(engine, { tools: ["rows"] }), toolProvider(other)]);
    for (const tool of ["rows", "others"]) {
      const llm = new SearchingModel(tool);
      await runConversation({ llm, provider, messages: [LLMMessage.user("Find.")], modelChars: 4_000 });
      expect(llm.functions).toEqual(["rows", "others", "read_output"]);
      expect(llm.told[0]?.length).toBeLessThanOrEqual(4_000);
      expect(llm.told[1]).toContain('"name":"Customer 41234"');
    }
    // The provider itself has whole outputs, for programs.
    expect((await provider.list_tools()).map(({ name }) => name)).toEqual(["rows", "others"]);
    const { result } = await provider.execute_tool("rows", {});
    expect(result).toHaveLength(60_000);
  });
});

describe("Strands", () => {
  test("an agent of a workflow finds a row of a long output without having read it", async () => {
    using folder = new Folder({
      "all_rows.js": `
        export const TOOL_SPEC = { name: "all_rows", description: "All rows.", inputSchema: { json: { type: "object" } } };
        export const all_rows = ({ toolUseId }) => ({ toolUseId, status: "success", content: [{ json: ${ROWS} }] });`,
    });
    const registry = await ToolRegistry.discover({ engine, tools: folder.path });
    const spec = await load_spec(folder.write("flow.yaml", workflow(["- echo", "- all_rows"])));
    const provider = scriptedProvider([
      { calls: [{ id: "all", name: "all_rows", arguments: {} }] },
      { calls: [{ id: "find", name: "read_output", arguments: { call: "all", ...SEARCH } }] },
      "found",
    ]);
    const { last_response } = await run_chain(spec, {}, { registry, provider, folder: folder.path });
    expect(last_response).toBe("found");
    const told = (provider.requests.at(-1)?.messages ?? []).flatMap((message) =>
      message.role === "tool" ? [JSON.stringify(message.result.output)] : [],
    );
    expect(told.join("")).toContain("Customer 41234");
    expect(told.join("").length).toBeLessThanOrEqual(READ_MAX);
    expect(provider.requests.map(({ options }) => options.tools.map(({ name }) => name))).toEqual([
      ["all_rows"],
      ["all_rows", "read_output"],
      ["all_rows", "read_output"],
    ]);
  });

  test("a function of Strands' contract gives all of an output, or with modelChars what a model reads of it", async () => {
    const whole = await toolFunction(engine, "rows")({ toolUseId: "whole" });
    expect(JSON.stringify(whole.content).length).toBeGreaterThan(2_000_000);
    const cut = await toolFunction(engine, "rows", { modelChars: 4_000 })({ toolUseId: "cut" });
    expect(JSON.stringify(cut.content).length).toBeLessThanOrEqual(4_400);
    const read = toolFunction(engine, "read_output", { modelChars: 4_000 });
    expect(JSON.stringify(await read({ toolUseId: "read", input: { call: "cut", ...SEARCH } }))).toContain(
      "Customer 41234",
    );
  });
});
