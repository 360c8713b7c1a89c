import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ContractError } from "../../../../src/kernel/tool/contracts/contract.ts";
import { type ToolParameter, xaibo } from "../../../../src/contrib/xaibo/contract/xaibo.ts";
import { emptyMetadata, failure } from "../../../../src/kernel/base/result.ts";
import { toolError } from "../../../../src/kernel/base/errors.ts";
import { compileSchema } from "../../../../src/kernel/base/schema/schema.ts";

const metadata = emptyMetadata("c1", "get_weather", 0);

/** The document's example. */
const WEATHER = {
  name: "get_weather",
  description: "Get current weather information for a city",
  parameters: {
    city: { type: "string", description: "Name of the city", required: true },
    units: {
      type: "string",
      description: "Temperature units",
      required: false,
      default: "celsius",
      enum: ["celsius", "fahrenheit", "kelvin"],
    },
  },
};

/** What is wrong with a tool that has one parameter. */
function problemOf(parameter: unknown): string {
  try {
    xaibo.readTool({ name: "t", description: "T.", parameters: { p: parameter } });
  } catch (error) {
    if (error instanceof ContractError) return error.message;
    throw error;
  }
  return "";
}

/** Whether a tool with one parameter takes a value for it. */
function takes(parameter: unknown, value: unknown): boolean {
  const { inputSchema } = xaibo.readTool({ name: "t", description: "T.", parameters: { p: parameter } });
  return compileSchema(inputSchema, "inputSchema").check({ p: value }).length === 0;
}

describe("a tool", () => {
  test("parameters become a JSON Schema whose `required` is made of their flags [E08 E20]", () => {
    expect(xaibo.readTool(WEATHER)).toEqual({
      name: "get_weather",
      description: "Get current weather information for a city",
      inputSchema: {
        type: "object",
        properties: {
          city: { type: "string", description: "Name of the city" },
          units: {
            type: "string",
            description: "Temperature units",
            default: "celsius",
            enum: ["celsius", "fahrenheit", "kelvin"],
          },
        },
        required: ["city"],
      },
    });
  });

  test("a tool without parameters has none [E08]", () => {
    const { inputSchema } = xaibo.readTool({ name: "now", description: "Tells the time." });
    expect(inputSchema).toEqual({ type: "object", properties: {} });
  });

  test.each([
    [{ description: "T." }, "/name"],
    [{ name: "t" }, "/description"],
    [{ name: "t", description: "" }, "/description"],
    [{ name: "no spaces", description: "T." }, "/name"],
    [{ name: "t", description: "T.", parameters: [] }, "/parameters"],
    [{ name: "t", description: "T.", parameters: { p: "string" } }, "/parameters/p"],
  ])("%j lacks what it needs, and the error points there [E08]", (definition, pointer) => {
    expect(() => xaibo.readTool(definition)).toThrow(expect.objectContaining({ name: "ContractError", pointer }));
  });

  test("a provider's tools have names of their own [E09]", () => {
    const tools = [WEATHER, { name: "now", description: "Tells the time." }, WEATHER];
    expect(() => xaibo.readModule({ provider: "P", tools }, "p")).toThrow(
      'xaibo /tools/2/name: is "get_weather", as is another tool\'s',
    );
    expect(xaibo.readModule({ provider: "P", tools: tools.slice(0, 2) }, "p").map((tool) => tool.name)).toEqual([
      "get_weather",
      "now",
    ]);
  });
});

