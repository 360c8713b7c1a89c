import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  createRegistry,
  type Fields,
  type Registry,
  type ToolsApiSpec,
} from "../../../src/contrib/agentspace/index.ts";
import { createEngine, type Engine, type ExecuteOptions, type ToolCall } from "../../../src/glovebox/index.ts";
import { moduleFile, sample } from "./bench.ts";

let engine: Engine;
let registry: Registry;

beforeAll(async () => {
  engine = await createEngine({
    workers: 1,
    executor: "threads",
    maxLimits: { wallMs: 90_000 },
  });
  registry = await createRegistry(engine, { path: ":memory:" });
});

afterAll(async () => {
  await registry.close();
  await engine.close();
});

let last = 0;

/** Registers a tool of this module text; answers what calls it. */
async function tool(text: string, spec: Partial<ToolsApiSpec> = {}, tool_data: Record<string, number> = {}) {
  const toolId = `tool-${++last}`;
  registry.register(
    sample("greeting-tool-v1", {
      tool_id: toolId,
      tool_data,
      tool_source_code_link: await moduleFile(text),
      tools_api_spec: { input: {}, output: {}, ...spec },
    }),
  );
  const call = (args: ToolCall["arguments"] = {}, more: Partial<ToolCall> = {}, options: ExecuteOptions = {}) =>
    registry.execute({ name: toolId, arguments: args, ...more }, options);
  return { toolId, call };
}

test("a tool's data have the digits of their integers, from the registry's file on", async () => {
  const text = `export class AgentSpaceV1Tool {
    constructor(id, data) { this.data = data; }
    execute() { return { types: this.data.ids.map((id) => typeof id), ids: this.data.ids }; }
  }`;
  const data = { ids: [1915883588174806058n, -(2n ** 200n), 7] } as unknown as Record<string, number>;
  const { call } = await tool(text, {}, data);
  expect((await call()).output).toEqual({
    types: ["bigint", "bigint", "number"],
    ids: ["1915883588174806058", `${-(2n ** 200n)}`, 7],
  });
});

const withClass = (body: string) => tool(`export class AgentSpaceV1Tool { ${body} }`);

const preset = (type: "number", value: number): Fields[string] => ({ type, default: value });

describe("the class", () => {
  test("must be named AgentSpaceV1Tool [C16]", async () => {
    const { call } = await tool("export class Other { execute() { return {}; } }");
    const { error } = await call();
    expect(error).toMatchObject({ code: "load_error" });
  });

  test.each([
    ["glovebox", 'export const spec = { name: "own", description: "Ours." }; export default () => "theirs";'],
    [
      "strands",
      'export const TOOL_SPEC = { name: "own" }; export const own = () => ({ status: "success", content: [] });',
    ],
    [
      "amplifier",
      'export const mount = async () => ({ name: "own", description: "Own.", execute: async () => ({}) });',
    ],
  ])("is what a record is about: a module of %s becomes no tool, under no name [C16]", async (contract, text) => {
    await engine.register({ name: "own", description: "The embedder's.", source: "export default () => 'mine';" });
    const { toolId, call } = await tool(text);
    expect((await call()).error).toMatchObject({
      code: "load_error",
      message: expect.stringContaining("is not written for the contract agentspace"),
      details: { contract },
    });
    expect(engine.get(toolId)).toBeUndefined();
    expect((await engine.execute({ name: "own", arguments: {} })).output).toBe("mine");
    await engine.unregister("own");
  });

  test("is made with the tool's id and its data [C17]", async () => {
    const body = "constructor(...given) { this.given = given; } execute() { return { given: this.given }; }";
    const { toolId, call } = await tool(`export class AgentSpaceV1Tool { ${body} }`, {}, { days: 7 });
    expect((await call()).output).toEqual({ given: [toolId, { days: 7 }] });
  });

  test("that cannot be made is told apart from one that fails when it is called [C18]", async () => {
    const early = await withClass("constructor() { throw new TypeError('no model'); } execute() { return {}; }");
    const late = await withClass("execute() { throw new TypeError('no model'); }");
    expect((await early.call()).error).toMatchObject({
      code: "load_error",
      message: expect.stringContaining("no model"),
    });
    expect((await late.call()).error).toMatchObject({ code: "tool_error", type: "TypeError", message: "no model" });
  });

  test("must have execute [C19]", async () => {
    const { call } = await withClass("execute_command() { return 1; }");
    expect((await call()).error).toMatchObject({
      code: "load_error",
      message: expect.stringContaining("the class AgentSpaceV1Tool has no method execute"),
    });
  });

  test("may do without commands, and then says so of every one [C23 C24]", async () => {
    const { call } = await withClass("execute() { return { done: true }; }");
    expect((await call()).output).toEqual({ done: true });
    expect((await call({}, { command: "any" })).error).toMatchObject({
      code: "tool_error",
      type: "NotImplementedError",
      message: expect.stringMatching(/^tool "tool-\d+" has no commands$/),
    });
  });

  test("may answer now or later [C22]", async () => {
    const now = await withClass("execute({ a }) { return { a }; }");
    const later = await withClass(
      "async execute({ a }) { await new Promise((go) => setTimeout(go, 1)); return { a }; }",
    );
    expect([(await now.call({ a: 1 })).output, (await later.call({ a: 2 })).output]).toEqual([{ a: 1 }, { a: 2 }]);
  });

  test("answers with an object, and with nothing else [C21]", async () => {
    for (const answer of ["null", "7", "'text'", "[1]", "undefined", "Promise.resolve([])"]) {
      const { call } = await withClass(`execute() { return ${answer}; }`);
      const { error } = await call();
      expect(error?.message).toMatch(/^execute must return an object, but returned /);
    }
  });
});

