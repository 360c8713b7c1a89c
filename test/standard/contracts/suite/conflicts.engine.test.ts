import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CONTRACTS, type ContractName } from "../../../../src/standard/contracts.ts";
import { validateModules } from "../../../../src/testing/validation/index.ts";
import { createEngine, type Engine, type ToolLocation } from "../../../../src/glovebox/index.ts";
import { refusalOf } from "../../../kernel/tool/temporary.ts";

let engine: Engine;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "glovebox-conflicts-"));
  engine = await createEngine({ workers: 1, executor: "threads" });
});

afterAll(async () => {
  await engine.close();
  rmSync(folder, { recursive: true });
});

async function register(name: string, text: string, more: Omit<ToolLocation, "path"> = {}): Promise<void> {
  const path = join(folder, `${name}.js`);
  writeFileSync(path, text);
  await engine.register({ path, ...more });
}

/** A module in each contract that has results of its own, whose tool answers with what it is given as `answer`. */
const ANSWERING: Readonly<Partial<Record<ContractName, string>>> = {
  amplifier: `export const mount = async () => ({ name: "says_amplifier", description: "Says it.",
    execute: async ({ answer }) => answer });`,
  strands: `export const TOOL_SPEC = { name: "says_strands", inputSchema: { json: { type: "object" } } };
    export const says_strands = ({ toolUseId, input }) => ({ toolUseId, ...input.answer,
      content: input.answer.content.map((block) => "bytes" in block ? { image: new Uint8Array(block.bytes) } : block) });`,
  xaibo: `export class Provider {
    async list_tools() { return [{ name: "says_xaibo", description: "Says it." }]; }
    async execute_tool(name, { answer }) { return answer; } }`,
};

describe("results of four shapes", () => {
  const bytes = [0, 255, 128, 10];
  const image = { image: { base64: Buffer.from(bytes).toString("base64") } };
  const failed = { message: "no such file", type: "CommandFailed", exit_code: 2 };

  test.each<[ContractName, string, object, object]>([
    ["amplifier", "a text", { success: true, output: "done", metadata: { path: "/a" } }, { error: null }],
    ["amplifier", "an object", { success: true, output: { a: [1, null] } }, { error: null }],
    ["amplifier", "half of it, and a failure", { success: false, output: "half", error: failed }, {}],
    ["strands", "a text", { status: "success", content: [{ text: "a" }] }, { toolUseId: "call-1" }],
    ["strands", "a JSON", { status: "success", content: [{ json: { a: 1 } }] }, { toolUseId: "call-1" }],
    ["strands", "a failure", { status: "error", content: [{ text: "no" }] }, { toolUseId: "call-1" }],
    ["xaibo", "an object", { success: true, result: { a: { b: [1] } } }, { error: null }],
    ["xaibo", "a failure", { success: false, error: "City 'X' not found" }, { result: null }],
  ])("are one inside, and %s's is %s again outside, as its tool said it [F1]", async (name, _what, answer, more) => {
    await register(`says_${name}`, ANSWERING[name] ?? "");
    const result = await engine.execute({ id: "call-1", name: `says_${name}`, arguments: { answer } });
    expect(Object.keys(result)).toEqual(["success", "output", "error", "metadata"]);
    expect(CONTRACTS.get(name)?.writeResult(result)).toMatchObject({ ...answer, ...more });
  });

  test("keep several blocks in their order, bytes among them [F1]", async () => {
    await register("says_strands", ANSWERING.strands ?? "");
    const answer = { status: "success", content: [{ text: "a" }, { bytes }, { json: { b: 2 } }] };
    const result = await engine.execute({ name: "says_strands", arguments: { answer } });
    expect(result.output).toEqual(["a", image, { b: 2 }]);
    expect(CONTRACTS.get("strands")?.writeResult(result)).toMatchObject({
      status: "success",
      content: [{ text: "a" }, image, { json: { b: 2 } }],
    });
  });

  test("say a failure of any contract in every other's words [F1]", async () => {
    await register("says_amplifier", ANSWERING.amplifier ?? "");
    const answer = { success: false, error: failed };
    const result = await engine.execute({ id: "call-1", name: "says_amplifier", arguments: { answer } });
    const write = (name: ContractName): unknown => CONTRACTS.get(name)?.writeResult(result);
    expect(write("xaibo")).toEqual({ success: false, result: null, error: "no such file" });
    expect(write("strands")).toEqual({ toolUseId: "call-1", status: "error", content: [{ text: "no such file" }] });
    expect(write("amplifier")).toMatchObject({ success: false, error: failed });
  });

  test("take success for granted only where the contract does: its absence is a failure elsewhere [F4]", async () => {
    for (const [name, text] of Object.entries(ANSWERING)) await register(`says_${name}`, text);
    const run = (name: string, answer: object) => engine.execute({ name: `says_${name}`, arguments: { answer } });
    expect(await run("amplifier", { output: 1 })).toMatchObject({ success: true, output: 1 });
    expect(await run("xaibo", { result: 1 })).toMatchObject({ success: false, output: null });
    expect(await run("strands", { content: [{ text: "a" }] })).toMatchObject({ success: false });
    for (const name of ["amplifier", "xaibo"] as const) {
      expect(() => CONTRACTS.get(name)?.readResult({ output: 1, result: 1 })).toThrow(
        "/success: must be true or false",
      );
    }
  });
});

