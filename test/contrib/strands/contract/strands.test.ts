import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ContractError, type Outcome } from "../../../../src/kernel/tool/contracts/contract.ts";
import { type StrandsResult, strands } from "../../../../src/contrib/strands/contract/strands.ts";
import { emptyMetadata, type ToolResult } from "../../../../src/kernel/base/result.ts";

const ECHO = {
  name: "echo",
  description: "Returns the input message unchanged",
  inputSchema: { json: { type: "object", properties: { message: { type: "string" } }, required: ["message"] } },
};

/** An engine's result of such an outcome. */
function resultOf(outcome: Outcome, callId = "test-123"): ToolResult {
  const metadata = { ...emptyMetadata(callId, "echo", 0), ...outcome.metadata };
  if (outcome.ok) return { success: true, output: outcome.output, error: null, metadata };
  const error = { code: "tool_error", type: "Error", retryable: false, message: outcome.error.message } as const;
  return { success: false, output: outcome.output ?? null, error, metadata };
}

function message(content: unknown, status: unknown = "success"): unknown {
  return { toolUseId: "test-123", status, content };
}

/** A result that is read and written again. */
function again(given: unknown): StrandsResult {
  return strands.writeResult(resultOf(strands.readResult(given)));
}

describe("a TOOL_SPEC", () => {
  test("is read with its name, its description and its schema", () => {
    expect(strands.readTool(ECHO)).toEqual({ ...ECHO, inputSchema: ECHO.inputSchema.json });
    expect(strands.writeTool(strands.readTool(ECHO))).toEqual(ECHO);
  });

  test("needs no more than a name to be read [D45]", () => {
    expect(strands.readTool({ name: "bare" })).toEqual({
      name: "bare",
      description: "",
      inputSchema: { type: "object" },
    });
  });

  test.each([
    ["no object", null, ""],
    ["a list", [ECHO], ""],
    ["no name", { description: "x" }, "/name"],
    ["an empty name", { name: "" }, "/name"],
    ["a name that is no string", { name: 5 }, "/name"],
    ["a description that is no string", { name: "a", description: 5 }, "/description"],
    ["a schema outside of json", { name: "a", inputSchema: { type: "object" } }, "/inputSchema/json"],
    ["a schema that is invalid", { name: "a", inputSchema: { json: [] } }, "/inputSchema/json"],
    ["an inputSchema that is no object", { name: "a", inputSchema: "json" }, "/inputSchema"],
  ])("with %s is refused, and the place is named", (_what, spec, pointer) => {
    const refused = expect(() => strands.readTool(spec));
    refused.toThrow(ContractError);
    refused.toThrow(expect.objectContaining({ contract: "strands", pointer }));
  });

  test("may have its schema without json around it, as the SDK reads it", () => {
    const schema = { type: "object", properties: { a: { type: "string" } } };
    expect(strands.readTool({ name: "a", inputSchema: schema }).inputSchema).toEqual(schema);
  });

  test("belongs to a function of its name [D08]", () => {
    expect(strands.readModule({ TOOL_SPEC: ECHO, function: true }, "file").map(({ name }) => name)).toEqual(["echo"]);
    expect(() => strands.readModule({ TOOL_SPEC: ECHO, function: false }, "echo")).toThrow('no function "echo"');
  });

  test("may have tools of the SDK beside it, which go before it where they have its name", () => {
    const other = { ...ECHO, name: "other" };
    const names = (described: object) => strands.readModule(described, "file").map(({ name }) => name);
    expect(names({ TOOL_SPEC: ECHO, function: true, tools: [other] })).toEqual(["echo", "other"]);
    expect(names({ TOOL_SPEC: ECHO, function: false, tools: [ECHO] })).toEqual(["echo"]);
    expect(names({ tools: [ECHO, other] })).toEqual(["echo", "other"]);
    expect(() => names({ tools: [{ name: 3 }] })).toThrow(expect.objectContaining({ pointer: "/tools/0/name" }));
  });

  test("has to be there [D02]", () => {
    expect(() => strands.readModule({ function: true }, "echo")).toThrow("the module exports no TOOL_SPEC");
  });
});