describe("the specification", () => {
  test("is what input has to be, and input that is not does not reach the tool [C20 C33]", async () => {
    const input: Fields = { days: { type: "integer", min: 1, max: 30 }, unit: { type: "string", default: "metric" } };
    const { call } = await tool("export class AgentSpaceV1Tool { execute(input) { return { input }; } }", { input });
    expect((await call({ days: 30 })).output).toEqual({ input: { days: 30, unit: "metric" } });
    const { error, metadata } = await call({ days: 31 });
    expect({ code: error?.code, attempts: metadata.attempts }).toEqual({ code: "invalid_arguments", attempts: 0 });
  });

  test("is what output has to be [C21 C34]", async () => {
    const output: Fields = { result: { type: "number" } };
    const { call } = await tool("export class AgentSpaceV1Tool { execute({ a }) { return { result: a }; } }", {
      output,
    });
    expect((await call({ a: 1 })).output).toEqual({ result: 1 });
    const { error } = await call({ a: "1" });
    expect(error?.code).toBe("invalid_output");
    expect(JSON.stringify(error?.details)).toContain("/result");
  });

  test("holds for input, and not for the data of commands [C25]", async () => {
    const spec: Partial<ToolsApiSpec> = { input: { a: { type: "number", required: true } }, output: {} };
    const body = "execute() { return {}; } execute_command(name, data) { return [name, data]; }";
    const { call } = await tool(`export class AgentSpaceV1Tool { ${body} }`, spec);
    expect((await call({ a: "text" }, { command: "any" })).output).toEqual(["any", { a: "text" }]);
  });
});

