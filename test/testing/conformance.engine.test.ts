import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEngine, type Engine, type ToolDefinition } from "../../src/glovebox/index.ts";
import { type CheckResult, conformance, type ConformanceOptions } from "../../src/testing/index.ts";

const FIXTURES = fileURLToPath(new URL("../../fixtures/", import.meta.url));
const CHECKS = [
  "registers",
  "definition",
  "schema",
  "valid input",
  "same again",
  "invalid input",
  "output",
  "cancel",
  "concurrency",
  "contracts",
];

let engine: Engine;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "glovebox-conformance-"));
  engine = await createEngine({ workers: 1, executor: "threads" });
});

afterAll(async () => {
  await engine.close();
  rmSync(folder, { recursive: true });
});

const tool = (source: string, more: Partial<ToolDefinition> = {}): ToolDefinition => ({
  name: "make_thing",
  description: "Makes a thing for a test.",
  source,
  ...more,
});

/** The checks that failed, by their names. */
const failed = (results: readonly CheckResult[]) =>
  new Map(results.filter(({ ok }) => !ok).map(({ check, message }) => [check, message]));

const check = async (given: Parameters<typeof conformance>[0], options: ConformanceOptions = {}) =>
  failed(await conformance(given, { engine, ...options }));

const isState = { source: "let calls = 0; export default () => ++calls", isolation: "shared" } as const;
const NUMBER = { type: "object", properties: { n: { type: "number", minimum: 3 } }, required: ["n"] };

describe("a conformance run", () => {
  test("finds nothing wrong with a good tool, and says what it has looked at", async () => {
    const results = await conformance(`${FIXTURES}tools/add.js`, { engine });
    expect(failed(results)).toEqual(new Map());
    expect(results.map((one) => one.check)).toEqual(CHECKS);
    expect(results.every((one) => one.tool === "add" && one.message !== "")).toBe(true);
  });

  test("takes an engine of its own where it is given none, and leaves none behind", async () => {
    expect(failed(await conformance(`${FIXTURES}tools/add.js`))).toEqual(new Map());
    expect(engine.stats().state).toBe("open");
  });

  test("looks at every tool of a module", async () => {
    const inputs = { get_current_weather: [{ city: "Paris" }], get_weather_forecast: [{ city: "Oslo", days: 2 }] };
    const results = await conformance(`${FIXTURES}contracts/xaibo/weather.js`, { engine, inputs });
    expect(failed(results)).toEqual(new Map());
    expect(results.map((one) => one.tool)).toEqual([
      ...CHECKS.map(() => "get_current_weather"),
      ...CHECKS.map(() => "get_weather_forecast"),
    ]);
  });

  const modules = {
    amplifier: `export async function mount() {
      return { name: "make_a", description: "Makes an answer.", input_schema: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
        async execute({ n }) { return { success: true, output: { n } }; } };
    }`,
    strands: `export const TOOL_SPEC = { name: "make_b", description: "Makes an answer.",
      inputSchema: { json: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] } } };
      export function make_b({ toolUseId, input }) { return { toolUseId, status: "success", content: [{ json: input }] }; }`,
    xaibo: `export class P {
      async list_tools() { return [{ name: "make_c", description: "Makes an answer.", parameters: { n: { type: "integer", required: true, description: "How many" } } }]; }
      async execute_tool(name, parameters) { return { success: true, result: parameters }; } }`,
    agentspace: "export class AgentSpaceV1Tool { async execute(input) { return { input }; } }",
  };

  test.each(Object.entries(modules))("passes a tool written for %s", async (contract, text) => {
    const path = join(folder, `${contract}_tool.js`);
    writeFileSync(path, text);
    const results = await conformance(path, { engine });
    expect(failed(results)).toEqual(new Map());
    expect(results[0]).toMatchObject({ check: "registers", message: `as a ${contract} tool` });
  });

  test.each<[string, ToolDefinition, ConformanceOptions, string, RegExp]>([
    ["cannot be loaded", tool("export default () => {"), {}, "registers", /make_thing/],
    [
      "has a schema that is invalid",
      tool("export default () => 1", { inputSchema: { type: "objekt" } }),
      {},
      "registers",
      /inputSchema at \/type is not valid/,
    ],
    ["takes what is no object", tool("export default () => 1", { inputSchema: {} }), {}, "schema", /type "object"/],
    [
      "throws",
      tool("export default () => { throw new RangeError('no') }"),
      {},
      "valid input",
      /^tool_error: no; .*give better ones/,
    ],
    [
      "refuses its author's arguments",
      tool("export default () => 1", { inputSchema: NUMBER }),
      { inputs: [{ n: 1 }] },
      "valid input",
      /^invalid_arguments: \/n must be >= 3, but got number 1$/,
    ],
    [
      "keeps state from call to call",
      tool(isState.source, { isolation: isState.isolation }),
      {},
      "same again",
      /does state leak/,
    ],
    ["gives no JSON", tool("export default () => () => 1"), {}, "output", /^invalid_output/],
    [
      "gives too much",
      tool("export default () => 'x'.repeat(2_000)", { limits: { outputBytes: 1_000 } }),
      {},
      "output",
      /^output_too_large/,
    ],
  ])("says of a tool that %s which check fails and why", async (_what, definition, options, name, message) => {
    const found = await check(definition, options);
    expect(found.get(name)).toMatch(message);
  });

  test("says what is missing where no arguments can be made", async () => {
    const inputSchema = { type: "object", properties: { d: { type: "string", pattern: "^\\d{4}$" } }, required: ["d"] };
    const definition = tool("export default ({ d }) => d", { inputSchema });
    expect((await check(definition)).get("valid input")).toMatch("give some as `inputs`");
    expect(await check(definition, { inputs: [{ d: "2024" }] })).toEqual(new Map());
  });

  test("lets a tool depend on time and chance that says so", async () => {
    const definition = tool("export default () => Math.random()");
    expect((await check(definition)).has("same again")).toBe(true);
    expect(await check(definition, { isDeterministic: false })).toEqual(new Map());
  });

  test("tells what a definition's lint says, without failing for it", async () => {
    const results = await conformance(tool("export default () => 1", { name: "Thing" }), { engine });
    const definition = results.find((one) => one.check === "definition");
    expect(definition).toMatchObject({ ok: true });
    expect(definition?.message).toMatch(/warning: .*does not begin with what the tool does/);
  });

  test("cancels a slow tool, and finds that the next call is as ever", async () => {
    const definition = tool("export default () => new Promise((done) => setTimeout(done, 30, 'done'))");
    expect(await check(definition)).toEqual(new Map());
  });
});
