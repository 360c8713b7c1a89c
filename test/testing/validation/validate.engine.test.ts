import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type ToolCheck, type Validation, validateModules } from "../../../src/testing/validation/index.ts";
import type { Engine } from "../../../src/glovebox/index.ts";
import { temporaryFolder } from "../../kernel/tool/temporary.ts";
import { moduleAt, MODULES, openEngine } from "../../contrib/amplifier/modules.ts";

let engine: Engine;

beforeEach(async () => {
  engine = await openEngine();
});
afterEach(() => engine.close());

async function validate(files: Record<string, string>, at = "."): Promise<readonly Validation[]> {
  return validateModules(engine, join(await temporaryFolder(files), at));
}

/** What is found in one module, without what is in order. */
async function problems(text: string): Promise<string[]> {
  const [validation] = await validate({ "made.js": text }, "made.js");
  return (validation?.checks ?? []).filter(({ level }) => level === "error" || level === "warning").map(shown);
}

const shown = ({ level, about, message }: ToolCheck) => `${level} ${about}: ${message}`;

/** A module that is as it should be, but for what is changed. */
function made({
  mount = "async function mount(coordinator, config)",
  name = "made",
  description = "Does something, and expects a text.",
  schema = `{ type: "object", properties: { text: { type: "string", description: "What to do." } }, required: ["text"] }`,
  execute = `async execute(input) { console.info("working"); return { success: true, output: input.text }; }`,
  rest = `await coordinator.mount("tools", new Tool());
    coordinator.register_contributor("observability.events", "made", () => ["made:started"]);
    return null;`,
} = {}): string {
  return `class Tool {
    name = ${JSON.stringify(name)};
    description = ${JSON.stringify(description)};
    get_schema() { return ${schema}; }
    ${execute}
  }
  export ${mount} { ${rest} }`;
}

