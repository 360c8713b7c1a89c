import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEngine, type Engine, type GloveboxError, type ToolLocation } from "../../../src/glovebox/index.ts";

let engine: Engine;
let folder: string;
let files = 0;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "glovebox-modules-"));
  engine = await createEngine({ workers: 1, executor: "threads" });
});

afterAll(async () => {
  await engine.close();
  rmSync(folder, { recursive: true });
});

/** Registers a module by its text; answers the names of the tools that came of it. */
async function register(text: string, more: Omit<ToolLocation, "path"> = {}, extension = "js"): Promise<string[]> {
  const before = new Set(engine.list().map(({ name }) => name));
  const path = join(folder, `module${++files}.${extension}`);
  writeFileSync(path, text);
  await engine.register({ path, ...more });
  return engine
    .list()
    .map(({ name }) => name)
    .filter((name) => !before.has(name));
}

function refusal(text: string, more: Omit<ToolLocation, "path"> = {}): Promise<GloveboxError> {
  return register(text, more).then(
    () => Promise.reject(new Error("it was registered")),
    (error: unknown) => error as GloveboxError,
  );
}

const run = (name: string, args: Record<string, unknown> = {}) => engine.execute({ name, arguments: args });

describe("an Amplifier module", () => {
  const tool = (name: string, execute: string) => `{ name: "${name}", description: "Does something.", ${execute} }`;

  test("may hold several tools, each called by its own name", async () => {
    const names = await register(`export async function mount(coordinator) {
      await coordinator.mount("tools", ${tool("left_hand", `async execute() { return { output: "left" }; }`)}, { name: "left-hand" });
      await coordinator.mount("tools", ${tool("right_hand", `async execute() { return { output: "right" }; }`)}, { name: "right-hand" });
    }`);
    expect(names).toEqual(["left_hand", "right_hand"]);
    expect([(await run("left_hand")).output, (await run("right_hand")).output]).toEqual(["left", "right"]);
    expect(engine.get("left_hand")?.contract).toBe("amplifier");
  });

  test("that mounts a name again runs what it mounted last", async () => {
    const one = (output: string, description: string) =>
      `{ name: "twice", description: "${description}", async execute() { return { output: "${output}" }; } }`;
    await register(`export async function mount(coordinator) {
      await coordinator.mount("tools", ${one("old", "The old one.")}, { name: "twice" });
      await coordinator.mount("tools", ${one("new", "The new one.")}, { name: "twice" });
    }`);
    expect([engine.get("twice")?.description, (await run("twice")).output]).toEqual(["The new one.", "new"]);
  });

  test("is given the config of its place, unchanged, and an empty one without", async () => {
    const text = (name: string) => `export async function mount(coordinator, config) {
      return ${tool(name, "async execute() { return { output: config }; }")};
    }`;
    await register(text("with_config"), { config: { max_size: 1048576, allowed_paths: ["/data"] } });
    await register(text("without_config"));
    expect((await run("with_config")).output).toEqual({ max_size: 1048576, allowed_paths: ["/data"] });
    expect((await run("without_config")).output).toEqual({});
  });

  test("is cleaned up once for each time it is mounted, after the tool", async () => {
    await register(`export async function mount(coordinator) {
      const log = [];
      await coordinator.mount("tools", ${tool("tidy", `async execute() { console.log("run"); return { output: null }; }`)});
      return async () => { console.log("clean"); };
    }`);
    const { metadata } = await run("tidy");
    expect(metadata.logs.map(({ message }) => message)).toEqual(["run", "clean"]);
  });

  test("that fails at its end has still ended well", async () => {
    await register(`export async function mount(coordinator) {
      await coordinator.mount("tools", ${tool("untidy", `async execute() { return { output: 1 }; }`)});
      return () => { throw new Error("cannot clean"); };
    }`);
    expect((await run("untidy")).output).toBe(1);
  });

  test("that mounts nothing is left out, and those beside it are there", async () => {
    const beside = join(folder, "beside");
    mkdirSync(beside);
    writeFileSync(join(beside, "absent.js"), "export async function mount() { return null; }");
    writeFileSync(
      join(beside, "present.js"),
      `export async function mount() { return ${tool("present", "async execute() { return {}; }")}; }`,
    );
    expect((await engine.register(beside)).name).toBe("present");
  });

  test("that mounts nothing cannot be registered by itself", async () => {
    const error = await refusal("export async function mount() { return null; }");
    expect([error.code, error.message]).toEqual(["load_error", "the location contains no tool"]);
  });

  test("that waits for a timer when it is mounted is told where waiting has its place", async () => {
    const error = await refusal(`export async function mount() { await new Promise((done) => setTimeout(done, 1)); }`);
    expect(error.message).toContain("waits for something when it is loaded");
  });

  test("that throws when it is mounted says why", async () => {
    const error = await refusal(`export async function mount() { throw new RangeError("no key"); }`);
    expect([error.code, error.message]).toEqual(["load_error", expect.stringContaining("no key")]);
  });

  test("cannot pass for more than it is by what it answers", async () => {
    await register(`export async function mount(coordinator) {
      return ${tool(
        "liar",
        `async execute() { return { success: true, output: 1, metadata: { callId: "x", attempts: 9, note: "n",
        truncated: "x", originalChars: 9, isRepeated: true, recording: {} } }; }`,
      )};
    }`);
    const { metadata } = await run("liar");
    expect([metadata.callId === "x", metadata.attempts, metadata["note"]]).toEqual([false, 1, "n"]);
    expect(Object.keys(metadata)).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/^(?:truncated|originalChars|isRepeated|recording)$/)]),
    );
  });

  test("finds a coordinator that carries nothing from one call to the next", async () => {
    await register(`export async function mount(coordinator) {
      const places = [coordinator, Object.getPrototypeOf(coordinator), coordinator.constructor, coordinator.mount];
      const left = places.map((place) => place.left ?? "nothing");
      for (const place of places) try { place.left = "something"; } catch {}
      return ${tool("leaver", "async execute() { return { output: left }; }")};
    }`);
    const nothing = ["nothing", "nothing", "nothing", "nothing"];
    expect([(await run("leaver")).output, (await run("leaver")).output]).toEqual([nothing, nothing]);
  });

  test("that answers with no result is an error of its own, and not of the engine", async () => {
    await register(`export async function mount() { return ${tool("mute", "async execute() { return 3; }")}; }`);
    expect((await run("mute")).error).toMatchObject({
      code: "tool_error",
      message: "execute must return a ToolResult",
    });
  });
});

