import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { createEngine, type Engine } from "../../../../src/glovebox/index.ts";
import { validateModules } from "../../../../src/testing/validation/index.ts";
import { type Modules, openModules, toolModule } from "./modules.ts";

let engine: Engine;
let modules: Modules;

beforeAll(async () => {
  modules = await openModules();
  engine = await createEngine({ workers: 1 });
});

afterAll(async () => {
  await engine.close();
  await modules[Symbol.asyncDispose]();
});

const found = (name: string) => engine.list().find((one) => one.name === name);

test("a definition takes a schema of a library that says no more than its JSON Schema", async () => {
  await engine.register({
    name: "add",
    description: "Adds two numbers.",
    source: "export default ({ a, b }) => ({ sum: a + b })",
    inputSchema: z.object({ a: z.number(), b: z.number().default(1) }),
    outputSchema: z.object({ sum: z.number() }),
  });
  expect((await engine.execute({ name: "add", arguments: { a: 1 } })).output).toEqual({ sum: 2 });
  expect((await engine.execute({ name: "add", arguments: { a: "1" } })).error?.code).toBe("invalid_arguments");
  expect(found("add")?.inputSchema).toMatchObject({ type: "object", required: ["a"] });
});

test("a definition refuses a schema that says more, and says where it belongs", async () => {
  const registering = engine.register({
    name: "more",
    description: "Refines.",
    source: "export default () => 1",
    inputSchema: z.object({ a: z.string().refine((a) => a !== "x") }),
  });
  await expect(registering).rejects.toThrow(
    /tool "more" has an inputSchema that says more than its JSON Schema \(.properties.a: custom\).*defineTool/,
  );
});

test("a JSON Schema with a member that looks like a library's is a JSON Schema", async () => {
  const inputSchema = { type: "object", "~standard": { vendor: "zod" } };
  await engine.register({ name: "odd", description: "Takes all.", source: "export default () => 1", inputSchema });
  expect((await engine.execute({ name: "odd", arguments: {} })).output).toBe(1);
});

test("the text of a definition may be a module of defineTool, whose facts the definition overrides", async () => {
  await engine.register({
    name: "given",
    description: "The embedder's words.",
    source: `import { defineTool } from "glovebox/tool";
      export default defineTool({ name: "own", description: "Own words.", tags: ["own"], config: { n: 2 },
        inputSchema: { type: "object", properties: { a: { type: "integer", default: 5 } } }, run: ({ a }, { config }) => a * config.n });`,
  });
  expect(found("given")).toMatchObject({ description: "The embedder's words.", tags: ["own"], parses: "host" });
  expect((await engine.execute({ name: "given", arguments: {} })).output).toBe(10);
});

test("a tool keeps its examples, its limits and its capabilities", async () => {
  const members =
    "capabilities: { kv: true }, limits: { cpuMs: 99 }, examples: [{ input: { a: 1 }, output: 2 }], run: ({ a }) => a + 1";
  await engine.register({ path: await modules.write("kept.ts", toolModule("json", "kept", members)) });
  expect(found("kept")).toMatchObject({
    capabilities: { kv: true },
    limits: { cpuMs: 99 },
    examples: [{ input: { a: 1 }, output: 2 }],
  });
});

test.each([
  ["a member that no tool has", "colour: 1, run: () => 1", /colour/],
  ["no run", "", /defineTool takes a function run/],
  ["a run that is a text", 'run: "1"', /defineTool takes a function run/],
  ["a name that no tool may have", 'run: () => 1, name: "a b"', /name/],
])("a tool with %s is refused", async (_what, members, message) => {
  const file = await modules.write("wrong.ts", toolModule("json", "wrong", members));
  await expect(engine.register({ path: file })).rejects.toThrow(message);
});

test("a Date in an output is a text, and what is undefined is absent", async () => {
  const members = "run: () => ({ at: new Date(0), none: undefined, inner: { none: undefined, n: 1 } })";
  await engine.register({ path: await modules.write("date.ts", toolModule("json", "date", members)) });
  const { output } = await engine.execute({ name: "date", arguments: {} });
  expect(output).toEqual({ at: "1970-01-01T00:00:00.000Z", inner: { n: 1 } });
  expect(Object.keys(output as object)).toEqual(["at", "inner"]);
});

test("a tool whose module cannot be told apart is called whole, and validate says why and what it costs", async () => {
  const members = "run: () => z.string().parse('whole')";
  const file = await modules.write("whole.ts", toolModule("zod", "whole", members));
  const [validation] = await validateModules(engine, file);
  const checks = validation?.checks ?? [];
  expect(found("whole")).toMatchObject({ parses: "host", wholeReason: "its run needs the schema library" });
  expect(checks.find(({ about }) => about === "bundle")?.message).toMatch(
    /^of calls is whole: its run needs the schema library; each call evaluates all of its module, \d+ bytes in [\d.]+ ms$/,
  );
  expect(checks.find(({ about }) => about === "output-unchecked")?.level).toBe("info");
  expect((await engine.execute({ name: "whole", arguments: {} })).output).toBe("whole");
});

test("validate and explain name the node that only the isolate checks", async () => {
  const members =
    "inputSchema: z.object({ code: z.string().trim() }), outputSchema: z.string(), run: ({ code }) => code";
  const file = await modules.write("parsing.ts", toolModule("zod", "parsing", members));
  const [validation] = await validateModules(engine, file);
  const parse = validation?.checks.find(({ about }) => about === "parse");
  expect(parse?.level).toBe("info");
  expect(parse?.message).toMatch(/no JSON Schema says inputSchema .properties.code: overwrite; each call evaluates/);
  expect(validation?.checks.some(({ about }) => about === "output-unchecked")).toBe(false);
  const { schemas } = engine.explain("parsing") ?? {};
  expect(schemas).toMatchObject({ parses: "isolate", parsesReason: "inputSchema /properties/code: overwrite" });
  expect(schemas?.evaluationMs).toBeGreaterThan(0);
});

test("an error of a half keeps the lines of its module", async () => {
  const text = toolModule("zod", "lines", "inputSchema: z.object({}),\n\n\n run() {\n throw new Error('here'); }");
  await engine.register({ path: await modules.write("lines.ts", text) });
  const { error } = await engine.execute({ name: "lines", arguments: {} });
  const line = text.split("\n").findIndex((one) => one.includes("throw")) + 1;
  expect(JSON.stringify(error?.details)).toContain(`lines.ts:${line}:`);
});
