import { afterAll, beforeAll, expect, test } from "vitest";
import { createEngine, type Engine } from "../../src/glovebox/index.ts";

const FIXTURES = new URL("../../fixtures/", import.meta.url).pathname;

let engine: Engine;

beforeAll(async () => {
  engine = await createEngine({ workers: 1, executor: "threads" });
});

afterAll(() => engine.close());

test.each([
  ["glovebox", "tools/add.js", "add", { a: 1, b: 2 }, { sum: 3 }],
  [
    "amplifier",
    "contracts/amplifier/my_tool.js",
    "my_tool",
    { required_param: "x" },
    { required_param: "x", optional_param: 10, config: {} },
  ],
  ["strands", "contracts/strands/echo.js", "echo", { message: "x" }, "x"],
  [
    "agentspace",
    "contracts/agentspace/greeting-tool-v1",
    "greeting-tool-v1",
    { name: "Ada" },
    { message: "Hello, Ada from tool greeting-tool-v1" },
  ],
  ["xaibo", "contracts/xaibo/greetings.js", "greet_person", { name: "Ada" }, { greetings: ["Hello, Ada"] }],
] as const)("a tool of the contract %s is registered and answers", async (contract, path, name, input, output) => {
  const info = await engine.register(FIXTURES + path);
  expect(info.contract).toBe(contract);
  const result = await engine.execute({ name, arguments: input });
  expect(result.output).toEqual(output);
});
