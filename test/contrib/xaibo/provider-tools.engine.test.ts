import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  combineProviders,
  guardedProvider,
  ToolExecutionError,
  ToolNameClashError,
  ToolParameterError,
  type ToolProviderProtocol,
  providerTools,
  toolProvider,
} from "../../../src/contrib/xaibo/index.ts";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";

const city = { type: "string", description: "City", required: true } as const;
const size = { type: "integer", description: "How many", required: false, default: 2 } as const;

/** A provider of the embedder's own. What it keeps, stays in this process. */
class LibraryProvider implements ToolProviderProtocol {
  readonly seen: unknown[] = [];
  cancelled = 0;

  list_tools() {
    return Promise.resolve([
      { name: "find_books", description: "Finds books about a city.", parameters: { city, size } },
      { name: "wait_long", description: "Waits until nobody waits for it." },
    ]);
  }

  async execute_tool(tool_name: string, parameters: Record<string, unknown>, context: { signal?: AbortSignal } = {}) {
    this.seen.push([tool_name, parameters]);
    if (tool_name === "wait_long") {
      await new Promise((resolve) => context.signal?.addEventListener("abort", resolve, { once: true }));
      this.cancelled++;
    }
    switch (parameters["city"]) {
      case "Atlantis":
        return { success: false, error: "City 'Atlantis' not found" };
      case "Babel":
        throw new ToolExecutionError("too many languages");
      case "Carcassonne":
        throw new TypeError("walls");
      case "Delphi":
        return { success: true, result: [() => 1] };
      default:
        return { success: true, result: { books: Number(parameters["size"]) } };
    }
  }
}

describe("a provider of the embedder's, behind an engine", () => {
  let engine: Engine;
  const library = new LibraryProvider();

  beforeAll(async () => {
    const { tools, capability, rule } = await providerTools(library, {
      name: "library",
      prefix: "lib_",
      tags: ["books"],
    });
    engine = await createEngine({
      workers: 1,
      executor: "threads",
      capabilities: [capability],
      policy: { rules: [rule] },
      tools,
    });
  });

  afterAll(() => engine.close());

  const find = (args: Record<string, unknown>) => engine.execute({ name: "lib_find_books", arguments: args });

  test("has its tools in the engine's list", () => {
    expect(engine.list().map(({ name, tags }) => [name, tags])).toEqual([
      ["lib_find_books", ["books"]],
      ["lib_wait_long", ["books"]],
    ]);
  });

  test("is asked only with parameters that fit, with their defaults, and under its own names", async () => {
    library.seen.length = 0;
    expect((await find({ city: 5 })).error?.code).toBe("invalid_arguments");
    expect(await find({ city: "Paris" })).toMatchObject({ success: true, output: { books: 2 } });
    expect(library.seen).toEqual([["find_books", { city: "Paris", size: 2 }]]);
  });

  test.each([
    ["Atlantis", "City 'Atlantis' not found", "ToolExecutionError"],
    ["Babel", "too many languages", "ToolExecutionError"],
    ["Carcassonne", "walls", "TypeError"],
    ["Delphi", "the result cannot be written as JSON: /0 is a function", "TypeError"],
  ])("answered or thrown, its failure about %s is the tool's [E19 E44 E47]", async (name, message, type) => {
    expect(await find({ city: name })).toMatchObject({
      success: false,
      output: null,
      error: { code: "tool_error", type, message, retryable: false },
      metadata: { tool: "lib_find_books", attempts: 1 },
    });
  });

  test("hears that nobody waits for it any more", async () => {
    library.seen.length = 0;
    const before = library.cancelled;
    const call = { name: "lib_wait_long", arguments: {} };
    // On a busy machine the time may be over before the provider is asked.
    while (library.seen.length === 0) {
      expect((await engine.execute(call, { limits: { wallMs: 100 } })).error?.code).toBe("wall_limit");
    }
    const controller = new AbortController();
    const cancelled = engine.execute(call, { signal: controller.signal });
    await expect.poll(() => library.seen).toHaveLength(2);
    controller.abort();
    expect((await cancelled).error?.code).toBe("cancelled");
    await expect.poll(() => library.cancelled).toBe(before + 2);
  });

  test("is asked once for all calls with the same key [E43]", async () => {
    library.seen.length = 0;
    const provider = toolProvider(engine);
    const buy = (idempotencyKey: string) =>
      provider.execute_tool("lib_find_books", { city: "Rome" }, { idempotencyKey });
    const [first, second] = await Promise.all([buy("key-1"), buy("key-1")]);
    expect(second).toEqual(first);
    expect(await buy("key-1")).toEqual(first);
    expect(library.seen).toHaveLength(1);
    await buy("key-2");
    expect(library.seen).toHaveLength(2);
  });

  test("is out of reach for tools that are not its own", async () => {
    const source =
      "export default (_, { host }) => host.library.execute_tool({ tool_name: 'find_books', parameters: {} })";
    await engine.register({ name: "thief", description: "Tries.", source, capabilities: { library: true } });
    expect((await engine.execute({ name: "thief", arguments: {} })).error?.code).toBe("capability_denied");
  });

  test("through an engine and back it is a provider that answers the same", async () => {
    const through = toolProvider(engine);
    expect(await through.execute_tool("lib_find_books", { city: "Paris", size: 7 })).toMatchObject(
      await library.execute_tool("find_books", { city: "Paris", size: 7 }),
    );
  });
});

