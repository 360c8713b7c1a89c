import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { leanPyodide } from "../../src/python/runtime/lean-pyodide.ts";
import { findPyodide } from "../../src/python/runtime/place.ts";
import { PYTHON_MS, PythonBench } from "./bench.ts";

test("the installed version of Pyodide knows every change", () => {
  const read = (name: string): string => readFileSync(path.join(findPyodide() ?? "", name), "utf8");
  expect(leanPyodide(read("pyodide.asm.mjs"), read("pyodide.mjs")).left).toBe(0);
});

test(
  "functions of Python's C interface are found by name, and called",
  async () => {
    await using bench = await PythonBench.open();
    const source = `
import ctypes
def execute(input):
    add = ctypes.pythonapi.PyNumber_Add
    add.restype, add.argtypes = ctypes.py_object, [ctypes.py_object, ctypes.py_object]
    try:
        ctypes.pythonapi.PyNumber_Nothing
    except AttributeError as error:
        return [add(40, 2), add("a", "b"), str(error)]
`;
    expect((await bench.once(source, {})).output).toEqual([42, "ab", expect.stringContaining("PyNumber_Nothing")]);
  },
  PYTHON_MS,
);
