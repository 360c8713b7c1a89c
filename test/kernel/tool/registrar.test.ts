import { openChecks } from "../base/schema/run-checks.ts";
import path from "node:path";
import vm from "node:vm";
import { afterAll, describe, expect, test } from "vitest";
import { toolError } from "../../../src/kernel/base/errors.ts";
import { DEFAULT_LIMITS, MAX_LIMITS } from "../../../src/kernel/base/limits.ts";
import { SCRIPT_EXPORTS, type Inspection, type ToolScript } from "../../../src/kernel/base/protocol/script.ts";
import { stopBundler } from "../../../src/kernel/tool/bundle/bundle.ts";
import type { PrepareContext } from "../../../src/kernel/tool/load.ts";
import { prepareModule, prepareTool } from "../../../src/kernel/tool/registrar.ts";
import type { RegisteredTool } from "../../../src/kernel/tool/registered-tool.ts";
import { resolvePackageOptions } from "../../../src/kernel/tool/package/options.ts";
import { findSources } from "../../../src/kernel/tool/source.ts";
import { refusalOf, temporaryFolder } from "./temporary.ts";
import { NO_READERS } from "../../../src/kernel/tool/contracts/contract.ts";

afterAll(stopBundler);

const broken = new URL("../../../fixtures/broken", import.meta.url).pathname;

/** What a worker does, without its isolate. */
function inspectHere(script: ToolScript): Inspection {
  const make = vm.runInNewContext(
    `(function () { "use strict"; ${script.text}\nreturn ${SCRIPT_EXPORTS}; })`,
    {},
  ) as () => {
    spec?: unknown;
    default?: unknown;
  };
  const exports = make();
  return {
    ok: true,
    contract: "glovebox",
    described: "null",
    spec: JSON.stringify(exports.spec ?? null),
    defaultExport: typeof exports.default,
    isolation: "instance",
    evaluationMs: 1.5,
  };
}

function newContext(
  change: Partial<Extract<Inspection, { ok: true }>> = {},
): PrepareContext & { scripts: ToolScript[] } {
  const scripts: ToolScript[] = [];
  let keys = 0;
  return {
    scripts,
    inspect: async (script) => {
      scripts.push(script);
      return { ...inspectHere(script), ...change } as Inspection;
    },
    limits: DEFAULT_LIMITS,
    registrant: "operator",
    readers: NO_READERS,
    runtimes: new Map(),
    maxLimits: MAX_LIMITS,
    forget: () => undefined,
    nextKey: () => `key${++keys}`,
    packages: {
      load: () => Promise.reject(new Error("there are no packages here")),
      options: resolvePackageOptions(undefined),
    },
    binaries: { keep: () => Promise.reject(new Error("there are no binaries here")) },
  };
}

const definition = { name: "add", description: "Adds.", source: "export default ({ a, b }) => ({ sum: a + b });" };

async function fromFile(text: string, context: PrepareContext = newContext(), file = "add.ts") {
  const folder = await temporaryFolder({ [file]: text });
  const [source] = await findSources(path.join(folder, file), { runtimes: new Map() });
  if (source === undefined) throw new Error("no source");
  return (await prepareModule(source, {}, context))[0] as RegisteredTool;
}

