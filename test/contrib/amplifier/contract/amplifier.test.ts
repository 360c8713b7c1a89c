import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  amplifier,
  AMPLIFIER_CONTRACT,
  type AmplifierResult,
  serializedOutput,
  toolResult,
} from "../../../../src/contrib/amplifier/contract/amplifier.ts";
import { type AmplifierTool, getInputSchema, isTool } from "../../../../src/contrib/amplifier/contract/tool.ts";
import { ContractError, type ToolDescription } from "../../../../src/standard/contracts.ts";
import { toolError } from "../../../../src/kernel/base/errors.ts";
import { emptyMetadata, failure, type ToolResult } from "../../../../src/kernel/base/result.ts";

const FIXTURES = new URL("../../../../fixtures/contracts/amplifier/", import.meta.url);

function golden(name: string): unknown {
  return JSON.parse(readFileSync(new URL(`${name}.json`, FIXTURES), "utf8"));
}

function changed(name: string, change: (message: Record<string, unknown>) => void): unknown {
  const message = golden(name) as Record<string, unknown>;
  change(message);
  return message;
}

/** What the engine would answer where a tool says this. */
function answered(message: unknown): ToolResult {
  const outcome = amplifier.readResult(message);
  const metadata = { ...emptyMetadata("call-1", "my_tool", 0), ...outcome.metadata };
  if (outcome.ok) return { success: true, output: outcome.output, error: null, metadata };
  const { type, message: text, details } = outcome.error;
  return { ...failure(toolError("tool_error", text, details, type), metadata), output: outcome.output ?? null };
}

const tool: AmplifierTool = {
  name: "my_tool",
  description: "Performs specific action with given parameters.",
  execute: async () => toolResult(),
};

describe("the contract", () => {
  test("it says what it is [A01]", () => {
    expect(AMPLIFIER_CONTRACT).toEqual({
      contract_type: "module_specification",
      module_type: "tool",
      contract_version: "1.0.0",
    });
  });

  test("what it has no place for is listed, by the fields of ours", () => {
    expect(amplifier.losses.map(({ of, field }) => `${of}.${field}`)).toContain("tool.outputSchema");
  });
});

describe("a tool", () => {
  test("its name and its description are texts [A02 A03]", () => {
    const { name, description } = amplifier.readTool(golden("tool"));
    expect([name, description]).toEqual(["my_tool", "Performs specific action with given parameters."]);
    for (const field of ["name", "description"]) {
      for (const bad of [undefined, null, "", 5]) {
        const wrong = changed("tool", (message) => (message[field] = bad));
        expect(() => amplifier.readTool(wrong)).toThrow(new RegExp(`^amplifier /${field}: must be`));
      }
    }
  });

  test("one without a schema takes any object [A04 A09]", () => {
    for (const schema of [undefined, null, {}]) {
      const description = amplifier.readTool(changed("tool", (message) => (message["input_schema"] = schema)));
      expect(description.inputSchema).toEqual({ type: "object" });
    }
    expect(() => amplifier.readTool(changed("tool", (message) => (message["input_schema"] = [])))).toThrow(
      "amplifier /input_schema: must be an object",
    );
  });

  test("a definition is written from name, description and schema, and is the document's again [A29 B02 B10]", () => {
    expect(amplifier.writeTool(amplifier.readTool(golden("tool")))).toEqual(golden("tool"));
  });

  test("how long its output may be survives as well, and has to be a number", () => {
    const read = (chars: unknown) =>
      amplifier.readTool(changed("tool", (message) => (message["max_output_chars"] = chars)));
    expect(amplifier.writeTool(read(50_000)).max_output_chars).toBe(50_000);
    for (const bad of ["50000", 0, -1, 1.5]) expect(() => read(bad)).toThrow("amplifier /max_output_chars: must be");
  });

  test("a schema that is true or false is written as the object that means the same", () => {
    const write = (inputSchema: boolean) => amplifier.writeTool({ name: "a", description: "b", inputSchema });
    expect([write(true).input_schema, write(false).input_schema]).toEqual([{}, { not: {} }]);
  });

  test("what can be said in the contract survives being written and read [F6]", () => {
    const descriptions = fc.record({
      name: fc.stringMatching(/^[A-Za-z0-9_.-]{1,128}$/),
      description: fc.string({ minLength: 1, maxLength: 100 }),
      inputSchema: fc.dictionary(fc.string(), fc.jsonValue()).map((rest): ToolDescription["inputSchema"] => {
        return { ...(rest as object), type: "object" };
      }),
    });
    fc.assert(
      fc.property(descriptions, (description) => {
        expect(amplifier.readTool(amplifier.writeTool(description))).toEqual(description);
      }),
    );
  });
});

