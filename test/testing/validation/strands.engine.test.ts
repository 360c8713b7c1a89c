import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { validateModules } from "../../../src/testing/validation/index.ts";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";
import { Folder, SAMPLES } from "../../contrib/strands/folder.ts";

let engine: Engine;

beforeAll(async () => {
  engine = await createEngine({ workers: 1, executor: "threads" });
});

afterAll(() => engine.close());

/** What is found in a module, without what is in order. */
async function problems(text: string): Promise<string[]> {
  using folder = new Folder({ "made.js": text });
  const [validation] = await validateModules(engine, folder.at("made.js"));
  return (validation?.checks ?? [])
    .filter(({ level }) => level !== "pass")
    .map(({ level, about, message }) => `${level} ${about}: ${message}`);
}

const SCHEMA = `{ json: { type: "object", properties: { text: { type: "string", description: "What." } }, required: ["text"] } }`;
const ANSWER = `return { toolUseId: tool.toolUseId, status: "success", content: [{ text: "done" }] };`;

/** A module that is as it should be, but for what is changed. */
function made({
  spec = `name: "made", description: "Does something with a text."`,
  schema = `inputSchema: ${SCHEMA}`,
  name = "made",
  body = ANSWER,
} = {}): string {
  return `export const TOOL_SPEC = { ${[spec, schema].filter((part) => part !== "").join(", ")} };
    export function ${name}(tool) { ${body} }`;
}

describe("a module of Strands'", () => {
  test.each(["echo", "calculator", "my_tool"])("of the document's passes: %s", async (name) => {
    const [validation] = await validateModules(engine, join(SAMPLES, `${name}.js`));
    expect(validation?.checks.filter(({ level }) => level === "error")).toEqual([]);
  });

  test("that keeps its contract passes", async () => {
    expect(await problems(made())).toEqual([]);
  });

  test.each([
    ["a description", { spec: `name: "made"` }, "error TOOL_SPEC: has no description"],
    ["an input schema", { schema: "" }, "error inputSchema: is missing"],
    ["a name", { spec: `description: "Does something with a text."` }, "error TOOL_SPEC: has no name"],
  ])("needs %s, though it is found without [D07]", async (_what, change, problem) => {
    expect(await problems(made(change))).toContainEqual(expect.stringContaining(problem));
  });

  test("has its schema in json, of the type object [D09]", async () => {
    const bare = made({ schema: `inputSchema: { type: "object" }` });
    expect(await problems(bare)).toContainEqual(expect.stringContaining("error inputSchema: has no json"));
    const other = made({ schema: `inputSchema: { json: { type: "array" } }` });
    expect(await problems(other)).toContainEqual("error inputSchema: is not of the type object");
  });

  test("should name its properties, what is required, and types that there are [D09 D10]", async () => {
    const empty = await problems(made({ schema: `inputSchema: { json: { type: "object" } }` }));
    expect(empty).toContainEqual("warning inputSchema: names no properties");
    expect(empty).toContainEqual("warning inputSchema: does not say which properties are required");
    const odd = `inputSchema: { json: { type: "object", properties: { a: { type: "null" } }, required: [] } }`;
    expect(await problems(made({ schema: odd }))).toContainEqual(expect.stringContaining("of a type of its own: a"));
  });

  test("exports a function under its own name [D08]", async () => {
    const found = await problems(made({ name: "another" }));
    expect(found).toContainEqual(`error function: is not exported under the name in TOOL_SPEC, "made"`);
  });

  test("should answer with text [D25]", async () => {
    const json = `return { toolUseId: tool.toolUseId, status: "success", content: [{ json: { a: 1 } }] };`;
    expect(await problems(made({ body: json }))).toEqual([
      "info content: is not one text; most tools answer with { text } only",
    ]);
  });

  test("should validate its input, and answer what is missing with an error [D25]", async () => {
    const optional = `inputSchema: { json: { type: "object", properties: { text: { type: "string", description: "What." } }, required: [] } }`;
    const body = `tool.input.text.trim(); ${ANSWER}`;
    expect(await problems(made({ schema: optional, body }))).toContainEqual(
      expect.stringMatching(/^warning execute: given no input, throws: TypeError: .*catch it and return/),
    );
    const kind = `if (!tool.input.text) return { toolUseId: "", status: "error", content: [{ text: "No text" }] }; ${ANSWER}`;
    expect(await problems(made({ schema: optional, body: kind }))).toEqual([]);
  });

  test("should catch all exceptions [D25]", async () => {
    expect(await problems(made({ body: `throw new Error("no luck");` }))).toEqual([
      `warning execute: given input that fits, throws: Error: no luck; catch it and return { status: "error", content: [{ text }] }`,
    ]);
  });
});