describe("a call", () => {
  test("without toolUseId and input is one without an id and with no arguments [D15]", () => {
    const call = strands.readCall({ name: "echo" });
    expect(call).toEqual({ name: "echo", arguments: {} });
    expect(strands.writeCall(call)).toEqual({ toolUseId: "", name: "echo", input: {} });
  });

  test("keeps its id", () => {
    const use = { toolUseId: "test-123", name: "echo", input: { message: "hi" } };
    expect(strands.readCall(use)).toEqual({ id: "test-123", name: "echo", arguments: { message: "hi" } });
    expect(strands.writeCall(strands.readCall(use))).toEqual(use);
  });

  test.each([
    [5, ""],
    [{ name: "echo", toolUseId: 5 }, "/toolUseId"],
    [{ toolUseId: "1" }, "/name"],
    [{ name: "echo", input: [] }, "/input"],
  ])("%j is refused", (use, pointer) => {
    expect(() => strands.readCall(use)).toThrow(expect.objectContaining({ name: "ContractError", pointer }));
  });
});

describe("a result", () => {
  test("has an id, a status and content [D17]", () => {
    expect(strands.writeResult(resultOf({ ok: true, output: "hi" }))).toEqual(message([{ text: "hi" }]));
  });

  test("with a text is that text [D20]", () => {
    expect(strands.readResult(message([{ text: "hi" }]))).toEqual({ ok: true, output: "hi" });
  });

  test("with JSON is that value [D21]", () => {
    expect(strands.readResult(message([{ json: { sum: 3 } }]))).toEqual({ ok: true, output: { sum: 3 } });
  });

  test("with an image keeps its bytes", () => {
    const base64 = Buffer.from([0, 255, 128, 10]).toString("base64");
    expect(strands.readResult(message([{ image: { base64 } }]))).toEqual({ ok: true, output: { image: { base64 } } });
    expect(again(message([{ image: { base64 } }]))).toEqual(message([{ image: { base64 } }]));
  });

  test.each([
    { image: { format: "png", source: { bytes: { base64: "AAE=" } } } },
    { document: { format: "pdf", name: "report", source: { bytes: { base64: "AAE=" } } } },
    { video: { format: "mp4", source: { location: { type: "s3", uri: "s3://b/k" } } } },
  ])("with media is that block: %j", (block) => {
    expect(strands.readResult(message([block]))).toEqual({ ok: true, output: block });
    expect(again(message([block, { text: "a" }]))).toEqual(message([block, { text: "a" }]));
  });

  test.each([
    [{ document: { name: "a" } }, "must have { format, source: { bytes } } as its document"],
    [{ video: { format: "mp4", source: { bytes: "AAE=" } } }, "as its video"],
    [{ image: { format: "png", source: {} } }, "must have { base64 } or { format, source: { bytes } } as its image"],
    [{ audio: {} }, "must have one of text, json, image, document and video"],
  ])("with the block %j is malformed", (block, words) => {
    expect(strands.readResult(message([block]))).toMatchObject({
      ok: false,
      error: { message: expect.stringContaining(words) as string },
    });
  });

  test("with several blocks is a list", () => {
    const outcome = strands.readResult(message([{ text: "a" }, { json: [1] }]));
    expect(outcome).toMatchObject({ ok: true, output: ["a", [1]] });
  });

  test.each([
    ["a JSON text", [{ json: "a" }]],
    ["JSON's null", [{ json: null }]],
    ["JSON that looks like an image", [{ json: { image: { base64: "AAEC" } } }]],
    ["no block", []],
    ["a list of blocks", [{ json: "a" }, { text: "a" }]],
  ])("with %s is written as it was", (_what, content) => {
    expect(again(message(content))).toEqual(message(content));
  });

  test("that is a list is one block where it was never several", () => {
    expect(strands.writeResult(resultOf({ ok: true, output: ["a", "b"] })).content).toEqual([{ json: ["a", "b"] }]);
  });

  test("of a failure is one text block with the message, under the call's id [D24]", () => {
    const failed = resultOf({ ok: false, error: { message: "No message provided" } }, "test-456");
    expect(strands.writeResult(failed)).toEqual({
      toolUseId: "test-456",
      status: "error",
      content: [{ text: "No message provided" }],
    });
  });

  test("of a failure keeps what the tool had made, behind the message", () => {
    const given = message([{ text: "Execution failed" }, { text: "partial" }], "error");
    expect(strands.readResult(given)).toEqual({
      ok: false,
      error: { message: "Execution failed" },
      output: "partial",
    });
    expect(again(given)).toEqual(given);
  });

  test("that claims to be of other blocks than it is, is written as what it is", () => {
    const lie = resultOf({ ok: true, output: 5, metadata: { contentKinds: ["text"] } });
    expect(strands.writeResult(lie).content).toEqual([{ json: 5 }]);
  });

  test.each([
    ["no object", "done"],
    ["no status", { toolUseId: "1", content: [] }],
    ["another status", message([], "ok")],
    ["no content", message(undefined)],
    ["content that is no list", message("text")],
    ["a block that is invalid", message(["text"])],
    ["a block of two kinds", message([{ text: "a", json: 1 }])],
    ["a block of no kind", message([{ video: "a" }])],
    ["a text that is invalid", message([{ text: 5 }])],
    ["an image that is no base64", message([{ image: { base64: "*" } }])],
    ["an image of bytes that did not cross", message([{ image: { 0: 1 } }])],
  ])("with %s is a failure that says so [D23]", (_what, given) => {
    const outcome = strands.readResult(given);
    expect(outcome).toMatchObject({ ok: false, error: { code: "invalid_output", type: "InvalidOutputError" } });
    const { status, content } = strands.writeResult(resultOf(outcome));
    expect(status).toBe("error");
    expect(content).toEqual([{ text: expect.stringMatching(/^the tool's result is malformed: /) }]);
  });

  test("names the block that is malformed", () => {
    const outcome = strands.readResult(message([{ text: "a" }, { text: 5 }]));
    expect(outcome).toMatchObject({ error: { message: expect.stringContaining("/content/1 must have a string") } });
  });
});

describe("whatever there is", () => {
  const block = fc.oneof(
    fc.record({ text: fc.string() }, { noNullPrototype: true }),
    fc.record({ json: fc.jsonValue() }, { noNullPrototype: true }),
    fc.uint8Array({ maxLength: 20 }).map((bytes) => ({ image: { base64: Buffer.from(bytes).toString("base64") } })),
  );

  test("a result survives being read and written again, block by block", () => {
    fc.assert(
      fc.property(fc.array(block, { maxLength: 4 }), (content) => {
        expect(again(message(content))).toEqual(message(content));
      }),
    );
  });

  test("an output survives being written and read again", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (output) => {
        expect(strands.readResult(strands.writeResult(resultOf({ ok: true, output })))).toMatchObject({
          ok: true,
          output,
        });
      }),
    );
  });

  test("a status is success or error, and nothing else [D19]", () => {
    fc.assert(
      fc.property(fc.anything(), (given) => {
        expect(["success", "error"]).toContain(again(given).status);
      }),
    );
  });

  test("a failure starts with its message", () => {
    fc.assert(
      fc.property(fc.string(), fc.jsonValue(), (said, output) => {
        const written = strands.writeResult(resultOf({ ok: false, error: { message: said }, output }));
        expect(written.content[0]).toEqual({ text: said });
        expect(strands.readResult(written)).toMatchObject({ ok: false, error: { message: said } });
      }),
    );
  });
});
