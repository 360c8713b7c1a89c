import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { checkWasiModule } from "../../src/wasi/runtime/module.ts";
import { WasmError } from "../../src/kernel/base/wasm/wasm-sections.ts";
import {
  code,
  command,
  exportsOf,
  FUNCTIONS,
  imports,
  limits,
  memory,
  name,
  section,
  TYPES,
  u32,
  wasm,
} from "../kernel/base/wasm/wasm.ts";

const WASI = "wasi_snapshot_preview1";

test.each(["increment", "hazards", "table"])("the command %s may run", (file) => {
  const bytes = readFileSync(new URL(`../../fixtures/binaries/wasi/${file}.wasm`, import.meta.url));
  expect(() => checkWasiModule(bytes)).not.toThrow();
});

const importing = (from: string, one: string): Uint8Array =>
  wasm(TYPES, imports([from, one]), FUNCTIONS, memory(...limits(1)), exportsOf(1), code());

test.each([
  ["something of another module", importing("env", "fd_write"), /imports "env.fd_write", and may import functions of/],
  ["a function that WASI has not", importing(WASI, "sock_open"), /imports "wasi_snapshot_preview1.sock_open"/],
  ["V8's own functions for strings", importing("wasm:js-string", "concat"), /imports "wasm:js-string.concat"/],
  ["an older WASI", importing("wasi_unstable", "fd_write"), /of an older WASI: build it for wasm32-wasip1/],
])("a module that imports %s is refused", (_what, bytes, reason) => {
  expect(() => checkWasiModule(bytes)).toThrow(WasmError);
  expect(() => checkWasiModule(bytes)).toThrow(reason);
});

test("a module that imports what is no function of WASI by a name of one is refused", () => {
  const global = section(2, 1, ...name(WASI), ...name("fd_write"), 3, 0x7f, 0);
  const bytes = wasm(TYPES, global, FUNCTIONS, memory(...limits(1)), exportsOf(0), code());
  expect(() => checkWasiModule(bytes)).toThrow(/imports "wasi_snapshot_preview1.fd_write"/);
});

test.each([
  ["nothing", wasm(TYPES, FUNCTIONS, memory(...limits(1)), code()), /exports no function _start: only a command/],
  [
    "a memory as its start",
    wasm(TYPES, FUNCTIONS, memory(...limits(1)), section(7, 1, ...name("_start"), 2, 0), code()),
    /exports no function _start/,
  ],
  [
    "no memory",
    wasm(TYPES, FUNCTIONS, section(7, 1, ...name("_start"), 0, 0), code()),
    /exports no memory called memory/,
  ],
])("a module that exports %s is refused", (_what, bytes, reason) => {
  expect(() => checkWasiModule(bytes)).toThrow(reason);
});

test("a module whose memory cannot be limited is refused", () => {
  expect(() => checkWasiModule(command(40_000))).toThrow(/needs a memory of 2500 MiB/);
});

test.each([
  ["imports", section(2, ...u32(100_001))],
  ["exports", section(7, ...u32(100_001))],
])("a module that has more %s than anybody needs is refused before they are read", (what, many) => {
  const bytes = wasm(TYPES, ...(what === "imports" ? [many, FUNCTIONS] : [FUNCTIONS, many]));
  expect(() => checkWasiModule(bytes)).toThrow(new RegExp(`has 100001 ${what}, and may have 100000`));
});
