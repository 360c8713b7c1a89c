import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { strands } from "../../../../src/contrib/strands/contract/strands.ts";
import { referenceTool } from "../../../../src/contrib/amplifier/reference-tools.ts";
import { createEngine, type Engine } from "../../../../src/glovebox/index.ts";

let engine: Engine;

beforeAll(async () => {
  engine = await createEngine({ workers: 1, executor: "threads" });
  for (const name of ["echo", "calculator"] as const) await engine.register(referenceTool(name));
});

afterAll(() => engine.close());

/** A call and its result, as Strands writes them. */
async function use(name: string, input: Record<string, unknown>, toolUseId = "test-123") {
  return strands.writeResult(await engine.execute(strands.readCall({ toolUseId, name, input })));
}

describe("echo", () => {
  test("is described as the guide describes it [D28 D32]", () => {
    const info = engine.get("echo");
    expect([info?.contract, info?.description]).toEqual(["strands", "Returns the input message unchanged"]);
    const schema = info?.inputSchema as { readonly required: unknown; readonly properties: object };
    expect(schema.required).toEqual(["message"]);
    expect(schema.properties).toEqual({ message: { type: "string", description: "Message to echo back" } });
  });

  test("says what it was told, to whom it was told [D29]", async () => {
    expect(await use("echo", { message: "Hello, World!" })).toEqual({
      toolUseId: "test-123",
      status: "success",
      content: [{ text: "Hello, World!" }],
    });
  });

  test("says itself that an empty message is missing, as its schema does not [D30 F3]", async () => {
    const { toolUseId, status, content } = await use("echo", { message: "" }, "test-456");
    expect([toolUseId, status]).toEqual(["test-456", "error"]);
    expect(content).toEqual([{ text: expect.stringContaining("No message provided") }]);
  });

  test("without a message is an error before it is asked [D31 F3]", async () => {
    const { status, content } = await use("echo", {}, "test-789");
    expect(status).toBe("error");
    expect(content).toEqual([{ text: expect.stringContaining("message") }]);
    expect((await engine.execute({ name: "echo", arguments: {} })).error?.code).toBe("invalid_arguments");
  });
});

describe("calculator", () => {
  const calculate = async (operation: string, a: number, b: number, more: object = {}) =>
    (await use("calculator", { operation, a, b, ...more })).content[0];

  test("has the schema of the guide", () => {
    expect(engine.get("calculator")?.inputSchema).toMatchObject({
      properties: { precision: { type: "integer", default: 2, minimum: 0, maximum: 10 } },
      required: ["operation", "a", "b"],
    });
  });

  test.each([
    ["add", 0.1, 0.2, {}, "0.3"],
    ["subtract", 1, 3, {}, "-2"],
    ["multiply", 1.5, 3, {}, "4.5"],
    ["divide", 10, 3, {}, "3.33"],
    ["divide", 10, 3, { precision: 0 }, "3"],
    ["divide", 10, 3, { precision: 5 }, "3.33333"],
    ["multiply", 2e200, 3, {}, "6e+200"],
  ])("%s %d and %d", async (operation, a, b, more, expected) => {
    expect(await calculate(operation, a, b, more)).toEqual({ text: expected });
  });

  test("knows what it cannot divide by, and what is too large", async () => {
    expect(await calculate("divide", 1, 0)).toEqual({ text: "Invalid input: division by zero" });
    expect(await calculate("multiply", 1e300, 1e300)).toEqual({ text: "Invalid input: the result is too large" });
  });

  test("calculates nothing else", async () => {
    expect((await use("calculator", { operation: "power", a: 1, b: 2 })).status).toBe("error");
    expect((await use("calculator", { operation: "add", a: "1", b: 2 })).status).toBe("error");
    expect((await use("calculator", { operation: "add", a: 1, b: 2, precision: 11 })).status).toBe("error");
  });
});