describe("a parameter", () => {
  test("has a type [E10]", () => {
    expect(problemOf({ description: "What?" })).toMatch("/parameters/p/type");
  });

  test("needs no description [E11]", () => {
    expect(problemOf({ type: "string" })).toBe("");
    expect(problemOf({ type: "string", description: null })).toBe("");
    expect(problemOf({ type: "string", description: 5 })).toMatch("/parameters/p/description");
  });

  test("is not required where it does not say so [E12]", () => {
    const { inputSchema } = xaibo.readTool({ name: "t", description: "T.", parameters: { p: { type: "string" } } });
    expect(compileSchema(inputSchema, "inputSchema").check({})).toEqual([]);
    expect(problemOf({ type: "string", required: "yes" })).toMatch("/parameters/p/required");
  });

  test.each<[string, unknown]>([
    ["string", "x"],
    ["number", 30.5],
    ["integer", 5],
    ["boolean", false],
    ["object", { a: [1] }],
    ["array", [1, { b: null }]],
  ])("a default of the type %s is applied where the caller gives nothing [E13]", (type, fallback) => {
    const definition = { name: "t", description: "T.", parameters: { p: { type, default: fallback } } };
    const given = {};
    expect(compileSchema(xaibo.readTool(definition).inputSchema, "inputSchema").check(given)).toEqual([]);
    expect(given).toEqual({ p: fallback });
  });

  test("an enum is enforced for strings, and refused for other types [E14]", () => {
    const units = { type: "string", enum: ["celsius", "kelvin"] };
    expect(takes(units, "kelvin")).toBe(true);
    expect(takes(units, "furlong")).toBe(false);
    expect(problemOf({ type: "integer", enum: ["1", "2"] })).toMatch("/parameters/p/enum");
    expect(problemOf({ type: "string", enum: ["a", 2] })).toMatch("/parameters/p/enum");
  });

  test.each(["string", "number", "integer", "boolean", "object", "array"])("may be of the type %s [E15]", (type) => {
    expect(problemOf({ type })).toBe("");
  });

  test.each(["str", "float", "null", "date", "constructor", 5, null])(
    "%j is no type, and the error names the six that are [E15]",
    (type) => {
      expect(problemOf({ type })).toMatch("must be one of string, number, integer, boolean, object, array");
    },
  );

  test.each<[string, unknown, boolean]>([
    ["integer", 42, true],
    ["integer", 4.2, false],
    ["number", 42, true],
    ["number", 3.14, true],
    ["number", -10, true],
    ["number", "42", false],
    ["boolean", true, true],
    ["boolean", "true", false],
    ["array", [1], true],
    ["array", { 0: 1 }, false],
    ["object", { a: 1 }, true],
    ["object", [], false],
  ])("of the type %s, given %j: taken is %j [E16]", (type, value, expected) => {
    expect(takes({ type }, value)).toBe(expected);
  });

  test.each([
    [{ type: "string", default: "furlong", enum: ["celsius"] }, "must be one of the enum's values"],
    [{ type: "integer", default: 4.2 }, "must be a value of the type integer"],
    [{ type: "boolean", default: "true" }, "must be a value of the type boolean"],
    [{ type: "object", default: [] }, "must be a value of the type object"],
  ])("a default that nobody could give is an error: %j [E17]", (parameter, problem) => {
    expect(problemOf(parameter)).toBe(`xaibo /parameters/p/default: ${problem}`);
  });

  const sayable: fc.Arbitrary<ToolParameter> = fc.oneof(
    fc.record({ type: fc.constant("string" as const), required: fc.boolean(), default: fc.string() }),
    fc.record({
      type: fc.constant("string" as const),
      description: fc.string(),
      required: fc.boolean(),
      enum: fc.uniqueArray(fc.string(), { minLength: 1, maxLength: 5 }),
    }),
    fc.record({ type: fc.constant("integer" as const), required: fc.boolean(), default: fc.integer() }),
    fc.record({ type: fc.constantFrom("number", "boolean", "object", "array"), required: fc.boolean() }),
  );

  test("what parameters say survives being a JSON Schema, whatever their names are [E20]", () => {
    const names = fc.oneof(fc.string(), fc.constantFrom("__proto__", "constructor", "a/b~c"));
    fc.assert(
      fc.property(fc.uniqueArray(fc.tuple(names, sayable), { selector: ([name]) => name }), (entries) => {
        const tool = { name: "t", description: "T.", parameters: Object.fromEntries(entries) };
        const written = xaibo.writeTool(xaibo.readTool(tool));
        expect(Object.entries(written.parameters ?? {})).toEqual(Object.entries(tool.parameters));
      }),
    );
  });

  test("of a schema that parameters cannot say, they say what they can", () => {
    const inputSchema = {
      type: "object",
      additionalProperties: false,
      properties: {
        nested: { type: "object", properties: { a: { type: "string" } }, default: { a: "x" } },
        list: { items: { type: "number" } },
        maybe: { type: ["null", "integer"], minimum: 3, default: null },
        either: { anyOf: [{ type: "null" }, { type: "boolean" }] },
        only: { const: "yes" },
        digits: { enum: [1, 2] },
        anything: true,
      },
      required: ["nested"],
    };
    expect(xaibo.writeTool({ name: "t", description: "T.", inputSchema }).parameters).toEqual({
      nested: { type: "object", required: true, default: { a: "x" } },
      list: { type: "array", required: false },
      maybe: { type: "integer", required: false },
      either: { type: "boolean", required: false },
      only: { type: "string", required: false, enum: ["yes"] },
      digits: { type: "number", required: false },
      anything: { type: "string", required: false },
    });
  });

  test("whatever schema a tool has, what is written of it can be read", () => {
    const property = fc.record(
      {
        type: fc.constantFrom("string", "number", "integer", "null", ["string", "null"]),
        default: fc.jsonValue(),
        enum: fc.array(fc.jsonValue(), { maxLength: 3 }),
        description: fc.oneof(fc.string(), fc.constant(1)),
        const: fc.jsonValue(),
        anyOf: fc.jsonValue(),
      },
      { requiredKeys: [] },
    );
    const schemas = fc.oneof(
      fc.boolean(),
      fc.record({
        properties: fc.oneof(fc.jsonValue(), fc.dictionary(fc.string(), property)),
        required: fc.jsonValue(),
      }),
    );
    fc.assert(
      fc.property(schemas, (inputSchema) => {
        xaibo.readTool(xaibo.writeTool({ name: "t", description: "T.", inputSchema }));
      }),
    );
  });
});