describe("a module of Amplifier's", () => {
  test("that keeps its contract passes, line by line [A44 A45 A53 A55]", async () => {
    const [validation] = await validateModules(engine, moduleAt("my_tool"));
    expect(validation?.contract).toBe("amplifier");
    expect(validation?.checks.map(shown)).toEqual([
      "pass load: loads in an isolate",
      "info entry point: there is no package.json, so it is found by its path only",
      "pass mount: is exported",
      "pass mount: takes a coordinator and a config",
      "pass mount: is async",
      "pass mount: returns the tool",
      "pass tool: has name, description and execute: my_tool",
      "pass events: are registered: my-tool:started, my-tool:completed, my-tool:error",
      "pass name: is short and in snake_case",
      "pass description: says something",
      "pass schema: says what the input is, so it is checked before the tool has it",
      "warning schema: does not say what it expects as optional_param",
      "pass logs: are written",
      "pass execute: given input that fits, answers with a result",
      "pass execute: given no input, is not called: the schema refuses it",
    ]);
    expect(await problems(made())).toEqual([]);
  });

  test("has to load [A53]", async () => {
    expect(await problems("export async function mount(coordinator, config) {")).toEqual([
      expect.stringMatching(/^error load: tool "made" /),
    ]);
    expect(await problems(made({ rest: "throw new Error('no database');" }))).toEqual([
      expect.stringMatching(/^error load: .*no database/),
    ]);
  });

  test("has to export mount, and as a function [A53]", async () => {
    for (const text of ["export const mount = 5;", "export const other = 1;"]) {
      expect(await problems(text)).toEqual([
        expect.stringMatching(
          /^error contract: exports what no contract asks for: neither mount\(coordinator, config\)/,
        ),
      ]);
    }
  });

  test("has to mount asynchronously, with two parameters [A53]", async () => {
    expect(await problems(made({ mount: "async function mount(coordinator)" }))).toEqual([
      "error mount: takes 1 parameters; it must take two, the coordinator and the config",
    ]);
    const sync = made({
      mount: "function mount(coordinator, config)",
      rest: "coordinator.mount('tools', new Tool()); return null;",
    });
    expect(await problems(sync)).toContain(
      "error mount: is not async; write export async function mount(coordinator, config)",
    );
  });

  test("has to return a tool, a function for the end, or nothing [A53]", async () => {
    const problem = "error mount: returns neither a tool, nor a function for the end, nor null";
    expect(await problems(made({ rest: "return 5;" }))).toContain(problem);
    for (const returned of ["new Tool()", "() => undefined", "null", "undefined"]) {
      expect(await problems(made({ rest: `return ${returned};` }))).not.toContain(problem);
    }
  });

  test("has to mount tools: with a name, a description, execute, and a schema that is an object [A53]", async () => {
    const notATool = "error tool: amplifier /mounts/0/tool: must have name, description and execute(input)";
    expect(await problems(made({ execute: "" }))).toContain(notATool);
    expect(await problems(made({ name: "" }))).toEqual([
      expect.stringMatching(/^error tool: .*\/name: must be 1 to 128/),
    ]);
    expect(await problems(made({ description: "" }))).toEqual([
      expect.stringMatching(/^error tool: .*\/description: must be/),
    ]);
    expect(await problems(made({ schema: "[]" }))).toEqual([
      "error tool: amplifier /mounts/0/tool/input_schema: must be an object",
    ]);
    expect(await problems(made({ schema: "{ type: 'nonsense' }" }))).toEqual([
      expect.stringMatching(/^error tool: .*is not valid JSON Schema/),
    ]);
  });

  test("that mounts nothing is told of it, and is not the worse for it [A17 A54]", async () => {
    for (const rest of ["return () => undefined;", "return null;"]) {
      const [validation] = await validate({ "made.js": made({ rest }) }, "made.js");
      expect(validation?.checks.filter(({ level }) => level === "error")).toEqual([]);
      expect(validation?.checks.map(shown)).toContain(
        "info tool: mounts nothing with an empty config: it may need one, or something that is not here",
      );
    }
  });

  test("has to return failures, not throw them [A44 A55]", async () => {
    const throwing = `async execute(input) { console.info(""); if (!input.text) throw new TypeError("no text"); return {}; }`;
    expect(await problems(made({ schema: "{}", execute: throwing }))).toEqual([
      expect.stringMatching(/^warning schema: takes anything/),
      expect.stringMatching(/^error execute: given input that fits, throws: TypeError: no text; it must return/),
      expect.stringMatching(/^error execute: given no input, throws: TypeError: no text; it must return/),
    ]);
    const failing = throwing.replace(
      `throw new TypeError("no text")`,
      `return { success: false, error: { message: "no text" } }`,
    );
    expect(await problems(made({ schema: "{}", execute: failing }))).toEqual([
      expect.stringMatching(/^warning schema: takes anything/),
    ]);
  });

  test("has to return a ToolResult, in time [A44 A55]", async () => {
    const text = `async execute() { console.info(""); return "just a text"; }`;
    expect(await problems(made({ execute: text }))).toEqual([
      expect.stringMatching(
        /^error execute: given input that fits, throws: TypeError: execute must return a ToolResult/,
      ),
    ]);
    const endless = `async execute() { console.info(""); for (;;); }`;
    // On a busy machine its time is over before its processor time is used.
    expect(await problems(made({ execute: endless }))).toContainEqual(
      expect.stringMatching(/^error execute: given input that fits, ends with (?:cpu|wall)_limit/),
    );
  });

  test("should say its schema, log what it does, and register its events [A45]", async () => {
    const quiet = `async execute(input) { return { success: true, output: input.text ?? null }; }`;
    const rest = "return new Tool();";
    expect(await problems(made({ schema: "{}", execute: quiet, rest }))).toEqual([
      "warning events: are not registered; call register_contributor with observability.events",
      "warning schema: takes anything, so input is not checked before the tool has it; name its properties",
      "warning logs: the call logs nothing; describe its progress with console.info or console.debug",
    ]);
    const loud = `async execute(input) { console.error("working"); return { success: true, output: input.text }; }`;
    expect(await problems(made({ execute: loud }))).toEqual(["warning logs: an error is logged though nothing failed"]);
    const failing = loud.replace("success: true, output: input.text", "success: false, error: { message: 'no' }");
    expect(await problems(made({ execute: failing }))).toEqual([]);
  });

  test("should have a short name in snake_case, which nobody is refused for [A21]", async () => {
    expect(await problems(made({ name: "Made-Up" }))).toEqual([
      'warning name: "Made-Up" is not in snake_case, such as "read_file"',
    ]);
    expect(await problems(made({ name: `a${"b".repeat(80)}` }))).toEqual([
      "warning name: has 81 characters; some models take at most 64",
    ]);
  });

  test("is told of a word that the dialect of its schema ignores", async () => {
    const pair = `{ type: "array", description: "Two.", prefixItems: [{ type: "string" }] }`;
    const schemaOf = (more: string) =>
      `{ ${more} type: "object", properties: { text: { type: "string" }, pair: ${pair} } }`;
    const problem = "warning schema: is read as draft-07, which ignores prefixItems; write all of it in one dialect";
    expect(await problems(made({ schema: schemaOf(`dependencies: { pair: ["text"] },`) }))).toContain(problem);
    expect(await problems(made({ schema: schemaOf("") }))).not.toContain(problem);
  });

  test("should say what its tool does and expects [A23]", async () => {
    expect(await problems(made({ description: "made" }))).toEqual([
      "warning description: says too little; say what the tool does and what it expects",
    ]);
    const schema = `{ type: "object", properties: { text: { type: "string" }, b: {} }, required: ["text", "c"] }`;
    expect(await problems(made({ schema }))).toEqual([
      "warning schema: requires what it does not describe: c",
      "warning schema: does not say what it expects as b",
    ]);
  });

  test("may not share a tool's name with another [A22]", async () => {
    const validations = await validate({ "a.js": made(), "b.js": made() });
    const errors = validations.map(({ checks }) => checks.filter(({ level }) => level === "error").map(shown));
    expect(errors).toEqual([[], ['error name: "made" is the name of a tool of a as well']]);
  });

  test("has to be named by its package.json, where it has one [A20 A44]", async () => {
    const errorsWith = async (manifest: object) => {
      const [validation] = await validate({ "package.json": JSON.stringify(manifest), "index.js": made() });
      return validation?.checks.filter(({ about }) => about === "entry point").map(shown);
    };
    expect(await errorsWith({})).toEqual([
      'error entry point: is missing in package.json; add "amplifier": { "modules": { "my-tool": "./index.js:mount" } }',
    ]);
    expect(await errorsWith({ amplifier: { modules: { made: "./index.js:mount" } } })).toEqual([
      'pass entry point: is "made"',
    ]);
    expect(await errorsWith({ amplifier: { modules: { made: "./gone.js:mount" } } })).toEqual([
      expect.stringMatching(
        /^error entry point: module "made" is named by a package.json, but its file does not exist/,
      ),
    ]);
  });

  test("that asks for what it is not granted is told so, as nothing is granted to it", async () => {
    const execute = `async execute(input, context) { console.info(""); return { output: await fetch("https://example.com/") }; }`;
    const text = `${made({ execute })}; export const spec = { capabilities: { fetch: { origins: ["https://example.com"] } } };`;
    const [validation] = await validate({ "made.js": text }, "made.js");
    expect(validation?.checks.map(shown)).toContainEqual(
      expect.stringMatching(/^(?:info|error) execute: given input that fits, .*fetch/),
    );
  });
});

