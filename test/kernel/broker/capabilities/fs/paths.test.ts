import { mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import path from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { readPath } from "../../../../../src/kernel/broker/capabilities/fs/operation.ts";
import { mounted, SECRET } from "./mounted.ts";

const pieces = fc.oneof(
  fc.constantFrom(
    "",
    ".",
    "..",
    "...",
    "data",
    "fixed",
    "scratch",
    "a",
    "x",
    "up",
    "out",
    "here",
    "back",
    "secret.txt",
  ),
  fc.constantFrom("outside", "folder", "etc", "passwd", "proc", "self", "environ", "%2e%2e", "..\\..", "C:", "\0", "~"),
  fc.string(),
  fc.string({ unit: "binary" }),
);
const paths = fc
  .tuple(fc.constantFrom("/data/", "/fixed/", "/", ""), fc.array(pieces, { maxLength: 8 }))
  .map(([start, names]) => `${start}${names.join("/")}`);

test("no path that a tool can make up leads out of its mounts", async () => {
  const { fs, folder, outside, heard } = await mounted({ files: { "a/x": "inside" }, limits: { callBytes: Infinity } });
  symlinkSync("../outside", path.join(folder, "up"));
  symlinkSync(outside, path.join(folder, "out"));
  symlinkSync(".", path.join(folder, "here"));
  symlinkSync("../..", path.join(folder, "a", "back"));
  mkdirSync(path.join(outside, "a"));
  const operations: readonly ((one: string, other: string) => Promise<unknown>)[] = [
    (one) => fs.readFile(one),
    (one) => fs.writeFile(one, "written"),
    (one) => fs.appendFile(one, "written"),
    (one) => fs.readdir(one, { recursive: true }),
    (one) => fs.stat(one),
    (one) => fs.lstat(one),
    (one) => fs.realpath(one),
    (one) => fs.mkdir(one, { recursive: true }),
    (one) => fs.truncate(one),
    (one, other) => fs.copyFile(one, other),
    (one, other) => fs.rename(one, other),
    (one) => fs.rm(one, { recursive: true }),
  ];
  const before = readdirSync(path.dirname(folder)).toSorted();
  const steps = fc.array(fc.tuple(fc.nat(operations.length - 1), paths, paths), { maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(steps, async (taken) => {
      for (const [which, one, other] of taken) await operations[which]?.(one, other).catch(() => undefined);
      expect(heard().includes(SECRET)).toBe(false);
      expect(readdirSync(path.dirname(folder)).toSorted()).toEqual(before);
      expect(readdirSync(outside).toSorted()).toEqual(["a", "secret.txt"]);
      expect(readdirSync(path.join(outside, "a"))).toEqual([]);
      expect(readFileSync(path.join(outside, "secret.txt"), "utf8")).toBe(SECRET);
    }),
    { numRuns: 150 },
  );
});

test("a path that is read has no name that leads anywhere but down", () => {
  fc.assert(
    fc.property(paths, (text) => {
      try {
        const { mount, names } = readPath(text);
        for (const name of [mount ?? "x", ...names]) {
          expect(name).not.toMatch(/^\.{0,2}$/);
          expect(name).not.toMatch(/[/\0]/);
        }
      } catch (error) {
        expect(error).toMatchObject({ name: "SystemError" });
      }
    }),
  );
});
