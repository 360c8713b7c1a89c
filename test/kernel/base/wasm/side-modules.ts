import { FUNCREF, limits, name, section, u32, wasm } from "./wasm.ts";

export interface SideModuleParts {
  /** Bytes of memory, and functions in the table. */
  readonly memory?: number;
  readonly table?: number;
  readonly alignment?: number;
  readonly needs?: readonly string[];
  /** Addresses of the interpreter's values, and of functions, that it takes. */
  readonly addresses?: readonly string[];
  readonly functions?: readonly string[];
  /** A function that each of its own calls. */
  readonly calls?: string;
  readonly exports?: readonly string[];
}

/** The section that makes a module a library. */
export function linking({ memory = 0, table = 0, alignment = 0, needs = [] }: SideModuleParts = {}): number[] {
  const sizes = [...u32(memory), ...u32(alignment), ...u32(table), 0];
  const libraries = [...u32(needs.length), ...needs.flatMap(name)];
  const parts = [1, ...u32(sizes.length), ...sizes, 2, ...u32(libraries.length), ...libraries];
  return section(0, ...name("dylink.0"), ...parts);
}

const I32 = 0x7f;
const MUTABLE = 1;
const GLOBAL = 3;

/** A library that imports the interpreter's memory and table. Its exports are one function, which answers 0. */
export function sideModule(parts: SideModuleParts = {}): Buffer {
  const { addresses = [], functions = [], exports = [], calls } = parts;
  const imports = [
    [...name("env"), ...name("memory"), 2, ...limits(1)],
    [...name("env"), ...name("__indirect_function_table"), 1, FUNCREF, ...limits(0)],
    ...addresses.map((one) => [...name("GOT.mem"), ...name(one), GLOBAL, I32, MUTABLE]),
    ...functions.map((one) => [...name("GOT.func"), ...name(one), GLOBAL, I32, MUTABLE]),
    ...(calls === undefined ? [] : [[...name("env"), ...name(calls), 0, 0]]),
  ];
  const own = calls === undefined ? 0 : 1;
  const named = exports.flatMap((one) => [...name(one), 0, own]);
  const body = [0, ...(calls === undefined ? [] : [0x10, 0]), 0x41, 0, 0x0b];
  return Buffer.from(
    wasm(
      linking(parts),
      section(1, 2, 0x60, 0, 0, 0x60, 0, 1, I32),
      section(2, ...u32(imports.length), ...imports.flat()),
      section(3, 1, 1),
      section(7, ...u32(exports.length), ...named),
      section(10, 1, body.length, ...body),
    ),
  );
}
