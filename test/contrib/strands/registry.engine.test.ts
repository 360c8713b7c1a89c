import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { getRegistry, type RegistryOptions, type ToolPlace, ToolRegistry } from "../../../src/contrib/strands/index.ts";
import { createEngine, type Engine } from "../../../src/glovebox/index.ts";
import { Folder, SAMPLES, toolModule } from "./folder.ts";

let engine: Engine;

beforeAll(async () => {
  engine = await createEngine({ workers: 1, executor: "threads" });
});

afterAll(() => engine.close());

function discover(
  tools: ToolPlace | readonly ToolPlace[],
  options: Partial<RegistryOptions> = {},
): Promise<ToolRegistry> {
  return ToolRegistry.discover({ engine, tools, ...options });
}

/** A discovery of one module, and of a good one beside it. */
async function discoverModule(text: string) {
  using folder = new Folder({ "tool.js": text, "good.js": toolModule("good") });
  const told: unknown[] = [];
  const logger = { warn: (fields: object, message: string) => void told.push({ ...fields, message }) };
  const registry = await discover(folder.path, { logger });
  expect(registry.warnings).toEqual(told);
  return { ids: registry.list_all().map(({ id }) => id), warnings: registry.warnings };
}

describe("discovery", () => {
  test("finds the tools of a folder without anybody registering them [D01]", async () => {
    const registry = await discover(SAMPLES);
    expect(registry.list_all().map(({ id }) => id)).toEqual(["calculator", "echo", "my_tool"]);
    expect(registry.warnings).toEqual([]);
  });

  test("skips a module without TOOL_SPEC, says so, and goes on [D02 D03]", async () => {
    const { ids, warnings } = await discoverModule("export const other = 1;");
    expect(ids).toEqual(["good"]);
    expect(warnings).toEqual([{ message: "Tool module missing TOOL_SPEC, skipping", module_name: "tool" }]);
  });

  test("takes no module of another contract for a tool, and leaves the engine's own of that name alone", async () => {
    const source = 'export default () => "mine"';
    await engine.register({ name: "greet", description: "Greets.", source });
    const other = 'export const spec = { name: "greet", description: "x" }; export default () => "theirs";';
    const { warnings } = await discoverModule(other);
    expect(warnings).toMatchObject([{ message: "Tool module missing TOOL_SPEC, skipping" }]);
    expect((await engine.execute({ name: "greet", arguments: {} })).output).toBe("mine");
  });

  test("lets no module take the name of a tool that the engine has from somebody else", async () => {
    const source = 'export default () => "mine"';
    await engine.register({ name: "pay", description: "Pays.", source });
    const { ids, warnings } = await discoverModule(toolModule("pay"));
    expect(ids).toEqual(["good"]);
    const message = "Tool name is that of another tool of the engine, skipping";
    expect(warnings).toEqual([{ message, module_name: "tool", error: "pay" }]);
    expect((await engine.execute({ name: "pay", arguments: {} })).output).toBe("mine");
    await engine.unregister("pay");
    expect((await discoverModule(toolModule("pay"))).ids).toEqual(["good", "pay"]);
  });

  test.each([
    ["is no object", "export const TOOL_SPEC = 5;"],
    ["is null", "export const TOOL_SPEC = null;"],
    ["has no name", 'export const TOOL_SPEC = { description: "x" };'],
  ])("skips a module whose TOOL_SPEC %s, says so, and goes on [D04]", async (_what, text) => {
    const { ids, warnings } = await discoverModule(text);
    expect(ids).toEqual(["good"]);
    const message = "Tool module has invalid TOOL_SPEC (missing 'name'), skipping";
    expect(warnings).toEqual([{ message, module_name: "tool" }]);
  });

  test.each([
    ["throws", 'throw new Error("no luck");', "no luck"],
    ["is no JavaScript", "export const = 5;", "tool.js"],
    ["imports what is not there", 'import "left-pad-of-nobody";', "left-pad-of-nobody"],
  ])("skips a module that %s, says why, and goes on [D05]", async (_what, text, reason) => {
    const { ids, warnings } = await discoverModule(text);
    expect(ids).toEqual(["good"]);
    expect(warnings).toEqual([
      {
        message: "Failed to import tool module, skipping",
        module_name: "tool",
        error: expect.stringContaining(reason),
      },
    ]);
    expect(JSON.stringify(warnings)).not.toContain("glovebox-strands-");
  });

  test("takes a specification whose function has another name for a failure to load [D08]", async () => {
    const text = toolModule("echo").replace("function echo", "function ekko");
    const { ids, warnings } = await discoverModule(text);
    expect(ids).toEqual(["good"]);
    expect(warnings).toMatchObject([{ error: expect.stringContaining('exports no function "echo"') }]);
  });

  test("passes over _private modules, the registry, tests, types and what is no module [D06]", async () => {
    const names = ["_private.js", "__init__.js", "registry.js", ".hidden.js", "a.test.js", "a.d.ts", "notes.md"];
    using folder = new Folder(Object.fromEntries(names.map((name) => [name, toolModule("never")])));
    const registry = await discover(folder.path);
    expect(registry.list_all()).toEqual([]);
    expect(registry.warnings).toEqual([]);
  });

  test("follows no link out of the folder", async () => {
    using outside = new Folder({ "secret.js": toolModule("secret"), "index.js": toolModule("secret") });
    using folder = new Folder();
    symlinkSync(outside.at("secret.js"), folder.at("linked.js"));
    symlinkSync(outside.path, folder.at("linked"));
    expect((await discover(folder.path)).list_all()).toEqual([]);
  });

  test("finds a folder with an index file", async () => {
    using folder = new Folder({ "deep/index.js": toolModule("deep"), "empty/other.js": toolModule("never") });
    expect((await discover(folder.path)).resolve("deep")).toBe("strands_cli.tools.deep");
  });

  test("needs no more of a TOOL_SPEC than its name [D07]", async () => {
    const { ids, warnings } = await discoverModule(
      'export const TOOL_SPEC = { name: "bare" }; export const bare = () => 1;',
    );
    expect(ids).toEqual(["good", "bare"]);
    expect(warnings).toEqual([]);
  });

  test("of two modules with the same name keeps the later one, and says so [D53]", async () => {
    using folder = new Folder({ "a.js": toolModule("twin", "first"), "b.js": toolModule("twin", "second") });
    const registry = await discover(folder.path);
    expect(registry.list_all()).toMatchObject([{ id: "twin", module_path: "strands_cli.tools.b" }]);
    expect(engine.get("twin")?.description).toBe("second");
    const message = "Duplicate tool name, the module discovered last wins";
    expect(registry.warnings).toEqual([{ message, module_name: "b", error: "twin of strands_cli.tools.a" }]);
  });

  test("sees a new module after a reload, and no longer one that is gone [D77]", async () => {
    using folder = new Folder({ "old.js": toolModule("old") });
    const registry = await discover(folder.path);
    folder.write("fresh.js", toolModule("fresh"));
    folder.remove("old.js");
    expect(registry.get("fresh")).toBeNull();
    await registry.reload();
    expect(registry.list_all().map(({ id }) => id)).toEqual(["fresh"]);
    expect(engine.get("old")).toBeUndefined();
    expect((await discover(folder.path)).get("fresh")).not.toBeNull();
  });

  test("of a folder that is not there fails, without telling where it is not", async () => {
    await expect(discover("/no/such/place/tools")).rejects.toThrow("there is no tools folder tools");
  });
});

