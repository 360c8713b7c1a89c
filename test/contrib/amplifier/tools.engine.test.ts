import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { amplifier, AMPLIFIER_CONTRACT } from "../../../src/contrib/amplifier/index.ts";
import type { Engine, ToolResult } from "../../../src/glovebox/index.ts";
import { temporaryFolder } from "../../kernel/tool/temporary.ts";
import { moduleAt, moduleOf, openEngine } from "./modules.ts";

let engine: Engine;

beforeAll(async () => {
  engine = await openEngine();
  await engine.register({ path: moduleAt("my_tool"), config: { max_size: 3, allowed_paths: ["/srv"] } });
  await engine.register({ path: moduleAt("guide_tool") });
  await engine.register(moduleAt("throws"));
});
afterAll(() => engine.close());

const call = (name: string, args: Record<string, unknown>) => engine.execute({ name, arguments: args });

/** Registers a module that is written for one test, calls its tool, and answers how that went. */
async function run(body: string, args: Record<string, unknown> = {}, more = ""): Promise<ToolResult> {
  const folder = await temporaryFolder({ "made.js": moduleOf("made", body, more) });
  await engine.register(join(folder, "made.js"));
  return call("made", args);
}

describe("a mounted tool", () => {
  test("has the name and the description that it says it has [A02 A03 A19]", () => {
    const { name, description, contract } = engine.get("my_tool") ?? {};
    expect({ name, description, contract }).toEqual({
      name: "my_tool",
      description: "Performs specific action with given parameters.",
      contract: "amplifier",
    });
    expect(engine.get("my-tool")).toBeUndefined();
  });

  test("has the schema of its get_schema() where it has no input_schema [A08 A27]", () => {
    expect(engine.get("my_tool")?.inputSchema).toMatchObject({ required: ["required_param"] });
  });

  test("may have its schema as an attribute of its class [B01 B10]", () => {
    expect(engine.get("greet")?.inputSchema).toMatchObject({ properties: { encoding: { default: "utf-8" } } });
  });

  test("is defined to models by name, description and schema, with what the schema says of each property [A29 B02]", () => {
    const info = engine.get("my_tool");
    if (info === undefined) throw new Error("it is not registered");
    expect(amplifier.writeTool(info)).toEqual({
      name: "my_tool",
      description: "Performs specific action with given parameters.",
      input_schema: {
        type: "object",
        properties: {
          required_param: { type: "string", description: "Description of parameter" },
          optional_param: { type: "integer", default: 10 },
        },
        required: ["required_param"],
      },
    });
  });

  test("takes any object where it has no schema [A04 A09]", async () => {
    expect(engine.get("unlucky")?.inputSchema).toEqual({ type: "object" });
    const { output } = await run("return { success: true, output: input };", { anything: [1, { goes: null }] });
    expect(output).toEqual({ anything: [1, { goes: null }] });
  });

  test("is executed with its input, and may take its time [A05]", async () => {
    const body = "await new Promise((done) => setTimeout(done, 5)); return { success: true, output: input.a };";
    expect((await run(body, { a: 5 })).output).toBe(5);
  });

  test("has the config that the module is mounted with, unchanged [A33]", async () => {
    const { output } = await call("my_tool", { required_param: "value" });
    expect(output).toMatchObject({ config: { max_size: 3, allowed_paths: ["/srv"] } });
  });

  test("has an empty config where it is missing [A34 B03]", async () => {
    expect((await call("greet", { path: "Ada" })).output).toBe("Hello, Ada (utf-8)");
  });

  test("has the defaults of its schema in its input [A28 B10]", async () => {
    const { output } = await call("my_tool", { required_param: "value" });
    expect(output).toMatchObject({ required_param: "value", optional_param: 10 });
  });

  test("may say how long its output is to be at most", async () => {
    const more = "max_output_chars = 10;";
    const { output, metadata } = await run("return { success: true, output: 'x'.repeat(25) };", {}, more);
    expect(output).toBe(`${"x".repeat(10)}\n\n[Truncated: 15 chars remaining]`);
    expect(metadata.truncated?.output).toBe(15);
  });
});

