import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  createEngine,
  type Engine,
  type Recording,
  replayCall,
  type ToolResult,
} from "../../../../src/glovebox/index.ts";
import { type Library, type Modules, openModules, toolModule } from "./modules.ts";

/** Schemas that say more than their JSON Schemas, and the arguments that only they refuse. */
const MORE: readonly { name: string; library: Library; schema: string; node: string; message: string }[] = [
  {
    name: "zod refine",
    library: "zod",
    schema: 'z.object({ code: z.string().refine((code) => code !== "x", "x is taken") })',
    node: "inputSchema /properties/code: custom",
    message: "/code: x is taken",
  },
  {
    name: "zod superRefine of the whole",
    library: "zod",
    schema:
      'z.object({ code: z.string() }).superRefine(({ code }, context) => { if (code === "x") context.addIssue({ code: "custom", path: ["code"], message: "not x" }); })',
    node: "inputSchema : custom",
    message: "/code: not x",
  },
  {
    name: "valibot check",
    library: "valibot",
    schema:
      'toStandardJsonSchema(v.object({ code: v.pipe(v.string(), v.check((code) => code !== "x", "x is taken")) }))',
    node: "inputSchema : check",
    message: "/code: x is taken",
  },
  {
    name: "valibot transform",
    library: "valibot",
    schema:
      'toStandardJsonSchema(v.object({ code: v.pipe(v.string(), v.transform((code) => code.length === 1 ? "" : code), v.nonEmpty("too short")) }))',
    node: "inputSchema : transform",
    message: "/code: too short",
  },
  {
    name: "an asynchronous check",
    library: "valibot",
    schema:
      'toStandardJsonSchema(v.objectAsync({ code: v.pipeAsync(v.string(), v.checkAsync(async (code) => code !== "x", "x is taken")) }))',
    node: "inputSchema : object",
    message: "/code: x is taken",
  },
];

let engine: Engine;
let modules: Modules;
let count = 0;

beforeAll(async () => {
  modules = await openModules();
  engine = await createEngine({ workers: 1 });
});

afterAll(async () => {
  await engine.close();
  await modules[Symbol.asyncDispose]();
});

/** Registers a tool and returns its description, and what calls it. */
async function add(library: Library, members: string) {
  const name = `tool-${++count}`;
  await engine.register({ path: await modules.write(`${name}.ts`, toolModule(library, name, members)) });
  const info = engine.list().find((one) => one.name === name);
  const call = (args: Record<string, unknown>): Promise<ToolResult> => engine.execute({ name, arguments: args });
  return { info, call };
}

describe.each(MORE)("$name", ({ library, schema, node, message }) => {
  test("is enforced in the isolate, with its own message", async () => {
    const { info, call } = await add(library, `inputSchema: ${schema}, run: ({ code }) => code`);
    expect(info).toMatchObject({ parses: "isolate" });
    expect(info?.parsesReason).toContain(node.split(" : ")[0]);
    const { error } = await call({ code: "x" });
    expect(error).toMatchObject({ code: "invalid_arguments", message });
    expect(error?.details).toMatchObject({
      violations: [{ pointer: "/code", keyword: "custom", received: 'string "x"' }],
    });
    expect((await call({ code: "yes" })).output).toBe("yes");
  });
});

test("ArkType's narrow and morphs are enforced in a context of their own: it generates code with a global", async () => {
  const { info, call } = await add(
    "arktype",
    `inputSchema: type({ code: type("string.trim").narrow((code, ctx) => code !== "x" || ctx.mustBe("another code")), size: "number = 3" }),
     limits: { cpuMs: 10_000 }, run: (input) => input`,
  );
  expect(info).toMatchObject({
    parses: "isolate",
    isolation: "context",
    isolationReason: expect.stringContaining("variables of the global object"),
  });
  expect((await call({ code: " x " })).error).toMatchObject({ code: "invalid_arguments" });
  expect((await call({ code: " y " })).output).toEqual({ code: "y", size: 3 });
});

test("ArkType's narrow of the whole value refuses it: its empty path is a list of the library's own class", async () => {
  const { call } = await add(
    "arktype",
    `inputSchema: type({ from: "number", to: "number" }).narrow(({ from, to }, ctx) => from < to || ctx.mustBe("in order")),
     limits: { cpuMs: 10_000 }, run: (input) => input`,
  );
  const { error } = await call({ from: 2, to: 1 });
  expect(error).toMatchObject({ code: "invalid_arguments", details: { violations: [{ pointer: "" }] } });
  expect(error?.message).toContain("in order");
});

test("run gets what a transform makes, and a default that is its output", async () => {
  const { call } = await add(
    "zod",
    "inputSchema: z.object({ code: z.string().transform((code) => code.length).default(5), n: z.coerce.number().catch(7) }), run: (input) => input",
  );
  expect((await call({ code: "four", n: "12" })).output).toEqual({ code: 4, n: 12 });
  expect((await call({ n: "none" })).output).toEqual({ code: 5, n: 7 });
});

test("the JSON Schema refuses first, without the schema's own code", async () => {
  const { call } = await add("zod", "inputSchema: z.object({ code: z.string().trim() }), run: (input) => input");
  expect((await call({ code: 1 })).error?.message).toBe("/code must be string, but got number 1");
});

test("an output schema that says more makes the output, and refuses it", async () => {
  const { info, call } = await add(
    "zod",
    'outputSchema: z.object({ n: z.number().refine((n) => n < 9, "too many"), unit: z.string().default("kg") }), run: ({ n }) => ({ n, more: 1 })',
  );
  expect(info?.parses).toBe("isolate");
  expect((await call({ n: 1 })).output).toEqual({ n: 1, unit: "kg" });
  expect((await call({ n: 9 })).error).toMatchObject({ code: "invalid_output" });
});

test.each(["context", "isolate", "shared"])("arguments are refused at the isolation %s as well", async (isolation) => {
  const { info, call } = await add(
    "zod",
    `isolation: "${isolation}", inputSchema: z.object({ code: z.string().refine((code) => code !== "x", "x is taken") }), run: ({ code }) => code`,
  );
  expect(info?.isolation).toBe(isolation);
  expect((await call({ code: "x" })).error).toMatchObject({ code: "invalid_arguments", message: "/code: x is taken" });
  expect((await call({ code: "y" })).output).toBe("y");
});

test("an error in a refine is the tool's", async () => {
  const { call } = await add(
    "zod",
    'inputSchema: z.object({ code: z.string().refine(() => { throw new RangeError("broken"); }) }), run: () => 1',
  );
  expect((await call({ code: "x" })).error).toMatchObject({
    code: "tool_error",
    type: "RangeError",
    message: "broken",
  });
});

test("a schema that cannot write itself as JSON Schema is refused with what to do", async () => {
  await expect(add("valibot", "inputSchema: v.object({}), run: () => 1")).rejects.toThrow(
    /inputSchema: a schema of valibot cannot write itself as JSON Schema; wrap it with toStandardJsonSchema/,
  );
});

test("a recorded call of a parsing tool is replayed with its parse", async () => {
  const { info } = await add("zod", "inputSchema: z.object({ code: z.string().trim() }), run: ({ code }) => code");
  const result = await engine.execute({ name: info?.name ?? "", arguments: { code: " x " } }, { record: true });
  const { recording } = result.metadata;
  if (recording === undefined || recording === null) throw new Error("there is no recording");
  const replayed = await replayCall(recording as Recording);
  expect(replayed.result.output).toBe("x");
  expect(replayed.isSame).toBe(true);
});
