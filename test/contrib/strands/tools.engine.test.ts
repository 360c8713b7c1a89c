import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { toolFunction } from "../../../src/contrib/strands/index.ts";
import { createEngine, type Engine, GloveboxError } from "../../../src/glovebox/index.ts";
import { Folder, SAMPLES } from "./folder.ts";

let engine: Engine;
let folder: Folder;

/** The document's modules, and one for each way in which a tool may end. */
const MODULES = {
  "signature.js": `
    export const TOOL_SPEC = { name: "signature", inputSchema: { json: { type: "object" } } };
    export function signature(tool, kwargs) {
      const context = { tool: kwargs.tool, callId: kwargs.callId };
      return { toolUseId: tool.toolUseId, status: "success", content: [{ json: { tool, context } }] };
    }`,
  "answers.js": `
    export const TOOL_SPEC = { name: "answers", inputSchema: { json: { type: "object" } } };
    export async function answers({ toolUseId, input }) {
      if (input.throws) throw new RangeError(input.throws);
      if (input.hangs) await new Promise(() => undefined);
      if (input.spins) {
        console.log("spins");
        await new Promise((resolve) => setTimeout(resolve, 1));
        for (;;);
      }
      if (input.bombs) { const kept = []; for (;;) kept.push(new Array(1e5).fill(0.5)); }
      if (input.bytes) return { toolUseId, status: "success", content: [{ image: new Uint8Array(input.bytes) }] };
      return "result" in input ? input.result : { toolUseId, status: "success", content: input.content };
    }`,
  "types.js": `
    export const TOOL_SPEC = { name: "types", inputSchema: { json: { type: "object", properties: {
      text: { type: "string" }, real: { type: "number" }, whole: { type: "integer" }, flag: { type: "boolean" },
      list: { type: "array", items: { type: "number" } }, record: { type: "object" },
    } } } };
    export const types = ({ toolUseId, input }) => ({ toolUseId, status: "success", content: [{ json: input }] });`,
};

beforeAll(async () => {
  folder = new Folder(MODULES);
  const tools = ["echo.js", "calculator.js", "my_tool.js"].map((name) => join(SAMPLES, name));
  engine = await createEngine({ workers: 1, executor: "threads", tools: [...tools, folder.path] });
});

afterAll(async () => {
  folder[Symbol.dispose]();
  await engine.close();
});

/** A call as the documents make it: by the function of the tool's name. */
function call(name: string, input?: object, toolUseId?: string) {
  return toolFunction(engine, name)({ ...(toolUseId === undefined ? {} : { toolUseId }), ...(input && { input }) });
}

function answers(input: object) {
  return call("answers", input, "id-1");
}

describe("the document's echo", () => {
  test("answers with the message, under the call's id", async () => {
    const result = await call("echo", { message: "Hello, World!" }, "test-123");
    expect(result).toEqual({ toolUseId: "test-123", status: "success", content: [{ text: "Hello, World!" }] });
  });

  test("says that a message is missing where it is empty", async () => {
    const result = await call("echo", { message: "" }, "test-456");
    expect(result.toolUseId).toBe("test-456");
    expect(result.status).toBe("error");
    expect(result.content[0]).toEqual({ text: "No message provided" });
  });

  test("fails without its input", async () => {
    expect((await call("echo", {}, "test-789")).status).toBe("error");
  });

  test("has the specification that its module exports", () => {
    const schema = { properties: { message: { type: "string" } }, required: ["message"] };
    expect(engine.get("echo")).toMatchObject({ contract: "strands", inputSchema: schema });
  });
});

