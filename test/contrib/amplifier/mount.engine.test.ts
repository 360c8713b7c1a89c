import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MountPlanError, mountPlan, ModuleSourceError, parseMountPlan } from "../../../src/contrib/amplifier/index.ts";
import { ContractError } from "../../../src/standard/contracts.ts";
import { type Engine, GloveboxError } from "../../../src/glovebox/index.ts";
import { temporaryFolder } from "../../kernel/tool/temporary.ts";
import { moduleOf, MODULES, openEngine } from "./modules.ts";

let engine: Engine;

beforeAll(async () => {
  engine = await openEngine();
});
afterAll(() => engine.close());

const OUTPUT = (text: string) => `return { success: true, output: ${JSON.stringify(text)} };`;

describe("a mount plan", () => {
  test("has its tools registered, with their config, and says what each module has [A31 A33 A36 A37]", async () => {
    const plan = parseMountPlan(`
      tools:
        - module: my-tool
          source: ./my_tool.js
          config: { max_size: 1048576, allowed_paths: [/srv/projects] }
        - module: greeter
          source: ./guide_tool.js
          config: { greeting: Hi }
    `);
    const mounted = await mountPlan(engine, plan, { folder: MODULES });
    expect(mounted).toEqual([
      {
        module: "my-tool",
        state: "mounted",
        tools: ["my_tool"],
        events: ["my-tool:started", "my-tool:completed", "my-tool:error"],
        error: null,
      },
      { module: "greeter", state: "mounted", tools: ["greet"], events: [], error: null },
    ]);
    const { output } = await engine.execute({ name: "my_tool", arguments: { required_param: "a" } });
    expect(output).toMatchObject({ config: { max_size: 1048576, allowed_paths: ["/srv/projects"] } });
    expect((await engine.execute({ name: "greet", arguments: { path: "Ada" } })).output).toBe("Hi, Ada (utf-8)");
  });

  test("finds a module without a source by the name that a package.json has for it [A20]", async () => {
    const folder = await temporaryFolder({
      "package.json": JSON.stringify({ amplifier: { modules: { "my-tool": "./my_tool.js:mount" } } }),
      "my_tool.js": moduleOf("found", OUTPUT("found by its name")),
    });
    expect(await mountPlan(engine, { tools: [{ module: "my-tool" }] }, { folder })).toMatchObject([
      { state: "mounted", tools: ["found"] },
    ]);
    expect((await engine.execute({ name: "found", arguments: {} })).output).toBe("found by its name");
  });

  test("goes on where a module mounts nothing, or cannot be had [A17 A32]", async () => {
    const folder = await temporaryFolder({
      "nothing.js": "export async function mount(coordinator, config) { return null; }",
      "broken.js": "export async function mount(coordinator, config) { throw new Error('no'); }",
      "other.js": "export default () => 1; export const spec = { name: 'other', description: 'is no module' };",
      "good.js": moduleOf("good", OUTPUT("good")),
    });
    const tools = [
      { module: "nothing", source: "./nothing.js" },
      { module: "remote", source: "git+https://github.com/org/my-tool@main" },
      { module: "broken", source: "./broken.js" },
      { module: "other", source: "./other.js" },
      { module: "good", source: "./good.js" },
    ];
    const mounted = await mountPlan(engine, { tools }, { folder });
    expect(mounted.map(({ module, state }) => `${module} ${state}`)).toEqual([
      "nothing skipped",
      "remote failed",
      "broken failed",
      "other failed",
      "good mounted",
    ]);
    const errors = mounted.map(({ error }) => error);
    expect(errors[1]).toBeInstanceOf(ModuleSourceError);
    expect(errors[2]).toBeInstanceOf(GloveboxError);
    expect(errors[3]?.message).toBe(
      'module "other" is no module of Amplifier\'s; name the one module that is meant, which has to export mount(coordinator, config)',
    );
    expect(engine.get("other")).toBeUndefined();
  });

  test("refuses a tool whose name another module has already [A22]", async () => {
    const folder = await temporaryFolder({
      "one.js": moduleOf("same", OUTPUT("one")),
      "two.js": moduleOf("same", OUTPUT("two")),
    });
    const tools = ["one", "two"].map((module) => ({ module, source: `./${module}.js` }));
    const [first, second] = await mountPlan(engine, { tools }, { folder });
    expect(first?.state).toBe("mounted");
    expect(second?.error).toBeInstanceOf(ContractError);
    expect(second?.error?.message).toBe('amplifier: module "two" mounts "same", as module "one" does already');
    expect((await engine.execute({ name: "same", arguments: {} })).output).toBe("one");
  });

  test("refuses a module that is another one when it is registered than when it was looked at", async () => {
    const name = "t${Math.random().toString(36).slice(2)}";
    const folder = await temporaryFolder({
      "a.js": `export async function mount(coordinator) {
        const tool = { name: \`${name}\`, description: "d", input_schema: {}, execute: async () => ({ success: true }) };
        await coordinator.mount("tools", tool, { name: tool.name });
      }`,
    });
    const [mounted] = await mountPlan(engine, { tools: [{ module: "a", source: "./a.js" }] }, { folder });
    expect(mounted).toMatchObject({ state: "failed", error: { code: "load_error" } });
    expect(mounted?.error?.message).toContain("not one of the tool names that it may define");
  });

  test("leaves a tool alone that the engine has already, unless it is told to replace it [A22]", async () => {
    await engine.register({ name: "pay", description: "The embedder's.", source: "export default () => 'mine'" });
    const folder = await temporaryFolder({ "pay.js": moduleOf("pay", OUTPUT("theirs")) });
    const plan = { tools: [{ module: "pay", source: "./pay.js" }] };
    const [refused] = await mountPlan(engine, plan, { folder });
    expect(refused).toMatchObject({ state: "failed", tools: [] });
    expect(refused?.error?.message).toBe('amplifier: module "pay" mounts "pay", which the engine has already');
    expect((await engine.execute({ name: "pay", arguments: {} })).output).toBe("mine");
    for (let times = 0; times < 2; times++) {
      expect(await mountPlan(engine, plan, { folder, replace: true })).toMatchObject([{ state: "mounted" }]);
    }
    expect((await engine.execute({ name: "pay", arguments: {} })).output).toBe("theirs");
  });

  test("lists the events of modules one of whose contributors throws [A38]", async () => {
    const contributors = `
      coordinator.register_contributor("observability.events", "broken", () => { throw new Error("no"); });
      coordinator.register_contributor("observability.events", "odd", () => [5, null, "odd:one"]);
      coordinator.register_contributor("other", "else", () => ["something else"]);
      await coordinator.mount(`;
    const folder = await temporaryFolder({
      "a.js": moduleOf("contributes", OUTPUT("fine")).replace("await coordinator.mount(", contributors),
    });
    const [mounted] = await mountPlan(engine, { tools: [{ module: "a", source: "./a.js" }] }, { folder });
    expect(mounted).toMatchObject({ state: "mounted", events: ["odd:one"] });
  });

  test("gives its tools what whoever mounts it says of them", async () => {
    const folder = await temporaryFolder({ "a.js": moduleOf("tagged", OUTPUT("fine")) });
    await mountPlan(
      engine,
      { tools: [{ module: "a", source: "./a.js" }] },
      { folder, tags: ["mounted"], limits: { cpuMs: 7 } },
    );
    expect(engine.get("tagged")).toMatchObject({ tags: ["mounted"], limits: { cpuMs: 7 } });
  });

  test("that is not valid mounts nothing [A35]", async () => {
    const count = engine.list().length;
    const mounting = mountPlan(engine, { tools: [{ module: "greeter", source: 5 }] }, { folder: MODULES });
    await expect(mounting).rejects.toThrow(MountPlanError);
    expect(engine.list()).toHaveLength(count);
  });
});
