import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import type { EventMap } from "../../../../src/kernel/engine/telemetry/events.ts";
import { builds } from "../../../../src/kernel/tool/build/builds.ts";
import { refusalOf } from "../../../kernel/tool/temporary.ts";
import { type ModuleEngine, openModuleEngine } from "./module-engine.ts";
import { OPENAI_AGENTS } from "./shapes.ts";

let modules: ModuleEngine;

beforeAll(async () => {
  modules = await openModuleEngine();
});
afterAll(() => modules[Symbol.asyncDispose]());
afterEach(async () => {
  for (const { name } of modules.engine.list()) await modules.engine.unregister(name);
});

const refused = async (text: string, extras: object = {}): Promise<string> =>
  (await refusalOf(modules.register("odd", text, extras))).message;

/** What is said of the tools that are left out of a module. */
const omitted = async (text: string): Promise<readonly EventMap["tool:omit"][0][]> => {
  const found: EventMap["tool:omit"][0][] = [];
  const listen = (...[event]: EventMap["tool:omit"]): void => void found.push(event);
  modules.engine.on("tool:omit", listen);
  await modules.register("mostly", text);
  modules.engine.off("tool:omit", listen);
  return found;
};

const tool = (name: string, more = ""): string =>
  `{ name: ${JSON.stringify(name)}, description: "Does something.", parameters: { type: "object" }, execute: () => 1, ${more} }`;
const aiTool = (more: string): string => `{ description: "Does something.", inputSchema: { type: "object" }, ${more} }`;

describe("what a module exports", () => {
  test("is told, with what it looks like, where none of it is a tool", async () => {
    const text = `export const answer = 42; export const rows = [1, 2]; export class Money {}
      export const settings = { a: 1, b: 2 }; export function main() {}`;
    expect(await refused(text)).toBe(
      'tool "odd" must export default a function (input, context) => output, or tools of a library; it exports Money (a class), ' +
        "answer (number), main (a function), rows (a list of 2), settings (an object with a, b). Is it a helper of tools? " +
        "Begin the name of its file with _ or move it to a subfolder",
    );
  });

  test("is told of a list with what its first value has", async () => {
    const text = `export const tools = [{ type: "function", function: { name: "add" } }, 1];`;
    expect(await refused(text)).toContain(
      "it exports tools (a list of 2, of which the first is an object with type, function)",
    );
  });

  test("may be objects whose function has one of its usual names, beside a schema", async () => {
    const named = (name: string, more: string): string =>
      `{ name: "${name}", description: "Does.", ${more}: { type: "object" }, ${name}: ({ a }) => a }`;
    const text = `export const tools = [${named("handler", "inputSchema")}, ${named("run", "input_schema")}];
      export const migration = { name: "first", run() {} };`;
    expect(await modules.register("usual", text)).toEqual({ handler: "tools", run: "tools" });
    expect([await modules.output("handler", { a: 1 }), await modules.output("run", { a: 2 })]).toEqual([1, 2]);
  });

  test("may be other things beside its tools", async () => {
    const text = `export const VERSION = 3; export const one = ${tool("one")}; export const helper = () => 1;`;
    expect(await modules.register("mixed", text)).toEqual({ one: "tools" });
  });

  test("may be one tool, which the module names where it does not", async () => {
    expect(await modules.register("alone", `export default ${aiTool("execute: () => 7")};`)).toEqual({
      alone: "ai-sdk",
    });
    expect(await modules.output("alone")).toBe(7);
  });

  test("may be the members of a CommonJS module", async () => {
    expect(await modules.register("common.js", `module.exports = { a: ${tool("one")}, b: ${tool("two")} };`)).toEqual({
      one: "tools",
      two: "tools",
    });
  });

  test("is one tool where it is the same object twice, under the key of the record", async () => {
    const text = `const weatherTool = ${aiTool("execute: () => 1")};
      export { weatherTool }; export const tools = { weather: weatherTool };`;
    expect(await modules.register("twice", text)).toEqual({ weather: "ai-sdk" });
    expect(await modules.output("weather")).toBe(1);
  });

  test("is refused where two tools have one name", async () => {
    expect(await refused(`export const a = ${tool("same")}; export const b = [${tool("same")}];`)).toBe(
      'tool "odd" exports two tools "same": b[0] and a; name one otherwise',
    );
  });

  test("is refused where a tool has a name that no tool can have, or none", async () => {
    expect(await refused(`export const a = ${tool("get weather!")};`)).toBe(
      'tool "odd" exports a, whose name "get weather!" no tool can have; a name is 1 to 128 of A-Z a-z 0-9 _ . -',
    );
    expect(await refused(`export const tools = [${aiTool("execute: () => 1")}];`)).toBe(
      'tool "odd" exports tools[0], which has no name; export it by name, or in a record',
    );
  });

  test("is refused where the place allows other names or another contract", async () => {
    expect(await refused(`export const a = ${tool("a")};`, { names: ["b"] })).toMatch(/holds "a", which is not one of/);
    expect(await refused(`export const a = ${tool("a")};`, { contract: "mcp" })).toMatch(/not written for .* mcp/);
  });
});