describe("a call", () => {
  test("has a name, arguments, and the model's id for it [E40]", () => {
    const message = { id: "call_1", name: "get_weather", arguments: { city: "Paris" } };
    expect(xaibo.readCall(message)).toEqual(message);
    expect(xaibo.writeCall(xaibo.readCall(message))).toEqual(message);
    expect(xaibo.readCall({ name: "now", arguments: {} })).toEqual({ name: "now", arguments: {} });
  });

  test.each([
    [{ arguments: {} }, "/name"],
    [{ name: "t" }, "/arguments"],
    [{ name: "t", arguments: [] }, "/arguments"],
    [{ name: "t", arguments: {}, id: 5 }, "/id"],
    ["get_weather", ""],
  ])("%j is invalid, and the error points to why", (message, pointer) => {
    expect(() => xaibo.readCall(message)).toThrow(expect.objectContaining({ name: "ContractError", pointer }));
  });
});

describe("a result", () => {
  test("says whether it succeeded [E18]", () => {
    expect(() => xaibo.readResult({ result: 1 })).toThrow("xaibo /success: must be true or false");
    expect(xaibo.readResult({ success: true })).toEqual({ ok: true, output: null });
  });

  test("an error is a string [E18]", () => {
    expect(() => xaibo.readResult({ success: false, error: { message: "no" } })).toThrow("/error: must be a string");
    expect(xaibo.readResult({ success: false })).toMatchObject({ ok: false });
  });

  test("a success holds whatever the tool made [E19]", () => {
    const result = { temperature: 22.5, humidity: 65, conditions: "partly cloudy", hours: [{ at: 1 }] };
    expect(xaibo.readResult({ success: true, result })).toEqual({ ok: true, output: result });
    expect(xaibo.writeResult({ success: true, output: result, error: null, metadata })).toEqual({
      success: true,
      result,
      error: null,
    });
  });

  test("a failure holds its text [E19]", () => {
    const message = "City 'InvalidCity' not found";
    expect(xaibo.readResult({ success: false, error: message })).toEqual({ ok: false, error: { message } });
    expect(xaibo.writeResult(failure(toolError("tool_error", message), metadata))).toEqual({
      success: false,
      result: null,
      error: message,
    });
  });
});