describe("names", () => {
  const own = (name: string) => ({ name, description: "Is named.", source: "export default () => 'called'" });

  test.each(["snake_case", "greeting-tool-v1", "files.read", "camelCase", "0", "a".repeat(128)])(
    "%s is one, and a tool is called by it [F5]",
    async (name) => {
      await engine.register(own(name));
      expect((await engine.execute({ name, arguments: {} })).output).toBe("called");
      await engine.unregister(name);
    },
  );

  test.each(["", "a b", "a/b", "ä", "a\n", "a".repeat(129)])("%j is invalid [F5]", async (name) => {
    expect((await refusalOf(engine.register(own(name)))).message).toContain("/name must be string matching");
  });

  test("that are not in snake_case are warned of, and nobody is refused for them [F5]", async () => {
    const text =
      'export const spec = { name: "greeting-tool-v1", description: "Greets somebody." }; export default () => 1;';
    writeFileSync(join(folder, "greets.js"), text);
    const [validation] = await validateModules(engine, join(folder, "greets.js"));
    const found = validation?.checks.filter(({ about }) => about === "name") ?? [];
    expect(found.map(({ level }) => level)).toEqual(["warning"]);
    expect(found[0]?.message).toContain("is not in snake_case");
  });
});

describe("schemas of five notations", () => {
  const SCHEMA = {
    type: "object",
    properties: { city: { type: "string", description: "Where." }, days: { type: "integer", default: 5 } },
    required: ["city"],
  };
  const text = JSON.stringify(SCHEMA);
  const execute = "execute: async (input) => ({ output: input })";
  const MODULES: Readonly<Record<string, readonly [text: string, more?: Omit<ToolLocation, "path">]>> = {
    schema_own: [`export const spec = { description: "Own.", inputSchema: ${text} }; export default (input) => input;`],
    schema_attribute: [
      `export const mount = async () => ({ name: "schema_attribute", description: "A.", input_schema: ${text},
        get_schema: () => ({ type: "object", required: ["other"] }), ${execute} });`,
    ],
    schema_method: [
      `export const mount = async () => ({ name: "schema_method", description: "M.", get_schema: () => (${text}), ${execute} });`,
    ],
    schema_strands: [
      `export const TOOL_SPEC = { name: "schema_strands", inputSchema: { json: ${text} } };
        export const schema_strands = ({ toolUseId, input }) => ({ toolUseId, status: "success", content: [{ json: input }] });`,
    ],
    schema_agentspace: [
      "export class AgentSpaceV1Tool { execute(input) { return input; } }",
      {
        record: {
          tool_id: "schema_agentspace",
          tool_runtime_type: "python",
          tool_source_code_link: "./schema_agentspace.js",
          tools_api_spec: {
            input: {
              city: { type: "string", description: "Where.", required: true },
              days: { type: "integer", default: 5 },
            },
            output: {},
          },
        },
      },
    ],
    schema_xaibo: [
      `export class Provider {
        async list_tools() { return [{ name: "schema_xaibo", description: "X.", parameters: {
          city: { type: "string", description: "Where.", required: true }, days: { type: "integer", default: 5 } } }]; }
        async execute_tool(name, parameters) { return { success: true, result: parameters }; } }`,
    ],
  };

  test.each(Object.entries(MODULES))(
    "are one JSON Schema: %s, whose attribute comes before its method, is checked and filled in alike [F6]",
    async (name, [module, more]) => {
      await register(name, module, more);
      expect(engine.get(name)?.inputSchema).toEqual(SCHEMA);
      expect((await engine.execute({ name, arguments: { city: "Rome" } })).output).toEqual({ city: "Rome", days: 5 });
      expect((await engine.execute({ name, arguments: { days: 1 } })).error).toMatchObject({
        code: "invalid_arguments",
        message: expect.stringMatching(/^\/city is required/),
      });
    },
  );
});
