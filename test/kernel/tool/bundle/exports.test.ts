import { createContext, runInContext } from "node:vm";
import { expect, test } from "vitest";
import { SCRIPT_EXPORTS } from "../../../../src/kernel/base/protocol/script.ts";
import { leaveExports } from "../../../../src/kernel/tool/bundle/exports.ts";

/** Plain JSON of what a bundle leaves, evaluated as a worker does. */
function exportsOf(text: string): unknown {
  const script = `JSON.stringify((function (console, self) { "use strict";\n${leaveExports(text)}\nreturn ${SCRIPT_EXPORTS};\n})())`;
  return JSON.parse(String(runInContext(script, createContext({}))));
}

test.each([
  [
    "a default and a named export",
    "var a = 1;\nvar b = 2;\nexport {\n  a as default,\n  b as spec\n};\n",
    { default: 1, spec: 2 },
  ],
  ["an export under its own name", "var spec = 1;\nexport {\n  spec\n};\n", { spec: 1 }],
  ["no export", "var a = 1;\n", {}],
  ["nothing but an export", "export {};\n", {}],
  [
    "names of the call's own globals",
    "var console = 1;\nvar self = 2;\nexport {\n  console as default\n};\n",
    { default: 1 },
  ],
  [
    "text that looks like an export",
    "var a = `\nexport { `;\nvar b = 2;\nexport {\n  b as default\n};\n",
    { default: 2 },
  ],
])("a bundle with %s leaves just that", (_what, text, expected) => {
  expect(exportsOf(text)).toEqual(expected);
});

test("a bundle keeps its lines where they were", () => {
  const text = leaveExports("var a = 1;\nvar b = 2;\nexport {\n  b as default\n};\n");
  expect(text.split("\n")[1]).toBe("var b = 2;");
});
