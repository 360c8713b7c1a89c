import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Progress, readRecording, replayCall } from "../../../../src/glovebox/index.ts";
import { mcp } from "../../../../src/standard/contracts.ts";
import { forModels } from "../../../../src/kernel/base/result.ts";
import { type ModuleEngine, openModuleEngine } from "./module-engine.ts";
import { AI_SDK, LANGCHAIN, MASTRA, MCP, OPENAI_AGENTS, PLAIN } from "./shapes.ts";

let modules: ModuleEngine;

beforeAll(async () => {
  modules = await openModuleEngine();
});
afterAll(() => modules[Symbol.asyncDispose]());

describe("tools of the AI SDK", () => {
  beforeAll(async () => {
    const made = await modules.register("ai-sdk", AI_SDK);
    expect(made).toMatchObject({ chart: "ai-sdk", note_bare: "ai-sdk", steps: "ai-sdk", weather: "ai-sdk" });
  });

  test("have the names of their exports, and their own descriptions and schemas", () => {
    expect(modules.engine.get("weather")).toMatchObject({
      description: "The weather at a place.",
      inputSchema: { properties: { location: { type: "string" } }, required: ["location"] },
    });
  });

  test("get what the SDK gives to execute, and their arguments are checked", async () => {
    expect(await modules.output("weather", { location: "Rome" })).toEqual({
      location: "Rome",
      temperature: 21,
      has: ["string", 0, false],
    });
    expect(await modules.output("weather")).toMatch(/^invalid_arguments: .*location/);
  });

  test("that yield values report them as progress, and the last is the output", async () => {
    const told: Progress[] = [];
    const onProgress = (one: Progress): void => void told.push(one);
    const result = await modules.engine.execute({ name: "steps", arguments: { to: 3 } }, { onProgress });
    expect(result.output).toEqual({ at: 3 });
    expect(told.at(-1)).toMatchObject({ progress: 3, message: '{"at":3}' });
  });

  test("that shape their output for models keep it as it is for programs", async () => {
    const result = await modules.engine.execute({ name: "chart", arguments: {} });
    expect(result.output).toEqual({ png: "iVBORw0KGgo=", points: [1, 2] });
    expect(mcp.writeResult(forModels(result)).content).toEqual([
      { type: "text", text: "a chart of 2 points, string" },
      { type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" },
    ]);
  });
});

test("files that a tool shows to models in version 7's form are images, resources and links", async () => {
  const result = await modules.engine.execute({ name: "files", arguments: {} });
  const reference = {
    type: "file",
    data: { type: "reference", reference: { openai: "file-1" } },
    mediaType: "image/png",
  };
  expect(mcp.writeResult(forModels(result)).content).toEqual([
    { type: "image", data: "AQID", mimeType: "image/png" },
    {
      type: "resource",
      resource: { uri: "attachment:///a%20b.pdf", mimeType: "application/pdf", blob: "AQID" },
    },
    { type: "resource", resource: { uri: "attachment:///file", mimeType: "text/plain", text: "hello" } },
    { type: "resource_link", uri: "https://example.com/a.png", name: "file", mimeType: "image" },
    { type: "text", text: JSON.stringify(reference) },
  ]);
});

test.each([
  ["note_arrow", "kept"],
  ["note_bare", "kept"],
  ["note_method", "kept"],
  ["note_newer", ["kept"]],
  ["note_async", "kept"],
])("%s shapes its output in the form of its version", async (name, shown) => {
  const result = await modules.engine.execute({ name, arguments: {} });
  expect(result.output).toEqual({ text: "kept" });
  expect(forModels(result).output).toEqual(shown);
});

test("a recorded call of a tool that shapes its output is replayed with both", async () => {
  const { metadata } = await modules.engine.execute({ name: "chart", arguments: {} }, { record: true });
  const { isSame, result } = await replayCall(readRecording(JSON.stringify(metadata["recording"])));
  expect(isSame).toBe(true);
  expect(result.output).toEqual({ png: "iVBORw0KGgo=", points: [1, 2] });
  expect(result.metadata).toMatchObject({ modelOutput: { content: [{ type: "text" }, { type: "image" }] } });
});

describe("tools of OpenAI Agents", () => {
  beforeAll(async () => {
    const made = await modules.register("agents", OPENAI_AGENTS, { config: { user: "ada" } });
    expect(Object.keys(made)).toEqual(["asks", "get_weather", "used", "who"]);
  });

  test("are found in a list, and invoked with their arguments as text", async () => {
    expect(await modules.output("get_weather", { city: "Rome" })).toBe("sunny in Rome");
  });

  test("have their config as the context of the run", async () => {
    expect(await modules.output("who", { city: "Rome" })).toEqual(["ada", "who"]);
  });

  test("that use what only a run has end with an error that says so", async () => {
    expect(await modules.output("used", { city: "Rome" })).toBe(
      "tool_error: runContext.usage is not available: a tool in an isolate belongs to no run of an agent; " +
        "give the tool what it needs as its config, which is runContext.context, or use runContext.host with a grant",
    );
  });

  test("end a call that needs an approval where no policy lets it wait", async () => {
    expect(await modules.output("asks", { city: "Rome" })).toBe("never");
    expect(await modules.output("asks", { city: "Berlin" })).toMatch(/^capability_denied: .*pause/);
  });
});

describe("tools of LangChain", () => {
  beforeAll(async () => {
    expect(await modules.register("langchain", LANGCHAIN)).toEqual({
      multiply: "langchain",
      range: "langchain",
      remembers: "langchain",
    });
  });

  test("are invoked with their arguments", async () => {
    expect(await modules.output("multiply", { a: 6, b: 7 })).toBe(42);
  });

  test("that make an artifact have it beside their content", async () => {
    const result = await modules.engine.execute({ name: "range", arguments: { a: 2, b: 4 } });
    expect(result.output).toBe("numbers from 2 to 4");
    expect(result.metadata).toMatchObject({ artifact: [2, 3, 4] });
  });

  test("that use a store end with an error that says so", async () => {
    expect(await modules.output("remembers", { a: 1, b: 2 })).toMatch(
      /^tool_error: store.get is not available: .* use config\.host\.kv/,
    );
  });
});

describe("tools of Mastra", () => {
  beforeAll(async () => {
    const made = await modules.register("mastra", MASTRA, { config: { unit: "°C" } });
    expect(made).toEqual({ "asks-agent": "mastra", "get-weather": "mastra", "old-weather": "mastra" });
  });

  test("take their arguments first, or as their context where they are of an older version", async () => {
    expect(await modules.output("get-weather", { location: "rome" })).toBe("ROME°Cstring");
    expect(await modules.output("old-weather", { location: "rome" })).toBe("ROME°Cstring");
  });

  test("refuse arguments by their own schemas", async () => {
    expect(await modules.output("get-weather", { location: "nowhere" })).toBe(
      "invalid_arguments: Tool input validation failed for get-weather",
    );
  });

  test("that ask for an agent end with an error that says so", async () => {
    expect(await modules.output("asks-agent", { location: "rome" })).toMatch(
      /^tool_error: mastra.getAgent is not available/,
    );
  });
});

describe("plain objects with a name and an execute", () => {
  beforeAll(async () => {
    expect(await modules.register("plain", PLAIN)).toEqual({ add: "tools", shout: "tools" });
  });

  test("are tools of a record, with schemas of libraries or JSON Schemas", async () => {
    expect(await modules.output("add", { a: 1, b: 2 })).toBe(3);
    expect(await modules.output("add", { a: 1 })).toMatch(/^invalid_arguments/);
    expect(await modules.output("shout", { location: "rome" })).toEqual(["ROME", "object"]);
    expect(await modules.output("shout", { location: "nowhere" })).toBe("invalid_arguments: /location: is nowhere");
  });
});

test("a tool of any library has the host, and what a policy grants it", async () => {
  await using granting = await openModuleEngine({ policy: { rules: [{ allow: { kv: true } }] } });
  const put = "host.kv.set('a', 'b').then(() => host.kv.get('a'))";
  await granting.register(
    "hosts",
    `export const ai = { description: "d", inputSchema: { type: "object" }, execute: (input, { host }) => ${put} };
     export const agent = { type: "function", name: "agent", description: "d", parameters: { type: "object" },
       invoke: ({ host }) => ${put} };
     export const chain = { name: "chain", description: "d", schema: { type: "object" }, lc_runnable: true,
       invoke: (input, { host }) => ${put} };
     export const mastra = { id: "mastra", mastra: undefined, description: "d", requestContextSchema: undefined,
       execute: (input, { host }) => ${put} };`,
    { capabilities: { kv: true } },
  );
  for (const name of ["ai", "agent", "chain", "mastra"]) expect(await granting.output(name), name).toBe("b");
});

describe("tools of a server of the Model Context Protocol", () => {
  beforeAll(async () => {
    const made = await modules.register("servers", MCP);
    expect(made).toEqual({ blocks: "mcp", data: "mcp", fails: "mcp", hello: "mcp" });
  });

  test("are called by a client of the module's own, and their results read as a connector's", async () => {
    expect(await modules.output("hello", { name: "Ada" })).toBe("hello Ada");
    expect(await modules.output("data")).toEqual({ count: 1 });
    expect(await modules.output("data")).toEqual({ count: 1 });
    expect(await modules.output("fails")).toBe("tool_error: no luck");
    expect(await modules.output("blocks")).toEqual([
      { type: "text", text: "a" },
      { type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" },
    ]);
  });

  test("report progress and log lines to their call", async () => {
    const told: Progress[] = [];
    const onProgress = (one: Progress): void => void told.push(one);
    const { metadata } = await modules.engine.execute({ name: "hello", arguments: {} }, { onProgress });
    expect(told).toEqual([{ progress: 1, total: 2, message: "half" }]);
    expect(metadata.logs).toEqual([{ level: "info", message: "called hello" }]);
  });

  test("share one client where the module lives on", async () => {
    await modules.engine.unregister("data");
    await modules.register("shared", MCP.replaceAll(/\b(?:hello|fails|blocks)\b(?=: async)/g, "shared_$&"), {
      isolation: "shared",
    });
    expect(await Promise.all([modules.output("data"), modules.output("data")])).toEqual([{ count: 1 }, { count: 2 }]);
  });
});
