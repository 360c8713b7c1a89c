import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { judgeElf } from "../../../src/wasi/native/elf.ts";

/** The header of a program for x64, with changes. */
function header(change: Readonly<Record<number, number>> = {}): Uint8Array {
  const bytes = new Uint8Array(64);
  bytes.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]);
  bytes[16] = 2;
  bytes[18] = 0x3e;
  for (const [at, byte] of Object.entries(change)) bytes[Number(at)] = byte;
  return bytes;
}

const text = (content: string): Uint8Array => Buffer.from(content, "latin1");

describe("a file is a program for this machine", () => {
  test("where its header says so, whether it may lie anywhere in memory or not", () => {
    expect(judgeElf(header(), "x64")).toEqual({ ok: true });
    expect(judgeElf(header({ 16: 3 }), "x64")).toEqual({ ok: true });
    expect(judgeElf(header({ 18: 0xb7 }), "arm64")).toEqual({ ok: true });
  });

  test.each([
    ["another machine", header({ 18: 0xb7 }), "64-bit ELF for arm64"],
    ["a machine that nobody knows", header({ 18: 0xee }), "64-bit ELF for a machine with the number 238"],
    ["32 bits", header({ 4: 1 }), "32-bit ELF for x64"],
    [
      "another byte order",
      header({ 5: 2, 16: 0, 17: 2, 18: 0, 19: 0x3e }),
      "64-bit ELF for x64 with the other byte order",
    ],
    ["an object file", header({ 16: 1 }), "64-bit ELF for x64, an object file, which has not been linked"],
    ["a core dump", header({ 16: 4 }), "64-bit ELF for x64, a core dump"],
    ["a type that nobody knows", header({ 16: 9 }), "64-bit ELF for x64, of the type 9"],
    ["no byte order", header({ 5: 7 }), "an ELF file of no known byte order"],
    ["a header that is cut off", header().subarray(0, 40), "an ELF file that ends within its header"],
    ["a script", text("#!/usr/bin/env node\n"), "a script, which begins with #!"],
    ["a program for Windows", text("MZ\u0090"), "a program for Windows (PE)"],
    ["a program for macOS", text("\u00cf\u00fa\u00ed\u00fe"), "a program for macOS (Mach-O)"],
    [
      "a program for several machines",
      text("\u00ca\u00fe\u00ba\u00be"),
      "a program for macOS (Mach-O), or a class of Java's",
    ],
    ["WebAssembly", text("\0asm"), "a WebAssembly module, which has the runtime wasi"],
    ["text", text("hello"), "not ELF"],
    ["nothing", text(""), "empty"],
  ])("not where it is of %s [C75]", (_what, bytes, is) => {
    expect(judgeElf(bytes, "x64")).toEqual({ ok: false, is });
  });

  test("or not, whatever its bytes are", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), fc.boolean(), (bytes, isElf) => {
        const file = isElf ? Uint8Array.from([...header().subarray(0, 4), ...bytes]) : bytes;
        const judged = judgeElf(file, "x64");
        expect(judged.ok || judged.is.length > 0).toBe(true);
      }),
    );
  });
});