describe("a tool from a definition", () => {
  test("is described, bundled, inspected once and has validators", async () => {
    const context = newContext();
    const inputSchema = { type: "object", properties: { a: { type: "number", default: 1 } } };
    const tool = await prepareTool({ ...definition, inputSchema, limits: { cpuMs: 10, memoryMb: 9_999 } }, context);
    expect(tool.info).toEqual({
      name: "add",
      description: "Adds.",
      version: "0.0.0",
      tags: [],
      inputSchema,
      outputSchema: null,
      parses: "host",
      runtime: "javascript",
      contract: "glovebox",
      annotations: {},
      retries: 0,
      isolation: "instance",
      limits: { ...DEFAULT_LIMITS, cpuMs: 10, memoryMb: MAX_LIMITS.memoryMb },
      capabilities: {},
      registrant: "operator",
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
      script: { bytes: Buffer.byteLength(tool.script.text), evaluationMs: 1.5 },
    });
    expect(tool.script).toMatchObject({ name: "add", isolation: "instance", config: "null", memoryMb: 2_048 });
    expect(openChecks(tool.script.checks).input({ a: "1" })?.violations).toHaveLength(1);
    const value = {};
    expect(openChecks(tool.script.checks).input(value)).toBeNull();
    expect(value).toEqual({ a: 1 });
    expect(tool.retries).toBe(0);
    expect(context.scripts).toHaveLength(1);
  });

  test("takes any object where it has no inputSchema", async () => {
    const tool = await prepareTool(definition, newContext());
    expect(tool.info.inputSchema).toEqual({ type: "object" });
    expect(tool.script.checks).toEqual({ input: "", output: "" });
  });

  test("carries config, capabilities, retries and an outputSchema", async () => {
    const more = {
      config: { a: 1 },
      capabilities: { kv: true as const },
      retries: 2,
      outputSchema: { type: "string" },
    };
    const tool = await prepareTool({ ...definition, ...more }, newContext());
    expect(tool.script.config).toBe('{"a":1}');
    expect(tool.capabilities).toEqual({ kv: true });
    expect(tool.retries).toBe(2);
    expect(openChecks(tool.script.checks).output(1)?.violations).toHaveLength(1);
  });

  test("comes from a file where it has an entry", async () => {
    const folder = await temporaryFolder({
      "lib.ts": "export const one: number = 1;",
      "add.ts": `export { one as x } from "./lib.ts"; export default () => 1;`,
    });
    const tool = await prepareTool(
      { name: "add", description: "Adds.", entry: path.join(folder, "add.ts") },
      newContext(),
    );
    expect(tool.info.name).toBe("add");
  });

  test("cannot be changed afterwards, neither by itself nor by what it was made from", async () => {
    const given = {
      ...definition,
      tags: ["a"],
      capabilities: { tools: ["x"] },
      inputSchema: { type: "object", required: ["a"] },
    };
    const tool = await prepareTool(given, newContext());
    given.tags.push("b");
    given.capabilities.tools.push("*");
    given.inputSchema.required.pop();
    expect(tool.info.tags).toEqual(["a"]);
    expect(tool.capabilities).toEqual({ tools: ["x"] });
    expect(tool.info.inputSchema).toEqual({ type: "object", required: ["a"] });
    for (const part of [
      tool,
      tool.info,
      tool.info.tags,
      tool.info.inputSchema,
      tool.capabilities,
      tool.limits,
      tool.script,
    ]) {
      expect(Object.isFrozen(part)).toBe(true);
    }
  });

  test("gets another key every time it is registered, and keeps that of its inspection", async () => {
    const context = newContext();
    const keys = [await prepareTool(definition, context), await prepareTool(definition, context)].map(
      (one) => one.script.key,
    );
    expect(new Set(keys).size).toBe(2);
    expect(context.scripts.map((script) => script.key)).toEqual(keys);
  });

  test("maps stacks to its own lines", async () => {
    const tool = await prepareTool(
      { ...definition, source: "\n\nexport default function add() {\n  throw new Error('x');\n}" },
      newContext(),
    );
    const line = tool.script.text.split("\n").findIndex((text) => text.includes("throw new")) + 1;
    expect(tool.mapStack(`Error: x\n    at add (tool:add:${line}:5)\n    at glovebox:call:1:1`)).toBe(
      "Error: x\n    at add (add.js:4:3)",
    );
  });
});

describe("a tool from a file", () => {
  const spec = `export const spec = { name: "sum", description: "Sums.", version: "1.0.0", isolation: "isolate", limits: { memoryMb: 16 }, config: [1] };`;

  test("is what its spec says, and is evaluated once, with the defaults", async () => {
    const context = newContext();
    const tool = await fromFile(`${spec} export default (input: object) => input;`, context);
    expect(tool.info).toMatchObject({ name: "sum", version: "1.0.0", isolation: "isolate" });
    expect(tool.script).toMatchObject({
      name: "sum",
      version: "1.0.0",
      isolation: "isolate",
      memoryMb: 16,
      config: "[1]",
    });
    expect(context.scripts).toHaveLength(1);
    expect(context.scripts[0]).toMatchObject({ name: "add", isolation: "instance", memoryMb: DEFAULT_LIMITS.memoryMb });
  });

  test("has its file's name where the spec has none", async () => {
    expect((await fromFile(`export const spec = { description: "A." }; export default () => 1;`)).info.name).toBe(
      "add",
    );
  });

  test("is evaluated by nobody but inspect", async () => {
    const context = newContext();
    const silent: PrepareContext = {
      ...context,
      inspect: async () => ({
        ok: true,
        contract: "glovebox",
        described: "null",
        spec: `{"description":"A."}`,
        defaultExport: "function",
        isolation: "instance",
        evaluationMs: 0,
      }),
    };
    const text = `globalThis.process?.exit(3); throw new Error("evaluated"); export default () => 1;`;
    expect((await fromFile(text, silent)).info.name).toBe("add");
  });
});

