import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { agentspace } from "../../../../src/contrib/agentspace/contract/agentspace.ts";
import { readRecord } from "../../../../src/contrib/agentspace/contract/record.ts";
import { type Fields, fieldsOf, writeSchema } from "../../../../src/contrib/agentspace/contract/spec.ts";
import { ContractError } from "../../../../src/kernel/tool/contracts/contract.ts";
import { emptyMetadata, failure, success } from "../../../../src/kernel/base/result.ts";
import { compileSchema } from "../../../../src/kernel/base/schema/schema.ts";

const SPEC = {
  input: {
    location: { type: "string", description: "City or region for which to forecast the weather" },
    past_days: { type: "integer", description: "Number of past days to use for prediction", min: 1, max: 30 },
  },
  output: {
    predicted_temperature: { type: "number", description: "Predicted temperature (in Celsius) for the next day" },
    predicted_conditions: { type: "string", description: "Forecasted weather conditions (e.g., sunny, rainy)" },
  },
  management: {
    timeout: { type: "number", default: 60, description: "Execution timeout in seconds" },
    retries: { type: "number", default: 2, description: "Number of times to retry API call on failure" },
  },
};

const RECORD = {
  tool_id: "weather-forecast-v1",
  tool_metadata: {
    author: "ClimateAI Team",
    version: "1.0.0",
    language: "python",
    license: "MIT",
    description: "Predicts the weather for the next day using past weather data and external API",
  },
  tool_search_description: "Next-day weather forecasting tool using historical data and external API",
  tool_tags: ["weather", "forecasting", "api", "time-series", "prediction"],
  tool_type: "model-inference",
  tool_sub_type: "weather-prediction",
  tool_runtime_type: "python",
  tools_api_spec: SPEC,
  tool_data: { weather_api_key: "<YOUR_API_KEY>", temperature_unit: "metric", default_days: 7 },
  tool_source_code_link: "https://assets.example.com/tools/weather-forecast-v1.zip",
  tool_man_page_doc_link: "https://docs.example.com/tools/weather-forecast-v1",
};

const LEAST = {
  tool_id: "t",
  tool_runtime_type: "python",
  tool_source_code_link: "./t",
  tools_api_spec: { input: {}, output: {} },
};

function refusalOf(work: () => unknown): ContractError {
  try {
    work();
  } catch (error) {
    if (error instanceof ContractError) return error;
    throw error;
  }
  throw new Error("it was not refused");
}

const pointerOf = (record: unknown): string => refusalOf(() => readRecord(record)).pointer;
const withSpec = (spec: object) => ({ ...LEAST, tools_api_spec: { ...LEAST.tools_api_spec, ...spec } });
const withInput = (field: unknown) => withSpec({ input: { a: field } });