describe("modules of other contracts", () => {
  test("are checked for what is the same in all: name, description, schema, and whether they can be called", async () => {
    const ours = `export const spec = { name: "ours", description: "ours" }; export default () => { throw new Error("no"); };`;
    const strands = `
      export const TOOL_SPEC = { name: "theirs", description: "Does a thing.", inputSchema: { json: { type: "object", properties: { n: { type: "integer", minimum: 3, description: "A number." } }, required: ["n"] } } };
      export function theirs(tool) { return { toolUseId: tool.toolUseId, status: "success", content: [{ text: String(tool.input.n) }] }; }`;
    const validations = await validate({ "ours.js": ours, "strands.js": strands });
    expect(validations.map(({ module, contract, checks }) => [module, contract, ...checks.map(shown)])).toEqual([
      [
        "ours",
        "glovebox",
        "pass load: loads in an isolate",
        "pass contract: is written in glovebox",
        "pass name: is short and in snake_case",
        "warning description: says too little; say what the tool does and what it expects",
        "warning schema: takes anything, so input is not checked before the tool has it; name its properties",
        "info output-unchecked: nobody checks what it returns: it has no outputSchema",
        "info execute: given input that fits, throws: Error: no",
        "info execute: given no input, throws: Error: no",
      ],
      [
        "strands",
        "strands",
        "pass load: loads in an isolate",
        "pass contract: is written in strands",
        'pass TOOL_SPEC: is named "theirs"',
        "pass function: has the name in TOOL_SPEC",
        "pass TOOL_SPEC: has a description",
        "pass inputSchema: has a type, properties and what is required",
        "pass name: is short and in snake_case",
        "pass description: says something",
        "pass schema: says what the input is, so it is checked before the tool has it",
        "pass content: is text",
        "pass execute: given input that fits, answers with a result",
        "pass execute: given no input, is not called: the schema refuses it",
      ],
    ]);
  });

  test.each(["agentspace/greeting-tool-v1", "strands", "xaibo"])("the documents' own are valid: %s", async (place) => {
    const validations = await validateModules(engine, join(MODULES, "..", place));
    const checks = validations.flatMap((validation) => validation.checks);
    expect(checks.filter(({ level }) => level === "error")).toEqual([]);
    expect(checks.map(({ about }) => about)).toContain("execute");
  });
});