describe("isolation", () => {
  const inOpenRealm = { isolation: "context" as const, isolationReason: "it changes Array.prototype" };

  test("is what was asked for", async () => {
    for (const isolation of ["instance", "context", "isolate", "shared"] as const) {
      expect((await prepareTool({ ...definition, isolation }, newContext())).info.isolation).toBe(isolation);
    }
  });

  test.each([undefined, "instance" as const])(
    "becomes context where %s does not load hardened, and says why",
    async (isolation) => {
      const given = isolation === undefined ? definition : { ...definition, isolation };
      const { info, script } = await prepareTool(given, newContext(inOpenRealm));
      expect(info).toMatchObject(inOpenRealm);
      expect(script.isolation).toBe("context");
    },
  );

  test.each(["context", "isolate"] as const)("stays %s where the module does not load hardened", async (isolation) => {
    const { info } = await prepareTool({ ...definition, isolation }, newContext(inOpenRealm));
    expect(info.isolation).toBe(isolation);
    expect(info.isolationReason).toBeUndefined();
  });

  test("cannot be shared where the module does not load hardened", async () => {
    const error = await refusalOf(prepareTool({ ...definition, isolation: "shared" }, newContext(inOpenRealm)));
    expect(error.code).toBe("load_error");
    expect(error.message).toContain("it changes Array.prototype");
  });
});

describe("a tool is refused", () => {
  test.each([
    ["leads-out.js", /imports "\.\.\/\.\.\/\.\.\/package\.json", which leads out of the project "glovebox"/],
    ["unknown-import.js", /at unknown-import\.js:3 that is only known when it runs/],
    ["no-default.js", /tool "no-default" must export default a function \(input, context\) => output/],
    ["no-spec.js", /must export its specification: export const spec = \{ name, description/],
    ["bad-schema.js", /tool "bad_schema": inputSchema at \/properties\/count\/type is not valid/],
  ])("for what is wrong with %s", async (file, reason) => {
    const [source] = await findSources(path.join(broken, file), { runtimes: new Map() });
    if (source === undefined) throw new Error("no source");
    const error = await refusalOf(prepareModule(source, {}, newContext()));
    expect(error.code).toBe("load_error");
    expect(error.message).toMatch(reason);
    expect(error.message).not.toContain(broken);
  });

  test.each(["[]", "1", '"x"', "null"])("where its spec is %s", async (spec) => {
    const error = await refusalOf(fromFile("export default () => 1;", newContext({ spec })));
    expect(error.message).toContain("export const spec");
  });

  test("where its spec is wrong, even in ways that only JSON allows", async () => {
    expect((await refusalOf(fromFile("export default () => 1;", newContext({ spec: "{}" })))).message).toContain(
      "/description",
    );
    const spec = `{"description":"A.","__proto__":{"retries":5}}`;
    expect((await refusalOf(fromFile("export default () => 1;", newContext({ spec })))).message).toContain(
      "/__proto__ is not allowed",
    );
  });

  test("where its module cannot be evaluated, at its own lines", async () => {
    const context: PrepareContext = {
      ...newContext(),
      inspect: async (script) => {
        const line = script.text.split("\n").findIndex((text) => text.includes("boom")) + 1;
        const stack = `Error: boom\n    at tool:add:${line}:9\n    at /srv/glovebox/worker.js:1:1`;
        return { ok: false, error: toolError("load_error", "boom", { stack }, "TypeError") };
      },
    };
    const error = await refusalOf(
      prepareTool({ ...definition, source: "\nthrow new TypeError('boom'); export default 1;" }, context),
    );
    expect(error).toMatchObject({ code: "load_error", message: 'tool "add" could not be loaded: boom (at add.js:2)' });
    expect(error.details).toMatchObject({ type: "TypeError", stack: "Error: boom\n    at add.js:2:7" });
  });

  test("before anything runs where its definition or schema is wrong", async () => {
    const context = newContext();
    await refusalOf(prepareTool({ ...definition, name: "a b" }, context));
    await refusalOf(prepareTool({ ...definition, source: "export default (" }, context));
    await refusalOf(prepareTool({ ...definition, inputSchema: { type: "int" } }, context));
    await refusalOf(prepareTool({ ...definition, outputSchema: { $ref: "#/none" } }, context));
    await refusalOf(prepareTool({ ...definition, source: "export default (", inputSchema: { type: "int" } }, context));
    expect(context.scripts).toEqual([]);
  });
});