describe("tools at one place", () => {
  const PROVIDER = `export class Provider {
    async list_tools() { return [{ name: "get_it", description: "Gets it." }, { name: "get_other", description: "Gets." }]; }
    async execute_tool(name) { return { success: true, result: name }; } }`;
  const MOUNT = `export const mount = async () => ({ name: "get_it", description: "Gets it.", execute: async () => ({}) });`;
  const SPEC = `export const spec = { name: "get_it", description: "Gets it." }; export default () => 1;`;

  test.each([
    ["two providers", PROVIDER, PROVIDER],
    ["two that mount", MOUNT, MOUNT],
    ["modules of two contracts", MOUNT, SPEC],
  ])("may not share a name: of %s neither is registered [A22 E09 E48]", async (what, one, other) => {
    const place = join(folder, what.replaceAll(" ", "-"));
    mkdirSync(place);
    writeFileSync(join(place, "one.js"), one);
    writeFileSync(join(place, "other.js"), other);
    const error = await engine.register(place).then(
      () => Promise.reject(new Error("it was registered")),
      (reason: unknown) => reason as GloveboxError,
    );
    expect([error.code, error.message]).toEqual([
      "load_error",
      expect.stringContaining('more than one tool is called "get_it", so none of them is registered'),
    ]);
    expect([engine.get("get_it"), engine.get("get_other")]).toEqual([undefined, undefined]);
  });
});