describe("the guard", () => {
  test("an object with name, description and execute is a tool, with a schema or without [A06 B01]", () => {
    expect(isTool(tool)).toBe(true);
    expect(isTool({ ...tool, input_schema: {} })).toBe(true);
    class Declared {
      readonly name = "declared";
      readonly input_schema = {};
      get description(): string {
        return "Has a getter.";
      }
      async execute(): Promise<null> {
        return null;
      }
    }
    expect(isTool(new Declared())).toBe(true);
  });

  test("one that lacks any of the three is not a tool [A07]", () => {
    for (const field of ["name", "description", "execute"]) expect(isTool({ ...tool, [field]: undefined })).toBe(false);
    for (const other of [null, undefined, "tool", 5, []]) expect(isTool(other)).toBe(false);
  });

  test("the schema is the attribute, else what get_schema says, else empty [A08 A27 F6]", () => {
    const schema = { type: "object" };
    const other = { type: "object", required: ["a"] };
    expect(getInputSchema({ ...tool, input_schema: schema, get_schema: () => other })).toBe(schema);
    expect(getInputSchema({ ...tool, get_schema: () => other })).toBe(other);
    expect(getInputSchema(tool)).toEqual({});
  });
});

describe("a call", () => {
  test("it has id, name and arguments, all three [A10]", () => {
    const call = amplifier.readCall(golden("call"));
    expect(call).toEqual({ id: "call-1", name: "my_tool", arguments: { required_param: "value" } });
    expect(amplifier.writeCall(call)).toEqual(golden("call"));
    for (const field of ["id", "name", "arguments"]) {
      const wrong = changed("call", (message) => delete message[field]);
      expect(() => amplifier.readCall(wrong)).toThrow(new RegExp(`^amplifier /${field}: must be`));
    }
  });

  test("one without an id is written with an empty one, and read without", () => {
    const call = { name: "my_tool", arguments: {} };
    expect(amplifier.writeCall(call)).toEqual({ id: "", ...call });
    expect(amplifier.readCall(amplifier.writeCall(call))).toEqual(call);
  });
});

describe("a result", () => {
  test("what is left out of it has defaults, and metadata of its own [A11 B05 F4]", () => {
    expect(toolResult()).toEqual({ success: true, output: null, error: null, metadata: {} });
    expect(toolResult().metadata).not.toBe(toolResult().metadata);
  });

  test("a message must say whether it is a success [F4]", () => {
    expect(() => amplifier.readResult({ output: "done" })).toThrow("amplifier /success: must be true or false");
    expect(() => amplifier.readResult({ success: "yes" })).toThrow(ContractError);
  });

  test("its output may be any JSON value [A12]", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (output) => {
        expect(amplifier.readResult({ success: true, output })).toEqual({ ok: true, output });
      }),
    );
  });

  test("its error has at least a message, and a type where an exception was the reason [A13]", () => {
    const read = (error: unknown) => amplifier.readResult({ success: false, error });
    expect(read({ message: "no" })).toEqual({ ok: false, error: { message: "no" } });
    expect(read({ message: "no", type: "KeyError" })).toEqual({
      ok: false,
      error: { message: "no", type: "KeyError" },
    });
    expect(read(null)).toEqual({ ok: false, error: { message: "Unknown error" } });
    expect(() => read("no")).toThrow("amplifier /error: must be an object");
    expect(() => read({ message: 5 })).toThrow("amplifier /error/message: must be a text");
  });

  test("the documents' results are the same after a round through ours [F1]", () => {
    for (const name of ["result", "result-failed"]) {
      const message = golden(name) as AmplifierResult;
      const { metadata, ...rest } = amplifier.writeResult(answered(message));
      expect({ ...rest, metadata: {} }).toEqual({ ...message, metadata: {} });
      expect(metadata).toMatchObject(message.metadata);
    }
  });

  test("whatever a tool says of its failure is the same after a round through ours [F1]", () => {
    const own = fc.dictionary(fc.stringMatching(/^[a-z_]{1,12}$/), fc.jsonValue());
    const named = fc.record(
      {
        message: fc.string(),
        type: fc.string(),
        code: fc.constantFrom("ENOENT", 5, "wall_limit"),
        details: fc.jsonValue(),
      },
      { requiredKeys: ["message"] },
    );
    fc.assert(
      fc.property(own, named, (more, error) => {
        const message = { success: false, output: null, error: { ...more, ...error }, metadata: {} };
        const once = amplifier.readResult(message);
        const { code: _code, retryable: _retryable, ...kept } = once.ok ? { message: "" } : once.error;
        const again = amplifier.readResult(amplifier.writeResult(answered(message)));
        expect(again.ok ? null : again.error).toEqual(kept);
      }),
    );
  });

  test("an error of the engine's says its code and its type", () => {
    const metadata = emptyMetadata("call-1", "my_tool", 0);
    const refused = failure(toolError("invalid_arguments", "it is wrong", { violations: [] }), metadata);
    expect(amplifier.writeResult(refused).error).toEqual({
      message: "it is wrong",
      type: "InvalidArgumentsError",
      code: "invalid_arguments",
      violations: [],
    });
  });
});

