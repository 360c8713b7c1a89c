import { NO_CHECKS } from "../../../src/kernel/base/protocol/script.ts";
import { expect, test } from "vitest";
import { GloveboxError } from "../../../src/kernel/base/errors.ts";
import { DEFAULT_LIMITS } from "../../../src/kernel/base/limits.ts";
import type { RegisteredTool } from "../../../src/kernel/tool/registered-tool.ts";
import { MAX_TOOLS, REGISTRANT_CHARS, REGISTRANT_TOOLS, ToolRegistry } from "../../../src/kernel/tool/registry.ts";

function tool(name: string, description = ""): RegisteredTool {
  const limits = DEFAULT_LIMITS;
  return {
    info: {
      name,
      description,
      version: "0.0.0",
      tags: [],
      inputSchema: true,
      outputSchema: null,
      runtime: "javascript",
      contract: "glovebox",
      annotations: {},
      retries: 0,
      isolation: "instance",
      limits,
      capabilities: {},
      script: { bytes: 0, evaluationMs: 0 },
      parses: "host",
      registrant: "operator",
      digest: "",
    },
    script: {
      key: name,
      name,
      version: "0.0.0",
      runtime: "javascript",
      isolation: "instance",
      memoryMb: 8,
      config: "null",
      checks: NO_CHECKS,
      contract: "glovebox",
      text: "",
    },
    limits,
    askedLimits: {},
    files: [],
    sourceMap: "",
    capabilities: {},
    retries: 0,
    retryOn: "lost",
    readResult: null,
    outputAt: null,
    takesCommands: false,
    outputChars: null,
    timeoutArgument: null,
    usage: { calls: 0, retired: false },
    mapStack: (stack) => stack,
  };
}

test("a tool is found by its name, and not by names that objects inherit", () => {
  const registry = new ToolRegistry();
  registry.set(tool("add"));
  expect(registry.get("add")?.info.name).toBe("add");
  expect(registry.get("constructor")).toBeUndefined();
  expect(registry.size).toBe(1);
});

test("a tool of the same name replaces the other", () => {
  const registry = new ToolRegistry();
  registry.set(tool("add", "old"));
  registry.set(tool("add", "new"));
  expect(registry.list().map((info) => info.description)).toEqual(["new"]);
});

test("a tool that is deleted is gone, and deleting says whether it was there", () => {
  const registry = new ToolRegistry();
  registry.set(tool("add"));
  expect([registry.delete("add"), registry.delete("add"), registry.get("add")]).toEqual([true, false, undefined]);
});

test("the list is sorted by name", () => {
  const registry = new ToolRegistry();
  for (const name of ["b", "a", "C"]) registry.set(tool(name));
  expect(registry.list().map((info) => info.name)).toEqual(["C", "a", "b"]);
});

test("a full registry refuses new tools and still replaces old ones", () => {
  const registry = new ToolRegistry();
  for (let at = 0; at < MAX_TOOLS; at++) registry.set(tool(`t${at}`));
  expect(() => registry.set(tool("more"))).toThrow(GloveboxError);
  registry.set(tool("t0", "new"));
  expect(registry.size).toBe(MAX_TOOLS);
});

/** A tool of a key, with a script of this length. */
function strangers(name: string, chars = 0, registrant = "key:a"): RegisteredTool {
  const { info, script, ...rest } = tool(name);
  return { ...rest, info: { ...info, registrant }, script: { ...script, text: "x".repeat(chars) } };
}

test("a registrant's tools leave room for those of others", () => {
  const registry = new ToolRegistry();
  for (let at = 0; at < REGISTRANT_TOOLS; at++) registry.set(strangers(`t${at}`));
  expect(() => registry.set(strangers("more"))).toThrow(`a registrant may have ${REGISTRANT_TOOLS} tools`);
  registry.set(strangers("t0"));
  registry.set(strangers("other", 0, "key:b"));
  registry.set(tool("operators"));
  registry.delete("t1");
  registry.set(strangers("more"));
});

test("a registrant's scripts have a length together, and those replaced or removed do not count", () => {
  const registry = new ToolRegistry();
  const quarter = REGISTRANT_CHARS / 4;
  for (const name of ["a", "b", "c", "d"]) registry.set(strangers(name, quarter));
  expect(() => registry.set(strangers("e", 1))).toThrow(`may have ${REGISTRANT_CHARS} characters together`);
  expect(() => registry.requireRoom([strangers("a", quarter), strangers("e", 1)])).toThrow(GloveboxError);
  registry.set(strangers("a", quarter - 1));
  registry.set(strangers("e", 1));
  registry.delete("b");
  registry.set(strangers("f", quarter));
  registry.set(strangers("f", quarter, "key:b"));
});