describe("a Xaibo module", () => {
  const provider = (name: string) => `class ${name} {
    async list_tools() { return [{ name: "${name.toLowerCase()}_tool", description: "One.", parameters: {} }]; }
    async execute_tool() { return { success: true, result: 1 }; }
  }`;

  test("with two providers is refused, as nobody could tell which is meant", async () => {
    const error = await refusal(`export ${provider("One")} export ${provider("Two")}`);
    expect(error.message).toContain("exports two classes of providers");
  });

  test("may export its provider under two names", async () => {
    const names = await register(`export ${provider("Same")} export default Same;`);
    expect(names).toEqual(["same_tool"]);
  });
});

describe("an AgentSpace class", () => {
  test("is found in a CommonJS module as well", async () => {
    const [name = ""] = await register(`class AgentSpaceV1Tool { execute() { return { ok: true }; } }
      module.exports = { AgentSpaceV1Tool };`);
    expect((await run(name)).output).toEqual({ ok: true });
  });

  test("whose constructor throws is not registered, and says that it could not be made", async () => {
    const error = await refusal(`export class AgentSpaceV1Tool {
      constructor(id, data) { if (!data.key) throw new Error("key is missing"); }
      execute() { return {}; }
    }`);
    expect([error.code, error.message]).toEqual(["load_error", expect.stringContaining("key is missing")]);
  });
});

describe("a Xaibo module", () => {
  test("that exports a class and what extends it has the tools of the latter", async () => {
    const names = await register(`
      export class Abstract { list_tools() { throw new Error("abstract"); } execute_tool() {} }
      export class Weather extends Abstract {
        list_tools() { return [{ name: "sky", description: "Looks up.", parameters: {} }]; }
        execute_tool(name) { return { success: true, result: name }; }
      }`);
    expect(names).toEqual(["sky"]);
    expect((await run("sky")).output).toBe("sky");
  });
});

describe("a module of many tools", () => {
  const many = (prefix: string, count: number) => `export class Many {
    list_tools() {
      return Array.from({ length: ${count} }, (_, at) => ({ name: "${prefix}" + at, description: "One.", parameters: {} }));
    }
    execute_tool(name) { return { success: true, result: name }; }
  }`;

  test("is registered with all of them, or with none where there is no room for all", async () => {
    await using full = await createEngine({ workers: 1, executor: "threads" });
    for (let at = 0; at < 10; at++) {
      const path = join(folder, `many${at}.js`);
      writeFileSync(path, many(`many${at}_`, at === 0 ? 998 : 1_000));
      await full.register(path);
    }
    const path = join(folder, "too-many.js");
    writeFileSync(path, many("more", 3));
    await expect(full.register(path)).rejects.toMatchObject({ code: "load_error" });
    expect([full.stats().tools, full.get("more0")]).toEqual([9_998, undefined]);
    writeFileSync(path, many("more", 2));
    await full.register(path);
    expect(full.stats().tools).toBe(10_000);
    // Those that replace others need no room.
    expect((await full.register(path)).name).toBe("more0");
  });
});

describe("a module of our own", () => {
  test("may be CommonJS", async () => {
    const [name = ""] = await register(
      `module.exports = { spec: { description: "Doubles." }, default: ({ n }) => n * 2 };`,
    );
    expect((await run(name, { n: 4 })).output).toBe(8);
  });

  test.each([
    ["is its function, which holds its spec", `module.exports = ({ n }) => n * 2; module.exports.spec = SPEC;`],
    ["exports its spec and run", `module.exports = { spec: SPEC, run: ({ n }) => n * 2 };`],
    ["exports them one by one", `exports.spec = SPEC; exports.run = ({ n }) => n * 2;`],
  ])("of CommonJS that %s is a tool", async (_form, text) => {
    const [name = ""] = await register(text.replace("SPEC", `{ description: "Doubles." }`));
    expect((await run(name, { n: 4 })).output).toBe(8);
  });

  test("has no commands", async () => {
    const [name = ""] = await register(`export const spec = { description: "Adds." }; export default () => 1;`);
    const { error } = await engine.execute({ name, arguments: {}, command: "other" });
    expect(error).toMatchObject({ code: "invalid_arguments", message: expect.stringContaining("no commands") });
  });

  test("is told apart by its default export, whatever else it exports", async () => {
    const [name = ""] = await register(`export const spec = { description: "Mounts." };
      export function mount() { return null; }
      export default () => mount();`);
    expect(engine.get(name)?.contract).toBe("glovebox");
    expect((await run(name)).output).toBeNull();
  });

  test("is what whoever registers it says, before what it says itself", async () => {
    const [name = ""] = await register(
      `export const spec = { description: "Waits.", limits: { wallMs: 100, queueMs: 77 }, tags: ["own"] };
      export default () => 1;`,
      { limits: { wallMs: 50, cpuMs: 20 }, tags: ["slow"] },
    );
    const info = engine.get(name);
    expect(info?.tags).toEqual(["slow"]);
    expect(info?.limits).toMatchObject({ wallMs: 50, cpuMs: 20, queueMs: 77 });
  });

  test("is refused where its place says what there is not", async () => {
    const error = await refusal(`export const spec = { description: "Adds." }; export default () => 1;`, {
      // What is written in JavaScript may be anything.
      ...({ colour: "red" } as object),
    });
    expect([error.code, error.message]).toEqual(["load_error", expect.stringContaining("colour")]);
  });
});