describe("a registration record", () => {
  test("is read as the tool that it describes", () => {
    expect(agentspace.readTool(RECORD)).toEqual({
      name: "weather-forecast-v1",
      description: RECORD.tool_metadata.description,
      version: "1.0.0",
      tags: RECORD.tool_tags,
      inputSchema: {
        type: "object",
        properties: {
          location: SPEC.input.location,
          past_days: { type: "integer", description: SPEC.input.past_days.description, minimum: 1, maximum: 30 },
        },
      },
      outputSchema: { type: "object", properties: SPEC.output },
      limits: { wallMs: 60_000 },
      retries: 2,
    });
  });

  test("must say its id, its runtime, where its code is, and its specification [C38]", () => {
    expect(readRecord(LEAST)).toEqual({ ...LEAST, tool_data: {} });
    for (const name of Object.keys(LEAST)) {
      const error = refusalOf(() => readRecord({ ...LEAST, [name]: undefined }));
      expect(error).toMatchObject({ pointer: `/${name}`, message: expect.stringContaining("is required") });
    }
  });

  test("may leave out its data, which is then empty, and what is said about the tool [C39]", () => {
    expect(readRecord(LEAST).tool_data).toEqual({});
    expect(readRecord(LEAST).tool_metadata).toBeUndefined();
    expect(readRecord({ ...LEAST, tool_data: null, tool_metadata: null }).tool_data).toEqual({});
    expect(readRecord(RECORD).tool_metadata).toEqual(RECORD.tool_metadata);
    expect(agentspace.records?.configOf(RECORD)).toEqual(RECORD.tool_data);
    expect(agentspace.records?.configOf(LEAST)).toEqual({});
  });

  test("keeps what tools are searched by, and nothing that it does not know", () => {
    expect(readRecord({ ...RECORD, _id: { $oid: "5" } })).toEqual(RECORD);
  });

  test.each([
    ["/tool_id", { tool_id: "not a name" }],
    ["/tool_id", { tool_id: "x".repeat(129) }],
    ["/tool_id", { tool_id: 7 }],
    ["/tool_metadata", { tool_metadata: [] }],
    ["/tool_metadata/version", { tool_metadata: { version: 1 } }],
    ["/tool_search_description", { tool_search_description: {} }],
    ["/tool_tags", { tool_tags: "weather" }],
    ["/tool_tags/1", { tool_tags: ["weather", 2] }],
    ["/tool_type", { tool_type: true }],
    ["/tool_sub_type", { tool_sub_type: "" }],
    ["/tool_data", { tool_data: "key" }],
    ["/tool_source_code_link", { tool_source_code_link: "" }],
    ["/tool_source_code_link", { tool_source_code_link: "https://user:word@example.com/a.zip" }],
    ["/tool_man_page_doc_link", { tool_man_page_doc_link: "javascript:alert(1)" }],
    ["/tools_api_spec", { tools_api_spec: "{}" }],
    ["/tools_api_spec/input/a~1b/type", { tools_api_spec: { input: { "a/b": { type: "text" } }, output: {} } }],
  ])("that is wrong is refused with a pointer to %s: %o [C41]", (pointer, change) => {
    expect(pointerOf({ ...LEAST, ...change })).toBe(pointer);
  });

  test("that is no object at all is refused as a whole", () => {
    for (const value of [null, undefined, 1, "record", []]) expect(pointerOf(value)).toBe("");
  });

  test("with any value at any place is read, or refused with a ContractError", () => {
    const member = fc.constantFrom(...Object.keys(RECORD));
    fc.assert(
      fc.property(member, fc.anything(), (name, value) => {
        try {
          readRecord({ ...RECORD, [name]: value });
        } catch (error) {
          expect(error).toBeInstanceOf(ContractError);
        }
      }),
    );
  });
});

describe("the runtime", () => {
  test("each name of what is interpreted stands for all of it: the package says in what it is written [C02]", () => {
    for (const type of ["python", "javascript", "typescript", "node"]) {
      expect(agentspace.readTool({ ...LEAST, tool_runtime_type: type }).name).toBe("t");
    }
  });

  test("binary is a record like others, of code that is one [C02]", () => {
    const binary = { ...LEAST, tool_runtime_type: "binary" };
    expect(readRecord(binary)).toMatchObject({ tool_runtime_type: "binary" });
    expect(agentspace.readTool(binary)).toEqual(agentspace.readTool(LEAST));
    const { records } = agentspace;
    expect(records?.readTool(binary, true)).toEqual(records?.readTool(LEAST, false));
    expect(refusalOf(() => records?.readTool(LEAST, true))).toMatchObject({ pointer: "/tool_runtime_type" });
    expect(refusalOf(() => records?.readTool(binary, false))).toMatchObject({
      pointer: "/tool_runtime_type",
      message: "agentspace /tool_runtime_type: is binary, but the package's code is no binary",
    });
  });

  test("of any other name is refused, and the message names those there are [C02]", () => {
    const { pointer, message } = refusalOf(() => readRecord({ ...LEAST, tool_runtime_type: "ruby" }));
    expect(pointer).toBe("/tool_runtime_type");
    expect(message).toContain('must be one of python, javascript, typescript, node, binary, and is "ruby"');
  });
});

