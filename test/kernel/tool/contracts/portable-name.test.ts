import fc from "fast-check";
import { expect, test } from "vitest";
import { findName, readName, writeName } from "../../../../src/kernel/tool/contracts/portable-name.ts";
import type { ToolRunner } from "../../../../src/standard/contracts.ts";

const unit = fc.constantFrom(..."-_.dotDOT019aZ".split(""));
/** Whether a name fits without being cut. */
const fits = (name: string): boolean => readName(writeName(name)) === name;

test("what every model's API takes stays as it is", () => {
  for (const name of ["echo", "get_weather", "greeting-tool-v1", "_private", "A1", "a".repeat(64)]) {
    expect(writeName(name)).toBe(name);
  }
});

test("dots, and beginnings that are neither letter nor underscore, are written so that they can be read back", () => {
  expect(writeName("files.read")).toBe("files-dot_read");
  expect(writeName("files-dot_read")).toBe("files-dott_read");
  expect(writeName("3d")).toBe("_-3d");
  expect(writeName("_-3d")).toBe("_-_-3d");
  for (const name of ["files.read", "files-dot_read", "3d", "_-3d", ".", "-.-"])
    expect(readName(writeName(name))).toBe(name);
});

test("names are 1 to 64 of A-Z a-z 0-9 _ -, and begin with a letter or an underscore [F5]", () => {
  fc.assert(
    fc.property(fc.string({ unit, minLength: 1, maxLength: 128 }), (name) => {
      expect(writeName(name)).toMatch(/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/);
    }),
  );
});

test("no two names are written alike", () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.string({ unit, minLength: 1, maxLength: 12 }), { minLength: 2 }), (names) => {
      expect(new Set(names.map(writeName)).size).toBe(names.length);
    }),
  );
  const looksCut = `${"a".repeat(34)}-dot_-${"0".repeat(24)}`;
  expect(writeName(looksCut)).toBe(looksCut);
  expect(writeName(looksCut.replace("-dot_", "."))).not.toBe(looksCut);
  const long = "a".repeat(100);
  expect(writeName(`${long}b`)).not.toBe(writeName(`${long}c`));
});

test("what is read is what was written, and what was read is written as it was", () => {
  const short = fc.string({ unit, minLength: 1, maxLength: 12 });
  fc.assert(fc.property(short, (name) => readName(writeName(name)) === name));
  const portable = short.map((name) => `a${name.replaceAll(".", "_")}`);
  fc.assert(fc.property(portable, (written) => writeName(readName(written)) === written));
});

test("a name that had to be cut is found among the tools that there are", () => {
  const name = "very.long.name.".repeat(8);
  expect(fits(name)).toBe(false);
  const tool = { name, description: "", inputSchema: true };
  const runner: ToolRunner = {
    list: () => [{ ...tool, name: "other" }, tool],
    get: (wanted) => (wanted === name ? tool : undefined),
    execute: () => Promise.reject(new Error("nothing is run")),
  };
  expect(findName(runner, readName(writeName(name)))).toBe(name);
  expect(writeName(readName(writeName(name)))).toBe(writeName(name));
  expect(findName(runner, "unknown")).toBe("unknown");
  const cut = writeName(`${name}x`);
  expect(findName(runner, cut)).toBe(cut);
});
