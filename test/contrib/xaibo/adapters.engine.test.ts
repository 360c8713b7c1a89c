import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ToolExecutionError, toolProvider } from "../../../src/contrib/xaibo/index.ts";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";

const MAKE = `const make = ({ what }) => {
  const cycle = {};
  cycle.self = cycle;
  switch (what) {
    case "throw": throw new RangeError("no such thing");
    case "nan": return { value: 0 / 0 };
    case "cycle": return { value: cycle };
    case "large": return { value: "x".repeat(5_000) };
    default: return { value: what };
  }
};
export const spec = { limits: { outputBytes: 2_000 } };
`;
const schema = `{ type: "object", properties: { what: { type: "string" } }, required: ["what"] }`;

/** The same tool, in every contract in which modules are written. */
const MODULES = {
  make_glovebox: `${MAKE.replace("{ limits", `{ name: "make_glovebox", description: "Makes.", inputSchema: ${schema}, limits`)}
    export default make;`,
  make_amplifier: `${MAKE}
    export const mount = async () => ({ name: "make_amplifier", description: "Makes.", input_schema: ${schema},
      async execute(input) { return { success: true, output: make(input) }; } });`,
  make_strands: `${MAKE}
    export const TOOL_SPEC = { name: "make_strands", description: "Makes.", inputSchema: { json: ${schema} } };
    export const make_strands = ({ toolUseId, input }) =>
      ({ toolUseId, status: "success", content: [{ json: make(input) }] });`,
  make_agentspace: `${MAKE}
    export class AgentSpaceV1Tool { async execute(input) { return make(input); } }`,
  make_xaibo: `${MAKE}
    export class Provider {
      async list_tools() { return [{ name: "make_xaibo", description: "Makes.", parameters: { what: { type: "string", required: true } } }]; }
      async execute_tool(name, parameters) { return { success: true, result: make(parameters) }; }
    }`,
};
const NAMES = Object.keys(MODULES);

let engine: Engine;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "glovebox-adapters-"));
  const paths = Object.entries(MODULES).map(([name, text]) => {
    const path = join(folder, `${name}.js`);
    writeFileSync(path, text);
    return path;
  });
  engine = await createEngine({ workers: 1, executor: "threads", tools: paths });
});

afterAll(async () => {
  await engine.close();
  rmSync(folder, { recursive: true });
});

const run = (name: string, what: string) => engine.execute({ name, arguments: { what } });

describe("a tool, whatever contract it is written in", () => {
  test("is there in each of them", () => {
    expect(engine.list().map(({ contract }) => contract)).toEqual([
      "agentspace",
      "amplifier",
      "glovebox",
      "strands",
      "xaibo",
    ]);
  });

  test.each(NAMES)("%s: a success and a failure have the same structure [E47]", async (name) => {
    const success = await run(name, "this");
    const failure = await run(name, "throw");
    expect(success).toMatchObject({ success: true, output: { value: "this" }, error: null });
    expect(failure).toMatchObject({
      success: false,
      output: null,
      error: { code: "tool_error", type: "RangeError", message: "no such thing", retryable: false },
    });
    expect(Object.keys(failure)).toEqual(Object.keys(success));
    expect(Object.keys(failure.metadata)).toEqual(Object.keys(success.metadata));
    const through = toolProvider(engine);
    expect(await through.execute_tool(name, { what: "this" })).toEqual({
      success: true,
      result: { value: "this" },
      error: null,
    });
    expect(await through.execute_tool(name, { what: "throw" })).toEqual({
      success: false,
      result: null,
      error: "no such thing",
    });
  });

  test.each(NAMES.flatMap((name) => ["nan", "cycle"].map((what) => [name, what] as const)))(
    "%s: a result with a %s in it is a typed error [E44]",
    async (name, what) => {
      expect(await run(name, what)).toMatchObject({
        success: false,
        output: null,
        error: { code: "invalid_output", type: "InvalidOutputError" },
      });
      const throwing = toolProvider(engine, { throwOnError: true });
      await expect(throwing.execute_tool(name, { what })).rejects.toBeInstanceOf(ToolExecutionError);
    },
  );

  test.each(NAMES)("%s: a result that is too large is an error that says how large it may be [E45]", async (name) => {
    const { success, error } = await run(name, "large");
    expect({ success, code: error?.code }).toEqual({ success: false, code: "output_too_large" });
    expect(error?.message).toMatch(/^the output has 50\d\d .* the limit is 2000/);
  });
});