describe("a specification", () => {
  test("has input and output, and may have management [C29]", () => {
    expect(readRecord(withSpec({})).tools_api_spec).toEqual({ input: {}, output: {} });
    expect(readRecord(withSpec({ management: {} })).tools_api_spec.management).toEqual({});
    for (const name of ["input", "output"]) {
      const error = refusalOf(() => readRecord(withSpec({ [name]: undefined })));
      expect(error).toMatchObject({ pointer: `/tools_api_spec/${name}`, message: expect.stringContaining("required") });
    }
  });

  test("says in JSON Schema's words what its fields say in theirs [C30]", () => {
    const days = { type: "integer", description: "How many.", min: 1, max: 30, default: 7 };
    expect(agentspace.readTool(withInput(days)).inputSchema).toEqual({
      type: "object",
      properties: { a: { type: "integer", description: "How many.", minimum: 1, maximum: 30, default: 7 } },
    });
  });

  test("knows strings, numbers, flags, objects and lists, also in each other [C31]", () => {
    const fields = {
      text: { type: "string", enum: ["a", "b"] },
      whole: { type: "integer" },
      number: { type: "number" },
      flag: { type: "boolean", default: false },
      inner: { type: "object", properties: { list: { type: "array", items: { type: "number", min: 0 } } } },
    };
    expect(agentspace.readTool(withSpec({ input: fields })).inputSchema).toEqual({
      type: "object",
      properties: {
        text: { type: "string", enum: ["a", "b"] },
        whole: { type: "integer" },
        number: { type: "number" },
        flag: { type: "boolean", default: false },
        inner: {
          type: "object",
          properties: { list: { type: "array", items: { type: "number", minimum: 0 } } },
        },
      },
    });
  });

  test.each([
    ["/type", {}],
    ["/type", { type: "text" }],
    ["/type", { type: ["string", "null"] }],
    ["/items/type", { type: "array", items: { type: "date" } }],
    ["/properties/b/type", { type: "object", properties: { b: { type: "any" } } }],
    ["/min", { type: "string", min: 1 }],
    ["/max", { type: "integer", min: 3, max: 2 }],
    ["/default", { type: "integer", default: "7" }],
    ["/default", { type: "integer", max: 5, default: 7 }],
    ["/default", { type: "string", enum: ["a"], default: "b" }],
    ["/enum", { type: "string", enum: [1] }],
    ["/required", { type: "object", required: ["b"] }],
    ["/description", { type: "string", description: {} }],
    ["", "string"],
  ])("of which a field is wrong is refused with a pointer to it, %s: %o [C31 C41]", (pointer, field) => {
    expect(pointerOf(withInput(field))).toBe(`/tools_api_spec/input/a${pointer}`);
  });

  test("that is nested without end is refused", () => {
    let field: object = { type: "string" };
    for (let depth = 0; depth < 100; depth++) field = { type: "array", items: field };
    expect(refusalOf(() => readRecord(withInput(field))).message).toContain("nested deeper");
  });

  test("lets a field be left out unless it is marked as required [C32]", () => {
    const name = { type: "string" };
    const open = compileSchema(writeSchema({ name: { type: "string" } }), "inputSchema");
    expect(open.check({})).toEqual([]);
    const { inputSchema } = agentspace.readTool(withInput({ ...name, required: true }));
    expect(compileSchema(inputSchema, "inputSchema").check({})).toMatchObject([{ keyword: "required" }]);
  });

  test("has names that mean something in JavaScript for fields like others", () => {
    const input: unknown = JSON.parse('{"__proto__": {"type": "integer"}, "constructor": {"type": "string"}}');
    const { properties } = agentspace.readTool(withSpec({ input })).inputSchema as { properties: object };
    expect(Object.entries(properties)).toEqual([
      ["__proto__", { type: "integer" }],
      ["constructor", { type: "string" }],
    ]);
  });

  test("gives the tool its timeout, in seconds, and how often it is repeated [F10 C43 C45]", () => {
    const seconds = (timeout: number) =>
      agentspace.readTool(withSpec({ management: { timeout: { type: "number", default: timeout } } })).limits;
    expect([seconds(60), seconds(10), seconds(1.001)]).toEqual([
      { wallMs: 60_000 },
      { wallMs: 10_000 },
      { wallMs: 1_001 },
    ]);
    const { limits, retries } = agentspace.readTool(LEAST);
    expect({ limits, retries }).toEqual({ limits: undefined, retries: undefined });
  });

  test.each([
    ["timeout", 0],
    ["timeout", 60_000_000],
    ["retries", -1],
    ["retries", 1.5],
    ["retries", 100],
  ])("with a %s of %d is refused [C41]", (name, preset) => {
    const management = { [name]: { type: "number", default: preset } };
    expect(pointerOf(withSpec({ management }))).toBe(`/tools_api_spec/management/${name}/default`);
  });
});

/** Any fields that a specification can have. */
const anyFields = fc.letrec<{ field: Fields[string]; fields: Fields }>((tie) => {
  const description = fc.string({ minLength: 1 });
  const required = fc.constant(true as const);
  const plain = (type: "string" | "boolean") =>
    fc.record({ type: fc.constant(type), description, required }, { requiredKeys: ["type"] });
  const bounded = fc
    .tuple(fc.integer(), fc.nat(1_000), fc.constantFrom("integer" as const, "number" as const))
    .map(([min, more, type]) => ({ type, min, max: min + more, default: min }));
  const choice = fc
    .uniqueArray(fc.string(), { minLength: 1 })
    .map((choices) => ({ type: "string" as const, enum: choices, default: choices[0] }));
  const properties = fc.dictionary(fc.string(), tie("field"), { minKeys: 1, maxKeys: 3 });
  return {
    field: fc.oneof(
      { maxDepth: 3 },
      plain("string"),
      plain("boolean"),
      bounded,
      choice,
      fc.record({ type: fc.constant("object" as const), properties }, { requiredKeys: ["type"] }),
      // What a list is made of is never left out.
      fc.record(
        { type: fc.constant("array" as const), items: tie("field").map(withoutRequired) },
        { requiredKeys: ["type"] },
      ),
    ),
    fields: fc.dictionary(fc.string(), tie("field"), { maxKeys: 5 }),
  };
}).fields;

