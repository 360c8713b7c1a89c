import { describe, expect, test } from "vitest";
import { readAgentConfig } from "../../../src/contrib/xaibo/agent-config.ts";
import { exchanged } from "../../../src/contrib/xaibo/exchange.ts";
import { guardedProvider } from "../../../src/contrib/xaibo/index.ts";

const COLLECTOR = "xaibo.primitives.modules.tools.ToolCollector";
const FUNCTIONS = "xaibo.primitives.modules.tools.PythonToolProvider";

/** The tools that an agent's orchestrator has, of modules with one tool each, named like the module. */
async function toolsOf(ids: Record<string, string>, exchange: Record<string, string | string[]>): Promise<string[]> {
  const config = readAgentConfig({
    id: "a",
    modules: Object.entries(ids).map(([id, module]) => ({ id, module })),
    exchange: Object.entries(exchange).map(([module, provider]) => ({
      module,
      protocol: "ToolProviderProtocol",
      provider,
    })),
  });
  const providers = Object.entries(ids).filter(([, module]) => module === FUNCTIONS);
  const provider = exchanged(
    config,
    new Map(
      providers.map(([id]) => [id, guardedProvider({ tools: [{ name: id, description: "d" }], execute: () => id })]),
    ),
  );
  return (await provider.list_tools()).map(({ name }) => name).toSorted();
}

const LOOP = { loop: "own.Orchestrator" };

describe("the tools that an orchestrator has", () => {
  test("are those of the providers that its exchange names", async () => {
    const modules = { a: FUNCTIONS, b: FUNCTIONS, c: FUNCTIONS, ...LOOP };
    expect(await toolsOf(modules, { loop: ["a", "c"] })).toEqual(["a", "c"]);
  });

  test("are those of a collector's providers, through collectors of collectors", async () => {
    const modules = { a: FUNCTIONS, b: FUNCTIONS, c: FUNCTIONS, inner: COLLECTOR, outer: COLLECTOR, ...LOOP };
    const exchange = { inner: ["a", "b"], outer: ["inner", "c"], loop: "outer" };
    expect(await toolsOf(modules, exchange)).toEqual(["a", "b", "c"]);
  });

  test("are those of the only provider, or of the only collector, where the exchange names none", async () => {
    expect(await toolsOf({ a: FUNCTIONS, ...LOOP }, {})).toEqual(["a"]);
    expect(await toolsOf({ a: FUNCTIONS, b: FUNCTIONS, all: COLLECTOR }, { all: ["a", "b"] })).toEqual(["a", "b"]);
    expect(await toolsOf(LOOP, {})).toEqual([]);
  });
});

describe("an exchange is refused", () => {
  test("where several provide tools and it names none", async () => {
    await expect(toolsOf({ a: FUNCTIONS, b: FUNCTIONS, ...LOOP }, {})).rejects.toThrow(
      'exchange: "a", "b" all provide tools; say in the exchange which of them is meant',
    );
  });

  test("where a collector is one of its own providers", async () => {
    const modules = { one: COLLECTOR, two: COLLECTOR, ...LOOP };
    await expect(toolsOf(modules, { one: "two", two: "one", loop: "one" })).rejects.toThrow(
      'exchange: the collector "one" is one of its own providers',
    );
  });

  test("where two modules have one id", () => {
    const module = { id: "a", module: FUNCTIONS };
    expect(() => readAgentConfig({ id: "x", modules: [module, module] })).toThrow('modules has the id "a" twice');
  });
});
