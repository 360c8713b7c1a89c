import fc from "fast-check";
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { limitMemory } from "../../../../src/kernel/base/wasm/wasm-memory.ts";
import { WasmError } from "../../../../src/kernel/base/wasm/wasm-sections.ts";
import {
  code,
  command,
  exportsOf,
  EXTERNREF,
  FUNCREF,
  FUNCTIONS,
  imports,
  limits,
  MAGIC,
  memory,
  name,
  section,
  TYPES,
  u32,
  wasm,
} from "./wasm.ts";

const HAZARDS = readFileSync(new URL("../../../../fixtures/binaries/wasi/hazards.wasm", import.meta.url));
const ENTRIES_MAX = 131_072;

/** How far a module's memory and tables grow, in pages and entries: V8's own word for it. */
function growthOf(bytes: Uint8Array<ArrayBuffer>): { readonly pages: number; readonly entries: readonly number[] } {
  const module = new WebAssembly.Module(bytes);
  const parts = WebAssembly.Module.imports(module).map(({ module: from, name: one }) => [from, { [one]: () => 0 }]);
  const { exports } = new WebAssembly.Instance(module, Object.fromEntries(parts) as WebAssembly.Imports);
  let pages = 0;
  const entries: number[] = [];
  for (const one of Object.values(exports)) {
    if (one instanceof WebAssembly.Memory) {
      // As far as it goes, halving what is asked for.
      for (let step = 65_536; step >= 1; step /= 2) {
        try {
          for (;;) one.grow(step);
        } catch {
          // It may be less.
        }
      }
      pages = one.buffer.byteLength / 65_536;
    }
    if (one instanceof WebAssembly.Table) {
      for (let step = 2 ** 23; step >= 1; step /= 2) {
        try {
          for (;;) one.grow(step);
        } catch {
          // It may be less.
        }
      }
      entries.push(one.length);
    }
  }
  return { pages, entries };
}

/** The defect of a module, or nothing. */
function refusalOf(bytes: Uint8Array, maxPages = 64): string | null {
  try {
    limitMemory(bytes, maxPages);
    return null;
  } catch (error) {
    if (error instanceof WasmError) return error.message;
    throw error;
  }
}

const parts = fc.record({
  min: fc.nat(40),
  max: fc.option(fc.nat(70_000)),
  pad: fc.nat(2),
  custom: fc.uint8Array({ maxLength: 20 }),
  tables: fc.array(
    fc.record({
      type: fc.constantFrom(FUNCREF, EXTERNREF),
      min: fc.nat(1_000),
      max: fc.option(fc.nat(200_000)),
      pad: fc.nat(2),
    }),
    { maxLength: 4 },
  ),
});

type Parts = typeof parts extends fc.Arbitrary<infer Value> ? Value : never;

function build({ min, max, pad, custom, tables }: Parts): Uint8Array<ArrayBuffer> {
  const bounded = (low: number, high: number | null): number | undefined => (high === null ? undefined : low + high);
  const tableList = tables.flatMap((table) => [
    table.type,
    ...limits(table.min, bounded(table.min, table.max), table.pad),
  ]);
  const maxPages = max === null ? undefined : Math.min(65_536, min + max);
  const tableExports = tables.flatMap((_table, index) => [...name(`table${index}`), 1, ...u32(index)]);
  return wasm(
    section(0, ...name("made"), ...custom),
    TYPES,
    imports(["a", "b"]),
    FUNCTIONS,
    section(4, ...u32(tables.length, pad), ...tableList),
    section(5, ...u32(1, pad), ...limits(min, maxPages, pad)),
    section(7, ...u32(1 + tables.length), ...name("memory"), 2, 0, ...tableExports),
    code(),
    section(0, ...name("more"), ...custom),
  );
}

describe("a module's memory and tables", () => {
  test("grow as far as they may, and no further, whatever the module says", () => {
    fc.assert(
      fc.property(parts, fc.integer({ min: 1, max: 64 }), (made, maxPages) => {
        const bytes = build(made);
        expect(WebAssembly.validate(bytes)).toBe(true);
        fc.pre(made.min <= maxPages);
        const { pages, entries } = growthOf(limitMemory(bytes, maxPages));
        const own = made.max === null ? maxPages : made.min + made.max;
        expect(pages).toBe(Math.min(own, maxPages));
        const wanted = made.tables.map(({ min, max }) => Math.min(ENTRIES_MAX, max === null ? Infinity : min + max));
        expect(entries).toEqual(wanted);
      }),
      { numRuns: 60 },
    );
  });

  test("hold, or the module is refused with a reason, however its bytes are broken", () => {
    const breaks = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(fc.oneof(parts.map(build), fc.constant(HAZARDS)), breaks, fc.nat(), (whole, changes, cut) => {
        const bytes = Uint8Array.from(whole.subarray(0, cut % 3 === 0 ? cut % whole.length : whole.length));
        // The parts that are read are at the beginning.
        for (const [at, byte] of changes) bytes[at % Math.min(bytes.length, 400)] = byte;
        let limited: Uint8Array<ArrayBuffer>;
        try {
          limited = limitMemory(bytes, 64);
        } catch (error) {
          expect(error).toBeInstanceOf(WasmError);
          return;
        }
        // What V8 takes, it takes afterwards as well, and there is nothing more to limit.
        if (WebAssembly.validate(bytes)) expect(WebAssembly.validate(limited)).toBe(true);
        expect(Buffer.from(limitMemory(limited, 64))).toEqual(Buffer.from(limited));
      }),
      { numRuns: 2_000 },
    );
  });

  test("hold where nothing is said of them", () => {
    expect(growthOf(limitMemory(command(1), 3)).pages).toBe(3);
    expect(growthOf(limitMemory(command(2, 2), 30)).pages).toBe(2);
    expect(limitMemory(wasm(), 1)).toEqual(wasm());
  });

  test("have a buffer of their own", () => {
    const bytes = command();
    const limited = limitMemory(bytes, 1);
    expect(limited.buffer).not.toBe(bytes.buffer);
    expect(limited.byteLength).toBe(limited.buffer.byteLength);
  });
});