describe("the registry", () => {
  test("knows each tool's id, path and description, and what to import it by [D44]", async () => {
    const registry = await discover(SAMPLES);
    const path = "strands_cli.tools.echo";
    const description = "Returns the input message unchanged";
    expect(registry.get("echo")).toEqual({ id: "echo", module_path: path, description, import_path: path });
  });

  test("gives a tool without a description an empty one [D45]", async () => {
    using folder = new Folder({ "bare.js": toolModule("bare") });
    expect((await discover(folder.path)).get("bare")?.description).toBe("");
  });

  test("lists every tool [D46]", async () => {
    using folder = new Folder({ "a.js": toolModule("a"), "b.ts": toolModule("b"), "c.mjs": toolModule("c") });
    expect((await discover(folder.path)).list_all().map(({ id }) => id)).toEqual(["a", "b", "c"]);
  });

  test("answers null for a tool that it does not have [D47]", async () => {
    const registry = await discover(SAMPLES);
    expect(registry.get("echo")?.id).toBe("echo");
    expect(registry.get("nobody")).toBeNull();
    expect(registry.get("__proto__")).toBeNull();
  });

  test("resolves an id to its full path, and nothing else, not even a full path [D48 F13]", async () => {
    const registry = await discover(SAMPLES);
    expect(registry.resolve("echo")).toBe("strands_cli.tools.echo");
    expect(registry.resolve("nobody")).toBeNull();
    expect(registry.resolve("strands_cli.tools.echo")).toBeNull();
    expect(registry.find("strands_cli.tools.echo")?.id).toBe("echo");
  });

  test("allows each tool by its id and by its full path [D49]", async () => {
    const registry = await discover([join(SAMPLES, "echo.js"), join(SAMPLES, "calculator.js")]);
    expect(registry.get_allowlist()).toEqual(
      new Set(["echo", "strands_cli.tools.echo", "calculator", "strands_cli.tools.calculator"]),
    );
  });

  test("is one for the process, which the first call makes [D42]", async () => {
    const first = getRegistry({ engine, tools: SAMPLES });
    await using registry = await first;
    expect(await getRegistry()).toBe(registry);
    expect(await getRegistry({ tools: "/elsewhere" })).toBe(registry);
  });

  // Python may have to be made ready first.
  test("has the engine's own tools where nobody says otherwise", { timeout: 90_000 }, async () => {
    await using registry = await getRegistry({ engine });
    expect(registry.list_all().map(({ id }) => id)).toEqual(["calculator", "echo", "js_exec", "python_exec"]);
    expect(registry.warnings).toEqual([]);
  });

  test("discovers once, when it is made [D43]", async () => {
    using folder = new Folder({ "a.js": toolModule("a") });
    await using registry = await getRegistry({ engine, tools: folder.path });
    folder.write("b.js", toolModule("b"));
    expect((await getRegistry()).list_all()).toEqual(registry.list_all());
    expect(registry.get("b")).toBeNull();
  });

  test("that could not be made, or was closed, leaves room for another", async () => {
    await expect(getRegistry({ engine, tools: "/no/such/folder" })).rejects.toThrow("no tools folder");
    const first = await getRegistry({ engine, tools: SAMPLES });
    await first.close();
    await using second = await getRegistry({ engine, tools: SAMPLES });
    expect(second).not.toBe(first);
    expect(engine.stats().state).toBe("open");
  });

  test("closes the engine that it made itself", async () => {
    const registry = await ToolRegistry.discover({ tools: join(SAMPLES, "echo.js") });
    await registry.close();
    expect(registry.engine.stats().state).toBe("closed");
  });
});
