import { expect, test } from "vitest";
import { readSideModule } from "../../../../src/kernel/base/wasm/side-module.ts";
import { WasmError } from "../../../../src/kernel/base/wasm/wasm-sections.ts";
import { linking, sideModule } from "./side-modules.ts";
import { command, FUNCREF, imports, limits, memory, name, section, TYPES, wasm } from "./wasm.ts";

function refusalOf(bytes: Uint8Array): string {
  try {
    readSideModule(bytes);
  } catch (error) {
    if (error instanceof WasmError) return error.message;
    throw error;
  }
  return "";
}

test("a side module says what it needs, and uses the interpreter's memory and table", () => {
  const bytes = sideModule({ memory: 1_024, table: 8, needs: ["one.so", "two.so"], addresses: ["PyExc_ValueError"] });
  expect(readSideModule(bytes)).toEqual({ needs: ["one.so", "two.so"] });
});

test.each<[string, Uint8Array, string]>([
  ["a program for a system", Buffer.from("\u007fELF…"), "is no WebAssembly module of version 1"],
  ["a command", command(), "is no side module"],
  ["one whose section for linking is cut", wasm(section(0, ...name("dylink.0"), 1, 9, 1)), "ends in the midst"],
  ["one that takes a huge memory", sideModule({ memory: 2 ** 31 }), "takes 2147483648 bytes of memory"],
  ["one that takes a huge table", sideModule({ table: 2 ** 24 }), "has 16777216 functions in the table"],
  ["one with a huge alignment", sideModule({ alignment: 31 }), "has an alignment beyond"],
  ["one with a memory of its own", wasm(linking(), memory(...limits(1))), "has a memory of its own"],
  ["one with a table of its own", wasm(linking(), section(4, 1, FUNCREF, ...limits(1))), "has a table of its own"],
  ["one that imports from elsewhere", wasm(linking(), TYPES, imports(["host", "open"])), "imports open of host"],
  ["one that brings JavaScript", sideModule({ exports: ["__em_js__evil"] }), "brings JavaScript of its own"],
  ["one that needs many", sideModule({ needs: Array<string>(65).fill("a.so") }), "needs 65 libraries"],
])("%s is refused", (_what, bytes, expected) => {
  expect(refusalOf(bytes)).toContain(expected);
});