describe("a tool that cannot be called here", () => {
  test("is refused with the reason", async () => {
    expect(await refused(`export const a = ${aiTool("")};`)).toMatch(/exports a, which has no execute/);
    expect(await refused(`export const a = ${aiTool('type: "provider", id: "x.search"')};`)).toMatch(/its provider/);
    const guarded = `${OPENAI_AGENTS} export const b = made("b", () => 1, { inputGuardrails: [{}] });`;
    expect((await omitted(guarded))[0]?.message).toMatch(/exports b, which has inputGuardrails, which only a run/);
    expect(await refused(`export const a = { id: "a", mastra: undefined };`)).toMatch(
      /exports a, which has no execute/,
    );
    expect(await refused(`export const a = { type: "hosted_tool", name: "web_search", providerData: {} };`)).toMatch(
      /exports a, which is run by the model's provider/,
    );
  });
});

describe("a hostile module", () => {
  test("may be a proxy that throws, or never ends", async () => {
    const throwing = `export const a = new Proxy({}, { get() { throw new Error("a trap"); } });`;
    expect(await refused(throwing)).toMatch(/cannot be evaluated: a trap/);
    expect(await refused(`export const a = new Proxy({}, { get() { for (;;); } });`)).toMatch(
      /takes more than \d+ ms to evaluate|took longer than \d+ ms to load/,
    );
  });

  test("may have getters that throw, or never end", async () => {
    expect(await refused(`export const a = { get execute() { throw new Error("a getter"); } , name: "a" };`)).toMatch(
      /a getter/,
    );
    expect(await refused(`export const a = { get description() { for (;;); }, name: "a", execute() {} };`)).toMatch(
      /takes more than \d+ ms to evaluate|took longer than \d+ ms to load/,
    );
  });

  test("may have schemas that are proxies, cycles, texts or promises without an end", async () => {
    const withSchema = (schema: string): string =>
      `export const a = { name: "a", description: "d", execute() {}, parameters: ${schema} };`;
    expect(await refused(withSchema(`new Proxy({}, { get() { throw new Error("a trap"); } })`))).toMatch(/a trap/);
    expect(await refused(withSchema(`new Proxy({}, { ownKeys() { throw new Error("keys"); } })`))).toMatch(/keys/);
    expect(await refused(`const own = {}; own.properties = { own }; ${withSchema("own")}`)).toMatch(/circular/i);
    expect(await refused(withSchema(`"a text"`))).toMatch(/the input schema of a cannot be described: it is a string/);
    expect(await refused(withSchema(`() => new Promise(() => undefined)`))).toMatch(/it is a promise, and no schema/);
    expect(await refused(withSchema(`{ type: "nothing" }`))).toMatch(/type/);
  });

  test("may export 10,000 values, or more tools than a module can have", async () => {
    const many = (count: number): string =>
      `export default Object.fromEntries(Array.from({ length: ${count} }, (_, at) => ["t" + at, ${tool("x").replace('"x"', '"t" + at')}]));`;
    expect(await refused(many(10_000))).toMatch(/exports more than 2000 values; export fewer/);
    expect(await refused(many(300))).toMatch(/exports more than 256 tools; split it/);
  });

  test("may forge what describes it", async () => {
    const forged = `export const a = ${tool("a")}; Object.defineProperty(Array.prototype, "includes", { value: () => true });
      globalThis["~schemas"] = 1;`;
    const { message } = await modules.register("forged", forged).then(
      () => ({ message: "" }),
      (error: Error) => error,
    );
    // Whatever it answers, the host reads it as hostile input.
    expect(message).not.toMatch(/undefined|TypeError/);
  });
});

describe("a module of several tools", () => {
  test("serves the others where one of them cannot be called, which is told", async () => {
    const text = `export const good = ${aiTool("execute: () => 7")};
      export const open = ${aiTool("")};
      export const vague = { name: "vague", description: "d", execute() {}, parameters: "a text" };
      export const odd = ${tool("odd name!")};
      export const broken = { name: "broken", description: "d", execute() {}, parameters: { type: "nothing" } };`;
    const found = await omitted(text);
    expect(modules.engine.list().map(({ name }) => name)).toEqual(["good"]);
    expect(await modules.output("good")).toBe(7);
    expect(found).toEqual([
      {
        name: "open",
        module: "mostly",
        message: 'tool "mostly" exports open, which has no execute: whoever calls the model answers it',
      },
      { name: "vague", module: "mostly", message: expect.stringContaining("it is a string") },
      ...["broken", "odd name!"].map((name) => ({ name, module: "mostly", message: expect.any(String) as string })),
    ]);
  });

  const TEN = `let calls = 0; const shared = { list: [] };
    export const tools = Object.fromEntries(Array.from({ length: 10 }, (_, at) => ["t" + at, {
      description: "Counts.", inputSchema: { type: "object" },
      execute: () => { calls++; shared.list.push(at); tools["t" + (9 - at)].execute = () => "changed"; return [calls, shared.list]; },
    }]));`;

  test("is bundled once", async () => {
    const run = vi.spyOn(builds, "run");
    await modules.register("ten", TEN);
    expect(modules.engine.list()).toHaveLength(10);
    expect(run.mock.calls.filter(([job]) => job.head.kind === "bundle")).toHaveLength(1);
  });

  test("has no state that one of them leaves to another, or to its own next call", async () => {
    await modules.register("ten", TEN);
    expect(await modules.output("t3")).toEqual([1, [3]]);
    expect(await modules.output("t6")).toEqual([1, [6]]);
    expect(await modules.output("t3")).toEqual([1, [3]]);
  });
});