describe("a result's text", () => {
  test("of an error it is its message [B06]", () => {
    expect(serializedOutput(toolResult({ success: false, output: "half", error: { message: "no" } }))).toBe(
      "Error: no",
    );
  });

  test("of an error without a message it says that it is unknown [B07]", () => {
    expect(serializedOutput(toolResult({ success: false, error: { type: "KeyError" } }))).toBe("Error: Unknown error");
    expect(serializedOutput(toolResult({ success: false, error: {} }))).toBe("Error: Unknown error");
  });

  test("of a text it is the text, of nothing it is empty [B08]", () => {
    expect(serializedOutput(toolResult({ output: "a\u0007b" }))).toBe("a\u0007b");
    expect(serializedOutput(toolResult())).toBe("");
  });

  test("of anything else it is JSON without control characters [B09]", () => {
    const output = { "li\u0000st": ["a\u001bb", 1, null, "tab\tand\nline"], no: false };
    expect(serializedOutput(toolResult({ output }))).toBe('{"list":["ab",1,null,"tab\\tand\\nline"],"no":false}');
  });
});

describe("an event", () => {
  const call = { id: "call-1", name: "my_tool", arguments: { required_param: "value" } };

  test("tool:pre tells the tool's name and the input [B11]", () => {
    expect(amplifier.writeEvent({ name: "tool:pre", tool: "my_tool", call })).toEqual(golden("event-pre"));
  });

  test("tool:post tells the tool's name and the result [B12]", () => {
    const result = answered(golden("result"));
    expect(amplifier.writeEvent({ name: "tool:post", tool: "my_tool", result })).toEqual({
      event: "tool:post",
      data: { tool_name: "my_tool", tool_call_id: "call-1", result: amplifier.writeResult(result) },
    });
  });

  test("tool:error tells the tool's name and the error [B13]", () => {
    const result = answered(golden("result-failed"));
    expect(amplifier.writeEvent({ name: "tool:error", tool: "my_tool", result })).toEqual({
      event: "tool:error",
      data: {
        tool_name: "my_tool",
        tool_call_id: "call-1",
        error: { message: "no such file", type: "CommandFailed", exit_code: 2 },
      },
    });
  });
});

describe("a module", () => {
  const mount = (name: string, toolName: string, point = "tools") => ({
    mount_point: point,
    name,
    tool: { name: toolName, description: `Is ${name}.`, input_schema: {}, is_tool: true },
  });
  const read = (fields: object) => amplifier.readModule({ mounts: [], returned: "null", ...fields }, "file");
  const names = (fields: object) => read(fields).map(({ name }) => name);

  test("its tools have their own names, whatever they are mounted as [A19]", () => {
    expect(amplifier.readModule(golden("described"), "file")).toEqual([amplifier.readTool(golden("tool"))]);
  });

  test("a tool that is only returned is one of them [A15]", () => {
    expect(names({ returned: "tool", returned_tool: mount("a", "returned").tool })).toEqual(["returned"]);
  });

  test("what mounts nothing and returns nothing has none [A17]", () => {
    expect(read({})).toEqual([]);
    expect(read({ returned: "cleanup" })).toEqual([]);
  });

  test("what is mounted elsewhere is no tool", () => {
    expect(names({ mounts: [mount("a", "one"), mount("b", "hook", "hooks")] })).toEqual(["one"]);
  });

  test("mounting a name again replaces what was there [A18]", () => {
    expect(names({ mounts: [mount("a", "one"), mount("a", "two"), mount("b", "three")] })).toEqual(["two", "three"]);
  });

  test("mounting a tool again under its name is no second tool of that name", () => {
    expect(names({ mounts: [mount("a", "one"), mount("a", "one")] })).toEqual(["one"]);
  });

  test("two tools of one name are refused [A22]", () => {
    expect(() => read({ mounts: [mount("a", "one"), mount("b", "one")] })).toThrow(
      'amplifier /mounts/1/tool/name: "one" is the name of another tool that is mounted',
    );
  });

  test("what is mounted and is no tool is refused", () => {
    const broken = { ...mount("a", "one"), tool: { name: "one", is_tool: false } };
    expect(() => read({ mounts: [broken] })).toThrow(
      "amplifier /mounts/0/tool: must have name, description and execute",
    );
  });

  test("no reader is harmed by any JSON", () => {
    const readers = [
      (it: unknown) => amplifier.readTool(it),
      (it: unknown) => amplifier.readCall(it),
      (it: unknown) => amplifier.readResult(it),
      (it: unknown) => amplifier.readModule(it, "a"),
    ];
    fc.assert(
      fc.property(fc.constantFrom(...readers), fc.jsonValue(), (reader, message) => {
        try {
          reader(message);
        } catch (error) {
          expect(error).toBeInstanceOf(ContractError);
        }
      }),
    );
  });
});
