import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { GloveboxError } from "../../../src/kernel/base/errors.ts";
import { checkDefinition, type CheckOptions } from "../../../src/kernel/tool/definition.ts";

const valid = { name: "add", description: "Adds two numbers.", source: "export default () => 1" };

function refusal(definition: unknown, options?: CheckOptions): string {
  try {
    checkDefinition(definition, options);
  } catch (error) {
    if (!(error instanceof GloveboxError)) throw error;
    expect(error.code).toBe("load_error");
    return error.message;
  }
  throw new Error("the definition was accepted");
}

describe("a definition is accepted", () => {
  test("with name, description and source, and gets a version", () => {
    expect(checkDefinition(valid)).toEqual({ ...valid, version: "0.0.0" });
  });

  test("with everything that it may have", () => {
    const full = {
      ...valid,
      version: "1.2.3",
      tags: ["math"],
      inputSchema: { type: "object" },
      outputSchema: true,
      runtime: "javascript",
      isolation: "shared",
      limits: { cpuMs: 5 },
      capabilities: {
        fetch: { origins: ["*"], privateOrigins: [], methods: ["GET"], maxBytes: 1, maxRequests: 1 },
        fs: { data: { mode: "ro" } },
        kv: { maxBytes: 1 },
        secrets: ["KEY"],
        tools: ["other"],
        env: ["A"],
        counter: true,
      },
      config: { a: [1, null] },
      retries: 5,
    };
    expect(checkDefinition(full)).toEqual(full);
  });

  test("without being changed", () => {
    const given = Object.freeze({ ...valid });
    expect(checkDefinition(given)).not.toBe(given);
    expect(given).toEqual(valid);
  });

  test("with keys that are there but undefined", () => {
    expect(checkDefinition({ ...valid, version: undefined, entry: undefined }).version).toBe("0.0.0");
  });

  test("without a source where it is a module's spec", () => {
    expect(checkDefinition({ name: "a", description: "A." }, { allowNoSource: true }).name).toBe("a");
  });
});

describe("a definition is refused", () => {
  test.each<[string, unknown, string]>([
    ["that is no object", null, "must be object"],
    ["that is a list", [], "must be object"],
    ["without a name", { description: "A.", source: "x" }, "/name is required"],
    ["without a description", { name: "a", source: "x" }, "/description is required"],
    ["with a name of other characters", { ...valid, name: "a b" }, "^[A-Za-z0-9_.-]{1,128}$"],
    ["with an empty name", { ...valid, name: "" }, "/name must be"],
    ["with a name of 129 characters", { ...valid, name: "a".repeat(129) }, "/name must be"],
    ["with an empty description", { ...valid, description: "" }, "at least 1 character"],
    ["with a description that is too long", { ...valid, description: "a".repeat(10_001) }, "at most 10000 characters"],
    ["with 65 tags", { ...valid, tags: Array(65).fill("a") }, "at most 64 items"],
    ["with a tag of 65 characters", { ...valid, tags: ["a".repeat(65)] }, "/tags/0 must be at most 64"],
    ["with an unknown isolation", { ...valid, isolation: "none" }, 'one of "instance", "context", "isolate", "shared"'],
    [
      "with a runtime of a name that none can have",
      { ...valid, runtime: "Ruby 3" },
      "/runtime must be string matching",
    ],
    ["with six retries", { ...valid, retries: 6 }, "/retries must be <= 5"],
    ["with half a retry", { ...valid, retries: 0.5 }, "/retries must be integer"],
    ["with a key that does not exist", { ...valid, input_schema: {} }, "/input_schema is not allowed; expected one of"],
    ["with an unknown limit", { ...valid, limits: { ramMb: 1 } }, "limits.ramMb is not a limit"],
    ["with a limit of nothing", { ...valid, limits: { cpuMs: 0 } }, "limits.cpuMs must be a number above 0"],
    ["with a limit in words", { ...valid, limits: { cpuMs: "1s" } }, "limits.cpuMs must be a number above 0"],
    ["with source and entry", { ...valid, entry: "a.js" }, "exactly one of source"],
    ["with neither source nor entry", { name: "a", description: "A." }, "exactly one of source"],
    ["with a config that is too large", { ...valid, config: "x".repeat(256 * 1024) }, "more than 262144 bytes"],
    ["with a config that is a function", { ...valid, config: () => 1 }, "not JSON"],
    ["with a config that holds NaN", { ...valid, config: { a: Number.NaN } }, "/a is NaN"],
    ["with fetch but no origins", { ...valid, capabilities: { fetch: {} } }, "/capabilities/fetch/origins is required"],
    ["with a mount of no mode", { ...valid, capabilities: { fs: { a: {} } } }, "/capabilities/fs/a/mode is required"],
    ["with kv: false", { ...valid, capabilities: { kv: false } }, "/capabilities/kv"],
    ["with an inputSchema in words", { ...valid, inputSchema: "object" }, "/inputSchema must be object or boolean"],
  ])("%s", (_what, definition, reason) => {
    expect(refusal(definition)).toContain(reason);
  });

  test("with a config that contains itself", () => {
    const config: { self?: unknown } = {};
    config.self = config;
    expect(refusal({ ...valid, config })).toContain("a config that is not JSON");
  });

  test.each(["source", "entry"])("where a module's spec has %s", (key) => {
    expect(refusal({ name: "a", description: "A.", [key]: "x" }, { allowNoSource: true })).toContain("remove them");
  });

  test("by name, and in one message for all that is wrong", () => {
    const message = refusal({ name: "add", description: 1, retries: -1 });
    expect(message).toContain('tool "add"');
    expect(message).toContain("/description");
    expect(message).toContain("/retries");
  });
});

test("anything is either a definition or refused with a load_error", () => {
  const value = fc.anything();
  const almost = fc.record({
    ...Object.fromEntries(Object.keys(valid).map((key) => [key, value])),
    limits: value,
    config: value,
  });
  fc.assert(
    fc.property(fc.oneof(value, almost), (definition) => {
      try {
        checkDefinition(definition);
      } catch (error) {
        expect(error).toBeInstanceOf(GloveboxError);
      }
    }),
    { numRuns: 500 },
  );
});
