import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEngine, type Engine, GloveboxError } from "../../../src/glovebox/index.ts";

let engine: Engine;
let folder: string;
let files = 0;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "glovebox-xaibo-"));
  engine = await createEngine({ workers: 1, executor: "threads" });
});

afterAll(async () => {
  await engine.close();
  rmSync(folder, { recursive: true });
});

/** Registers a provider that lists `tools` and answers with `execute`, both as source text. */
function register(tools: string, execute: string): Promise<unknown> {
  const path = join(folder, `provider${++files}.js`);
  writeFileSync(
    path,
    `export class Provider {
      calls = 0;
      async list_tools() { return ${tools}; }
      async execute_tool(tool_name, parameters) { return ${execute}; }
    }`,
  );
  return engine.register(path);
}

async function refusalOf(tools: string): Promise<GloveboxError> {
  const refusal: unknown = await register(tools, "null").catch((error: unknown) => error);
  if (refusal instanceof GloveboxError) return refusal;
  throw new Error("it was not refused", { cause: refusal });
}

const tool = (name: string, parameters = "{}") =>
  `{ name: "${name}", description: "Does it.", parameters: ${parameters} }`;
const run = (name: string, args: Record<string, unknown> = {}) => engine.execute({ name, arguments: args });

describe("a provider as a module", () => {
  test("is called with the tool's name and the parameters, as its class says [E02]", async () => {
    await register(`[${tool("get_one")}, ${tool("get_two")}]`, "{ success: true, result: [tool_name, parameters] }");
    expect((await run("get_one", { a: 1 })).output).toEqual(["get_one", { a: 1 }]);
    expect((await run("get_two", { b: [2] })).output).toEqual(["get_two", { b: [2] }]);
  });

  test("is made with the config of its place, and an empty one without [E29]", async () => {
    const text = (name: string) => `export class Provider {
      constructor(config) { this.config = config; }
      async list_tools() { return [${tool(name)}]; }
      async execute_tool() { return { success: true, result: this.config }; }
    }`;
    for (const name of ["get_config", "get_nothing"]) writeFileSync(join(folder, `${name}.js`), text(name));
    const config = { api_key: "k", base_url: "https://w.example" };
    await engine.register({ path: join(folder, "get_config.js"), config });
    await engine.register(join(folder, "get_nothing.js"));
    expect([(await run("get_config")).output, (await run("get_nothing")).output]).toEqual([config, {}]);
  });

  test("has parameters of six types, none of which it has to be given or described [E10 E11 E12 E16]", async () => {
    const types = ["string", "number", "integer", "boolean", "object", "array"];
    const parameters = `{ ${types.map((type) => `${type}: { type: "${type}" }`).join(", ")} }`;
    await register(`[${tool("take_all", parameters)}]`, "{ success: true, result: parameters }");
    expect((await run("take_all")).output).toEqual({});
    const taken = [
      { string: "x", number: 42, integer: 42, boolean: true, object: { a: 1 }, array: [1] },
      { string: "", number: 3.14, integer: -10, boolean: false, object: {}, array: ["a", "b"] },
      { number: -10 },
    ];
    for (const args of taken) expect((await run("take_all", args)).output).toEqual(args);
    const refused = { string: 1, number: "42", integer: 4.2, boolean: "true", object: [1], array: { 0: 1 } };
    for (const [type, value] of Object.entries(refused)) {
      const { error, metadata } = await run("take_all", { [type]: value });
      expect([error?.code, metadata.attempts]).toEqual(["invalid_arguments", 0]);
      expect(error?.message).toMatch(`/${type} must be ${type}`);
    }
    expect((await refusalOf(`[${tool("get_it", '{ p: { description: "What?" } }')}]`)).message).toMatch(
      "/tools/0/parameters/p/type",
    );
  });

  test("is made anew for each call: what it keeps is gone", async () => {
    await register(`[${tool("count_calls")}]`, "{ success: true, result: ++this.calls }");
    expect([(await run("count_calls")).output, (await run("count_calls")).output]).toEqual([1, 1]);
  });

  test.each([
    [
      "two tools of one name",
      `[${tool("get_it")}, ${tool("get_it")}]`,
      /\/tools\/1\/name: is "get_it", as is another tool's/,
    ],
    [
      "a type that is invalid",
      `[${tool("get_it", '{ when: { type: "date" } }')}]`,
      /\/tools\/0\/parameters\/when\/type: must be one of string/,
    ],
    [
      "a default outside its enum",
      `[${tool("get_it", '{ u: { type: "string", enum: ["a"], default: "b" } }')}]`,
      /\/tools\/0\/parameters\/u\/default/,
    ],
    ["a tool without a description", '[{ name: "get_it" }]', /\/tools\/0\/description/],
    ["no list", "{}", /\/tools: must be the list that list_tools answers/],
    ["nothing at all", "undefined", /\/tools: must be the list/],
  ])("is refused where it lists %s [E08 E09 E15 E17]", async (_what, tools, message) => {
    const { code, message: words } = await refusalOf(tools);
    expect(code).toBe("load_error");
    expect(words).toMatch(message);
    expect(words).not.toMatch(folder);
    expect(engine.get("get_it")).toBeUndefined();
  });

  test.each([
    ["a failure", "{ success: false, error: 'City X not found' }", "tool_error", /^City X not found$/],
    ["a failure without words", "{ success: false }", "tool_error", /gave no error/],
    ["a result that does not say whether it is one", "{ result: 1 }", null, /\/success: must be true or false/],
    ["an error that is no text", "{ success: false, error: { a: 1 } }", null, /\/error: must be a string/],
    ["nothing", "undefined", null, /must be an object with success/],
    ["a list", "[]", null, /must be an object with success/],
  ])("%s of its tool is told as what it is [E18 E19]", async (_what, result, code, message) => {
    await register(`[${tool("try_it")}]`, result);
    const { success, error } = await run("try_it");
    expect(success).toBe(false);
    expect(error?.code).toMatch(code ?? /^(?:tool_error|invalid_output)$/);
    expect(error?.message).toMatch(message);
  });
});

test.each([
  ["a default function", 'export const spec = { name: "helped", description: "d" };\nexport default () => "own";'],
  [
    "mount",
    'export async function mount(at) { await at.mount("tools", { name: "helped", description: "d", execute: async () => ({ output: "own" }) }); }',
  ],
])("classes that look like providers do not stand in the way of %s", async (_what, own) => {
  const like = "{ list_tools() { return []; } execute_tool() {} }";
  const path = join(folder, `helped${++files}.js`);
  writeFileSync(path, `export class One ${like}\nexport class Two ${like}\n${own}`);
  await engine.register(path);
  expect((await engine.execute({ name: "helped", arguments: {} })).output).toBe("own");
});