describe("a module with tools of other libraries", () => {
  const TWO = `const inputSchema = { type: "object", properties: { text: { type: "string", description: "A text." } } };
    export const shout = { description: "Writes a text in capitals.", inputSchema, execute: ({ text = "" }) => text.toUpperCase() };
    export const tools = [{ name: "count", description: "Counts the characters of a text.", parameters: inputSchema, execute: ({ text = "" }) => text.length }];`;

  test("is checked tool by tool", async () => {
    const [validation] = await validate({ "made.js": TWO }, "made.js");
    expect(validation?.contract).toBe("tools");
    const found = validation?.checks.map((check) => `${check.tool ?? "-"} ${shown(check)}`) ?? [];
    expect(found).toContain("- pass contract: exports tools of libraries: tools[0] (tools), shout (ai-sdk)");
    expect(found).toContain("shout pass execute: given input that fits, answers with a result");
    expect(found).toContain("count pass execute: given no input, answers with a result");
  });

  test("is told why one of them cannot be called", async () => {
    expect(await problems(`${TWO} export const open = { ...shout, execute: undefined };`)).toEqual([
      'error tool: tool "made" exports open, which has no execute: whoever calls the model answers it',
    ]);
  });
});

test("names of Node that refuse are a warning, with what to use instead", async () => {
  const text = `import { exec } from "node:child_process";\n${made()}`.replace("working", "working ${exec.name}");
  expect(await problems(text.replace('"working ${exec.name}"', "exec.name"))).toEqual([
    'warning node: names what refuses when it is used: node:child_process.exec (use context.host.exec, with a grant of the capability "exec")',
  ]);
});