describe("what provides tools", () => {
  test("may not list two of one name [E09]", async () => {
    const tool = { name: "find_books", description: "Finds books." };
    const provider = { list_tools: () => Promise.resolve([tool, tool]), execute_tool: () => Promise.reject() };
    await expect(providerTools(provider)).rejects.toMatchObject({ name: "ContractError", pointer: "/tools/1/name" });
  });

  test("is not waited for without end", async () => {
    const provider = { list_tools: () => new Promise<never>(() => undefined), execute_tool: () => Promise.reject() };
    await expect(providerTools(provider, { listMs: 5 })).rejects.toThrow("list_tools took longer than 5 ms");
  });
});

describe("several providers as one", () => {
  const one = (name: string, answer: string) =>
    guardedProvider({ tools: [{ name, description: `Answers ${answer}.` }], execute: () => answer });

  test("list all tools, and each call goes to whose tool it is [E48]", async () => {
    const all = combineProviders([one("get_a", "a"), one("get_b", "b"), new LibraryProvider()]);
    expect((await all.list_tools()).map(({ name }) => name)).toEqual(["get_a", "get_b", "find_books", "wait_long"]);
    expect((await all.execute_tool("get_b", {})).result).toBe("b");
    expect((await all.execute_tool("find_books", { city: "Paris", size: 1 })).result).toEqual({ books: 1 });
  });

  test("stand behind one engine [E48]", async () => {
    const { tools, capability, rule } = await providerTools(combineProviders([one("get_a", "a"), one("get_b", "b")]));
    const rules = { rules: [rule] };
    await using engine = await createEngine({
      workers: 1,
      executor: "threads",
      capabilities: [capability],
      policy: rules,
      tools,
    });
    const outputs = await Promise.all(["get_a", "get_b"].map((name) => engine.execute({ name, arguments: {} })));
    expect(outputs.map(({ output }) => output)).toEqual(["a", "b"]);
  });

  test("may not have tools of the same name, and the error says whose they are [E48]", async () => {
    const all = combineProviders([one("get_a", "1"), one("get_b", "2"), one("get_a", "3")]);
    const clash = 'tool "get_a" is listed by providers 0 and 2; give one of them another name';
    await expect(all.list_tools()).rejects.toThrow(clash);
    await expect(all.list_tools()).rejects.toBeInstanceOf(ToolNameClashError);
    await expect(all.execute_tool("get_a", {})).rejects.toThrow(clash);
  });

  test("answer that a tool is not there, and find one that has come since", async () => {
    const tools = [{ name: "get_a", description: "Answers." }];
    const growing: ToolProviderProtocol = {
      list_tools: () => Promise.resolve([...tools]),
      execute_tool: (name) => Promise.resolve({ success: true, result: name }),
    };
    const all = combineProviders([growing]);
    expect((await all.execute_tool("get_z", {})).error).toBe("Tool 'get_z' not found. Available tools: ['get_a']");
    tools.push({ name: "get_z", description: "Answers." });
    expect((await all.execute_tool("get_z", {})).result).toBe("get_z");
  });

  test("pass on what their providers throw", async () => {
    const tools = [{ name: "get_a", description: "Answers.", parameters: { city } }];
    const all = combineProviders([guardedProvider({ tools, execute: () => 1, throwOnError: true })]);
    await expect(all.execute_tool("get_a", {})).rejects.toBeInstanceOf(ToolParameterError);
  });
});