describe("the document's calculator", () => {
  const sum = { operation: "add", a: 1, b: 0.126 };

  test("has two decimal places where nobody says how many [D11 D13]", async () => {
    expect((await call("calculator", sum)).content).toEqual([{ text: "1.13" }]);
    expect((await call("calculator", { ...sum, precision: 0 })).content).toEqual([{ text: "1" }]);
  });

  test.each([
    ["an operation that it does not have", { ...sum, operation: "power" }, "/operation must be one of"],
    ["a precision below 0", { ...sum, precision: -1 }, "/precision must be >= 0"],
    ["a precision above 10", { ...sum, precision: 11 }, "/precision must be <= 10"],
    ["a precision that is no integer", { ...sum, precision: 1.5 }, "/precision must be integer"],
  ])("refuses %s [D13]", async (_what, input, problem) => {
    const result = await call("calculator", input);
    expect(result).toMatchObject({ status: "error", content: [{ text: expect.stringContaining(problem) }] });
  });

  test.each(["operation", "a", "b"])("needs %s [D12]", async (name) => {
    const { [name]: _left, ...rest }: Record<string, unknown> = { ...sum };
    expect(await call("calculator", rest)).toMatchObject({
      status: "error",
      content: [{ text: expect.stringContaining(`/${name} is required`) }],
    });
  });
});

describe("the document's error handling", () => {
  test.each([
    ["a missing parameter by its name", {}, "Missing required parameter: required_param"],
    ["a ValueError as an invalid input", { required_param: "nonsense" }, "Invalid input: it makes no sense"],
    ["anything else by its type", { required_param: "broken" }, "Execution failed: TypeError: it is broken"],
  ])("tells %s [D26]", async (_what, input, text) => {
    expect(await call("my_tool", input, "1")).toEqual({ toolUseId: "1", status: "error", content: [{ text }] });
  });

  test("succeeds where nothing is wrong", async () => {
    expect((await call("my_tool", { required_param: "four" })).content).toEqual([{ text: "4" }]);
  });
});

describe("a tool's function", () => {
  test("is given the tool use, with its id and its input [D14]", async () => {
    const { content } = await call("signature", { a: 1 }, "use-1");
    expect(content).toMatchObject([{ json: { tool: { toolUseId: "use-1", input: { a: 1 } } } }]);
  });

  test("is given the call's context beside it, which it may ignore [D16]", async () => {
    const { content } = await call("signature", {}, "use-1");
    expect(content).toMatchObject([{ json: { context: { tool: { name: "signature" }, callId: "use-1" } } }]);
    expect((await call("echo", { message: "ignores it" })).status).toBe("success");
  });

  test("is called without an id and without input, and they come back as they came [D15]", async () => {
    const { toolUseId, content } = await call("signature");
    expect(toolUseId).toBe("");
    expect(content).toMatchObject([{ json: { tool: { input: {} } } }]);
  });

  test("takes every type that a specification may have [D10]", async () => {
    const input = { text: "a", real: 1.5, whole: 2, flag: true, list: [1, 2], record: { a: null } };
    expect((await call("types", input)).content).toEqual([{ json: input }]);
    const wrong = { text: 1, real: "1", whole: 1.5, flag: "true", list: ["a"], record: [] };
    for (const [name, value] of Object.entries(wrong)) {
      const refused = { text: expect.stringMatching(`^/${name}(/0)? must be `) };
      expect((await call("types", { [name]: value })).content).toEqual([refused]);
    }
  });

  test("has to have the specification's name [D08]", async () => {
    using other = new Folder({ "a.js": 'export const TOOL_SPEC = { name: "a" }; export const b = () => 1;' });
    const loading = engine.register(other.at("a.js"));
    await expect(loading).rejects.toThrow(GloveboxError);
    await expect(loading).rejects.toThrow('exports no function "a"');
  });

  test("has to take its input in json [D09]", async () => {
    const spec = '{ name: "a", inputSchema: { type: "object" } }';
    using other = new Folder({ "a.js": `export const TOOL_SPEC = ${spec}; export const a = () => 1;` });
    await expect(engine.register(other.at("a.js"))).rejects.toThrow("/TOOL_SPEC/inputSchema/json");
  });
});