function withoutRequired({ required: _required, ...field }: Fields[string]): Fields[string] {
  return field;
}

describe("fields and schemas", () => {
  test("say the same, there and back [C30]", () => {
    fc.assert(
      fc.property(anyFields, (fields) => {
        const schema = writeSchema(fields);
        expect(Object.entries(fieldsOf(schema))).toEqual(Object.entries(fields));
        compileSchema(schema, "inputSchema");
      }),
    );
  });

  test("that are made of any schema can be read again", () => {
    const schema = fc.oneof(
      fc.object({ key: fc.constantFrom("type", "properties", "items", "enum", "default", "a") }),
      fc.anything(),
    );
    fc.assert(
      fc.property(schema, (value) => {
        const input = fieldsOf({ type: "object", properties: { value } });
        expect(readRecord(withSpec({ input })).tools_api_spec.input).toEqual(input);
      }),
    );
  });

  test("lose what a specification cannot say, and never say more", () => {
    const schema = {
      type: "object",
      properties: {
        text: { type: "string", pattern: "^a", minLength: 1 },
        either: { anyOf: [{ type: "string" }, { type: "number" }] },
        maybe: { type: ["string", "null"] },
        one: { const: "x" },
        below: { type: "number", exclusiveMaximum: 3 },
      },
      required: ["text"],
      additionalProperties: false,
    };
    expect(fieldsOf(schema)).toEqual({
      text: { type: "string", required: true },
      one: { type: "string", enum: ["x"] },
      below: { type: "number" },
    });
    expect(agentspace.losses.map(({ field }) => field)).toContain("inputSchema");
  });
});

describe("a tool of another contract", () => {
  test("is written as a record that reads as the same tool", () => {
    const tool = {
      name: "add",
      description: "Adds two numbers.",
      version: "1.2.3",
      tags: ["math"],
      inputSchema: { type: "object", properties: { a: { type: "number" } }, required: ["a"] },
      outputSchema: { type: "object", properties: { sum: { type: "number" } } },
      limits: { wallMs: 1_500 },
      retries: 1,
    };
    expect(agentspace.readTool(agentspace.writeTool(tool))).toEqual(tool);
  });
});

describe("calls and results", () => {
  test("a call is an input or a command, there and back", () => {
    const messages = [
      { tool_id: "t", mode: "input" as const, input: { value: 42 } },
      { tool_id: "t", mode: "command" as const, command_name: "uppercase", data: { text: "ab" } },
    ];
    for (const message of messages) expect(agentspace.writeCall(agentspace.readCall(message))).toEqual(message);
    expect(refusalOf(() => agentspace.readCall({ tool_id: "t", mode: "other" })).pointer).toBe("/mode");
    expect(refusalOf(() => agentspace.readCall({ tool_id: "t", input: [] })).pointer).toBe("/input");
  });

  test("what a tool answers is its output, whatever it is [C25]", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (output) => {
        const result = success(output, emptyMetadata("c", "t", 0));
        expect(agentspace.readResult(agentspace.writeResult(result))).toEqual({ ok: true, output });
      }),
    );
    const alike = { status: "error", error: "none of ours" };
    expect(agentspace.readResult(alike)).toEqual({ ok: true, output: alike });
  });

  test("a failure is told with its type and its message, there and back", () => {
    const error = { code: "tool_error", type: "ValueError", message: "Missing required input: location" } as const;
    const failed = { ...error, retryable: false };
    const result = failure(failed, emptyMetadata("c", "t", 0));
    expect(agentspace.readResult(agentspace.writeResult(result))).toEqual({ ok: false, error: failed });
  });
});

describe("a module", () => {
  test("is one tool of its file's name that takes any object", () => {
    const [tool] = agentspace.readModule({ has_execute: true, has_command: false }, "greeting-tool-v1");
    expect(tool).toMatchObject({ name: "greeting-tool-v1", inputSchema: { type: "object" } });
  });

  test("without execute is refused", () => {
    const error = refusalOf(() => agentspace.readModule({ has_execute: false, has_command: true }, "t"));
    expect(error.message).toBe("agentspace /has_execute: the class AgentSpaceV1Tool has no method execute");
  });
});