describe("a module is refused", () => {
  const MEMORY = limits(1);
  const valid = [TYPES, FUNCTIONS, memory(...MEMORY), exportsOf(0), code()];
  const imported = (kind: number, ...type: number[]): Uint8Array =>
    wasm(section(2, 1, ...name("env"), ...name("it"), kind, ...type));

  test.each([
    ["that is something else", Buffer.from("\x7fELF and more"), /no WebAssembly module of version 1/],
    ["that is empty", new Uint8Array(), /no WebAssembly module of version 1/],
    ["that is a component", Uint8Array.from([...MAGIC, 0x0d, 0, 1, 0]), /no WebAssembly module of version 1/],
    ["that ends in the midst of its header", Uint8Array.from([...MAGIC, 1]), /no WebAssembly module of version 1/],
    ["that is larger than 16 MiB", new Uint8Array(16 * 1024 * 1024 + 1), /larger than 16777216 bytes/],
    ["that imports a memory", imported(2, ...MEMORY), /imports a memory/],
    ["that imports a table", imported(1, FUNCREF, ...MEMORY), /imports a table/],
    ["that imports what nobody knows", imported(9, 0), /of the kind 9/],
    ["with more imports than it says", wasm(section(2, 0, 1, 2)), /more imports than it says/],
    ["with two memories", wasm(section(5, 2, ...MEMORY, ...MEMORY)), /has 2 memories/],
    ["with a shared memory", wasm(memory(3, 1, 2)), /a memory that is shared/],
    ["with addresses of 64 bits", wasm(memory(4, 1)), /addresses of 64 bits/],
    ["with pages of its own size", wasm(memory(8, 1, 0)), /pages of its own size/],
    ["with flags that nobody knows", wasm(memory(64, 1)), /a memory that is shared/],
    ["whose memory is too large at first", command(65), /needs a memory of 5 MiB, and may have 4 MiB: raise limits/],
    ["whose memory has a maximum below its minimum", command(3, 2), /maximum is below its minimum/],
    ["with too many tables", wasm(section(4, 5, ...[1, 2, 3, 4, 5].flatMap(() => [FUNCREF, ...MEMORY]))), /5 tables/],
    ["whose table is too large at first", wasm(section(4, 1, FUNCREF, ...limits(131_073))), /table of 131073 entries/],
    ["with a table of 64 bits", wasm(section(4, 1, FUNCREF, 4, 1)), /a table that is shared/],
    [
      "with a table that is filled at first",
      wasm(section(4, 1, 0x40, 0, FUNCREF, ...MEMORY, 0xd0, 0x70, 0x0b)),
      /init/,
    ],
    ["with a number that is too long", wasm([5, 0x80, 0x80, 0x80, 0x80, 0x80, 0]), /number that is too long/],
    ["with a number beyond 32 bits", wasm([5, 0xff, 0xff, 0xff, 0xff, 0x1f]), /number that is too long/],
    ["with a section beyond its end", wasm([5, 100, 1, 0, 1]), /ends in the midst/],
    ["with a section that is too short", wasm(section(5, 1, 0)), /ends in the midst/],
    ["with a section that is too long", wasm(section(5, 1, 0, 1, 7)), /longer than what it holds/],
    ["with a section that nobody knows", wasm(section(14, 0)), /section 14, which is unknown/],
    ["with a section twice", wasm(memory(...MEMORY), memory(...MEMORY)), /section 5 twice, or not in order/],
    ["with sections out of order", wasm(...valid.toReversed()), /not in order/],
  ])("%s", (_what, bytes, reason) => {
    expect(refusalOf(bytes)).toMatch(reason);
  });

  test("with none of that", () => {
    expect(refusalOf(wasm(...valid))).toBeNull();
  });
});

describe("a module with types of values in V8's heap", () => {
  const FUNCTION = [0x60, 0, 0];
  test.each([
    ["an array", [0x5e, 0x7e, 1]],
    ["a structure", [0x5f, 0]],
    ["a group of types", [0x4e, 1, ...FUNCTION]],
    ["a type that may have others below it", [0x50, 0, ...FUNCTION]],
  ])("is refused: %s", (_what, type) => {
    const types = section(1, 2, ...FUNCTION, ...type);
    const bytes = wasm(types, FUNCTIONS, memory(...limits(1)), exportsOf(0), code());
    expect(() => new WebAssembly.Module(bytes)).not.toThrow();
    expect(() => limitMemory(bytes, 16)).toThrow(/whose memory cannot be limited: build it without WasmGC/);
  });

  test("is one with functions alone where those take and give references", () => {
    const types = section(1, 2, ...FUNCTION, 0x60, 2, 0x63, 0x70, 0x7b, 1, EXTERNREF);
    const bytes = wasm(types, FUNCTIONS, memory(...limits(1)), exportsOf(0), code());
    expect(() => limitMemory(bytes, 16)).not.toThrow();
  });
});