describe("management", () => {
  const SLOW = "export class AgentSpaceV1Tool { execute() { return new Promise((go) => setTimeout(go, 60_000)); } }";

  test("gives the tool its timeout, in seconds, within what the engine allows [F10 C43]", async () => {
    const { call, toolId } = await tool(SLOW, { management: { timeout: preset("number", 0.05) } });
    expect((await call()).error?.code).toBe("wall_limit");
    expect(engine.get(toolId)?.limits.wallMs).toBe(50);
    const minute = await tool(SLOW, { management: { timeout: preset("number", 60) } });
    expect((await registry.load(minute.toolId)).limits.wallMs).toBe(60_000);
    const hour = await tool(SLOW, { management: { timeout: preset("number", 3_600) } });
    expect((await registry.load(hour.toolId)).limits.wallMs).toBe(90_000);
  });

  test("is what counts, and not what the module says of itself, beside what it has no place for [C43]", async () => {
    const said = "export const spec = { version: '9.9.9', tags: ['own'], limits: { wallMs: 20_000, memoryMb: 32 } };";
    const toolId = `tool-${++last}`;
    const record = sample("greeting-tool-v1", {
      tool_id: toolId,
      tool_tags: ["theirs"],
      tool_metadata: { version: "1.0.0" },
      tool_source_code_link: await moduleFile(`${said} ${SLOW}`),
      tools_api_spec: { input: {}, output: {}, management: { timeout: preset("number", 0.05) } },
    });
    registry.register(record, { limits: { cpuMs: 123 } });
    const { error } = await registry.execute({ name: toolId, arguments: {} });
    expect([error?.code, error?.message]).toEqual(["wall_limit", expect.stringContaining("50 ms")]);
    expect(engine.get(toolId)).toMatchObject({
      version: "1.0.0",
      tags: ["theirs"],
      limits: { wallMs: 50, memoryMb: 32, cpuMs: 123 },
    });
  });

  test("is a default: a call may say less, or more [C44]", async () => {
    const slow = await tool(SLOW, { management: { timeout: preset("number", 60) } });
    expect((await slow.call({}, {}, { limits: { wallMs: 50 } })).error?.code).toBe("wall_limit");
    const body = "async execute() { await new Promise((go) => setTimeout(go, 300)); return { done: true }; }";
    const short = await tool(`export class AgentSpaceV1Tool { ${body} }`, {
      management: { timeout: preset("number", 0.05) },
    });
    expect((await short.call({}, {}, { limits: { wallMs: 60_000 } })).output).toEqual({ done: true });
    const text = "export class AgentSpaceV1Tool { execute() { throw new Error('again'); } }";
    const twice = await tool(text, { management: { retries: preset("number", 2) } });
    const attempts = async (retries: number) => (await twice.call({}, {}, { retries })).metadata.attempts;
    expect([await attempts(0), await attempts(1), await attempts(4)]).toEqual([1, 2, 5]);
    expect((await twice.call({}, {}, { retries: 6 })).error?.code).toBe("invalid_arguments");
  });

  test("is a default within the engine's ceiling, whatever a call says [C44]", async () => {
    await using small = await createEngine({ workers: 1, executor: "threads", maxLimits: { wallMs: 100 } });
    await using other = await createRegistry(small, { path: ":memory:" });
    const link = await moduleFile(SLOW);
    const management = { timeout: preset("number", 60) };
    const spec: ToolsApiSpec = { input: {}, output: {}, management };
    other.register(sample("greeting-tool-v1", { tool_source_code_link: link, tools_api_spec: spec }));
    const call = { name: "greeting-tool-v1", arguments: {} };
    const { error } = await other.execute(call, { limits: { wallMs: 60_000 } });
    expect([error?.code, error?.message]).toEqual(["wall_limit", expect.stringContaining("100 ms")]);
  });

  test("says how often a tool that fails is tried again; where it says nothing, never [C45]", async () => {
    const text = "export class AgentSpaceV1Tool { execute() { throw new Error('again'); } }";
    const attempts = async (management: Fields) => (await (await tool(text, { management })).call()).metadata.attempts;
    expect(await attempts({ retries: preset("number", 2) })).toBe(3);
    expect(await attempts({ retries: preset("number", 0) })).toBe(1);
    expect(await attempts({})).toBe(1);
  });

  test("repeats nothing that is refused before it runs, or by a policy [C46]", async () => {
    const input: Fields = { a: { type: "number", required: true } };
    const management: Fields = { retries: preset("number", 2) };
    const text =
      "export class AgentSpaceV1Tool { async execute() { await fetch('https://example.com/'); return {}; } }";
    const { call } = await tool(text, { input, management });
    const invalid = await call({});
    expect([invalid.error?.code, invalid.metadata.attempts]).toEqual(["invalid_arguments", 0]);
    const denied = await call({ a: 1 });
    expect([denied.error?.code, denied.metadata.attempts]).toEqual(["capability_denied", 1]);
  });
});