describe("the result of a call", () => {
  test("that goes well is a success with its output [A25]", async () => {
    const { success, output, error } = await call("greet", { path: "Ada", encoding: "ascii" });
    expect({ success, output, error }).toEqual({ success: true, output: "Hello, Ada (ascii)", error: null });
  });

  test("has what the tool left out [A11 B05]", async () => {
    const { success, output, error } = await run("return {};");
    expect({ success, output, error }).toEqual({ success: true, output: null, error: null });
  });

  test("has whatever JSON the tool has as its output [A12]", async () => {
    for (const output of ["text", { a: [1] }, [null, false], 0, true]) {
      expect((await run(`return { success: true, output: ${JSON.stringify(output)} };`)).output).toEqual(output);
    }
  });

  test("has what the tool says besides its output among its metadata [B05]", async () => {
    expect((await call("greet", { path: "Ada" })).metadata["path"]).toBe("Ada");
  });

  test("has the id of the call [A10]", async () => {
    const { metadata } = await engine.execute({ id: "call-7", name: "greet", arguments: { path: "Ada" } });
    expect(metadata.callId).toBe("call-7");
  });

  test("without a required parameter says which, and nothing has run by then [A24 A30]", async () => {
    const { success, error, metadata } = await call("my_tool", {});
    expect([success, error?.code, metadata.attempts]).toEqual([false, "invalid_arguments", 0]);
    expect(error?.message).toContain("required_param is required");
  });

  test("that the tool itself refuses has the tool's own words [A24]", async () => {
    const result = await call("my_tool", { required_param: "" });
    expect(amplifier.writeResult(result)).toMatchObject({
      success: false,
      error: { message: "required_param is required" },
    });
    expect(amplifier.writeResult(result).error).toEqual({ message: "required_param is required" });
  });

  test("has the message and the class of an exception that the tool caught itself [A13 A26]", async () => {
    const result = await call("my_tool", { required_param: "explode" });
    expect(amplifier.writeResult(result).error).toEqual({ message: "that was too much", type: "RangeError" });
  });

  test("has the message and the class of one that it did not, and the next call is not affected [A13 A26]", async () => {
    const result = await call("unlucky", {});
    expect(amplifier.writeResult(result)).toMatchObject({
      success: false,
      error: { message: "it went wrong", type: "TypeError" },
    });
    expect((await call("greet", { path: "Ada" })).success).toBe(true);
  });

  test("keeps what the tool says of its failure, and what it had made by then", async () => {
    const failed = `{ success: false, output: "half", error: { message: "no", type: "CommandFailed", exit_code: 2 } }`;
    const { output, error } = await run(`return ${failed};`);
    expect(output).toBe("half");
    expect(error).toMatchObject({
      code: "tool_error",
      type: "CommandFailed",
      message: "no",
      details: { exit_code: 2 },
    });
  });

  test("is a failure where the tool gives no result [A44]", async () => {
    expect((await run("return 'just a text';")).error?.message).toBe("execute must return a ToolResult");
    expect((await run("return { success: 'yes' };")).success).toBe(false);
  });
});

describe("mounting", () => {
  const describeModule = async (text: string) => {
    const folder = await temporaryFolder({ "made.js": text });
    const [report] = await engine.describe(join(folder, "made.js"));
    return report?.described;
  };

  test("is asynchronous, and takes a coordinator and a config [A14]", async () => {
    const [report] = await engine.describe(moduleAt("my_tool"));
    expect(report?.described).toMatchObject({ is_async: true, parameters: 2 });
    const late = moduleOf("late", "return {};").replace("coordinator.mount(", "null; await coordinator.mount(");
    expect(amplifier.readModule(await describeModule(late), "made").map(({ name }) => name)).toEqual(["late"]);
  });

  test("may return the tool, mounted or not [A15]", async () => {
    const returns = `export async function mount() {
      return { name: "returned", description: "Is only returned.", execute: async () => ({ output: "here" }) };
    }`;
    const folder = await temporaryFolder({ "made.js": returns });
    await engine.register(join(folder, "made.js"));
    expect((await call("returned", {})).output).toBe("here");
  });

  test("may return a function for the end, which runs once for each instance [A16 B04]", async () => {
    const { metadata } = await call("greet", { path: "Ada" });
    expect(metadata.logs.map(({ message }) => message)).toEqual(["cleaned up"]);
  });

  test("may return nothing and mount nothing, which is no tool and no failure [A17]", async () => {
    const [report] = await engine.describe(moduleAt("nothing"));
    expect(amplifier.readModule(report?.described, "nothing")).toEqual([]);
  });

  test("is under the name that it gives, which is the tool's own in the guide [A18 B04]", async () => {
    const mounts = async (name: string) => (await engine.describe(moduleAt(name)))[0]?.described;
    expect(await mounts("my_tool")).toMatchObject({ mounts: [{ mount_point: "tools", name: "my-tool" }] });
    expect(await mounts("guide_tool")).toMatchObject({ mounts: [{ mount_point: "tools", name: "greet" }] });
  });

  test("is what version 1.0.0 of the contract says [A01]", () => {
    expect(AMPLIFIER_CONTRACT.contract_version).toBe("1.0.0");
  });
});