describe("a result", () => {
  test("has the id, a status and its content [D17]", async () => {
    const result = await answers({ content: [{ text: "a" }] });
    expect(Object.keys(result).sort()).toEqual(["content", "status", "toolUseId"]);
  });

  test("keeps texts and JSON as they are, in their order [D20 D21]", async () => {
    const content = [{ text: "a" }, { json: { deep: [1, { b: null }] } }, { text: "" }];
    expect((await answers({ content })).content).toEqual(content);
  });

  test("brings an image's bytes out of the isolate as they were [D22]", async () => {
    const bytes = [0, 1, 127, 128, 254, 255, 10, 13];
    expect((await answers({ bytes })).content).toEqual([{ image: new Uint8Array(bytes) }]);
  });

  test.each([
    ["it throws", { throws: "no luck" }, {}, "no luck"],
    ["it does not end in time", { hangs: true }, { wallMs: 500 }, "ms"],
    ["it takes too much processor time", { spins: true }, { cpuMs: 500 }, "ms"],
    ["it takes too much memory", { bombs: true }, {}, "memory"],
    [
      "its arguments are refused",
      { result: { toolUseId: "other", status: "error", content: [] } },
      {},
      "did not say why",
    ],
  ])("echoes the call's id where %s [D18]", async (_what, input, limits, text) => {
    const run = toolFunction(
      {
        list: () => [],
        get: () => undefined,
        execute: (one) => engine.execute(one, { limits: { wallMs: 60_000, cpuMs: 20_000, ...limits } }),
      },
      "answers",
    );
    const result = await run({ toolUseId: "id-1", input });
    expect(result).toEqual({
      toolUseId: "id-1",
      status: "error",
      content: [{ text: expect.stringContaining(text) }],
    });
  });

  test("echoes the call's id where its executor crashes [D18]", async () => {
    let pid = 0;
    const info = (event: object): void => {
      if ("pid" in event && "ward" in event && event.ward === "main") pid = Number(event.pid);
    };
    const logger = { info, warn: () => undefined };
    await using crashing = await createEngine({ workers: 1, logger, tools: [folder.at("answers.js")] });
    const started = Promise.withResolvers<void>();
    const run = toolFunction(
      {
        list: () => crashing.list(),
        get: (name) => crashing.get(name),
        execute: (one) => crashing.execute(one, { limits: { cpuMs: 20_000 }, onLog: () => started.resolve() }),
      },
      "answers",
    );
    const ending = run({ toolUseId: "id-4", input: { spins: true } });
    await started.promise;
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(pid).toBeGreaterThan(0);
    process.kill(pid, "SIGABRT");
    expect(await ending).toMatchObject({ toolUseId: "id-4", status: "error", content: [{ text: expect.any(String) }] });
  });

  test("echoes the call's id where the arguments are refused, and where there is no such tool [D18]", async () => {
    expect(await call("echo", { message: 5 }, "id-2")).toMatchObject({ toolUseId: "id-2", status: "error" });
    expect(await call("nobody", {}, "id-3")).toMatchObject({ toolUseId: "id-3", status: "error" });
  });

  test.each([
    ["nothing", null],
    ["a text", "done"],
    ["no status", { toolUseId: "id-1", content: [{ text: "a" }] }],
    ["a status of its own", { toolUseId: "id-1", status: "ok", content: [] }],
    ["content that is no list", { toolUseId: "id-1", status: "success", content: "a" }],
    ["a block of no kind", { toolUseId: "id-1", status: "success", content: [{ video: "a" }] }],
    ["bytes that are a text", { toolUseId: "id-1", status: "success", content: [{ image: "a" }] }],
  ])("that is %s becomes an error that says what is wrong with it [D19 D23]", async (_what, result) => {
    expect(await answers({ result })).toEqual({
      toolUseId: "id-1",
      status: "error",
      content: [{ text: expect.stringMatching(/^the tool's result is malformed: /) }],
    });
  });

  test("of a tool that throws is an error with one text, and not an exception [D24 D27]", async () => {
    expect(await answers({ throws: "out of range" })).toEqual({
      toolUseId: "id-1",
      status: "error",
      content: [{ text: "out of range" }],
    });
    const { error } = await engine.execute({ name: "answers", arguments: { throws: "out of range" } });
    expect(error).toMatchObject({ code: "tool_error", type: "RangeError", message: "out of range" });
  });

  test("is the engine's output: the text or the JSON, and a list where there are several", async () => {
    const output = async (content: unknown) =>
      (await engine.execute({ name: "answers", arguments: { content } })).output;
    expect(await output([{ text: "a" }])).toBe("a");
    expect(await output([{ json: { a: 1 } }])).toEqual({ a: 1 });
    expect(await output([{ text: "a" }, { json: 2 }])).toEqual(["a", 2]);
    expect(await output([])).toBeNull();
  });
});