describe("a long text", () => {
  test.each([
    ["is left as it is where it is as long as it may be", "x".repeat(10), "x".repeat(10), undefined],
    [
      "is cut where it is longer, and says so",
      "x".repeat(13),
      `${"x".repeat(10)}\n\n[Truncated: 3 chars remaining]`,
      3,
    ],
    ["is not cut within a character", `${"x".repeat(9)}😀y`, `${"x".repeat(9)}\n\n[Truncated: 3 chars remaining]`, 3],
  ])("%s", async (_title, text, expected, cut) => {
    await engine.register({
      name: "long",
      description: "Answers with a text.",
      source: "export default ({ text }) => text;",
      outputChars: 10,
    });
    const { output, metadata } = await run("long", { text });
    expect([output, metadata.truncated?.output]).toEqual([expected, cut]);
    expect(metadata["originalChars"]).toBe(cut === undefined ? undefined : text.length);
  });
});

test("a record's timeout holds beside the limits that its place gives a package", async () => {
  const record = {
    tool_id: "timed",
    tool_runtime_type: "javascript",
    tool_source_code_link: "./timed.js",
    tools_api_spec: { input: {}, output: {}, management: { timeout: { type: "number", default: 3 } } },
  };
  await register(`export class AgentSpaceV1Tool { execute() { return {}; } }`, { record, limits: { memoryMb: 64 } });
  expect(engine.get("timed")?.limits).toMatchObject({ wallMs: 3_000, memoryMb: 64 });
});

describe("what an AgentSpace tool is configured with", () => {
  const key = "sk-live-0123456789";
  const text = `export class AgentSpaceV1Tool {
    constructor(id, data) { this.data = data; }
    execute({ fail }) {
      console.log("with", this.data.api_key);
      if (fail) throw new Error("refused for " + this.data.api_key + " and " + btoa(this.data.api_key));
      return { length: this.data.api_key.length };
    }
  }`;

  test("stands neither in errors nor in logs", async () => {
    const [name = ""] = await register(text, { config: { api_key: key } });
    const lines: string[] = [];
    const onLog = ({ message }: { message: string }) => void lines.push(message);
    const failed = await engine.execute({ name, arguments: { fail: true } }, { onLog });
    expect(failed.error?.message).toBe("refused for (api_key) and (api_key)");
    expect(JSON.stringify([failed, lines, engine.get(name)])).not.toContain(key);
    const { output, metadata } = await run(name);
    expect([output, metadata.logs[0]?.message]).toEqual([{ length: key.length }, "with (api_key)"]);
  });

  test("stands in no error of its registration", async () => {
    const error = await refusal(
      `export class AgentSpaceV1Tool { constructor(id, data) { throw new Error("no use: " + data.api_key); } execute() {} }`,
      { config: { api_key: key } },
    );
    expect(error.message).toContain("no use: (api_key)");
    expect(JSON.stringify([error.message, error.details])).not.toContain(key);
  });
});
