import { execFileSync } from "node:child_process";
import { symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Dependencies, readDependencies } from "../../../../src/kernel/tool/package/dependencies.ts";
import { resolvePackageOptions } from "../../../../src/kernel/tool/package/options.ts";
import { PackageError } from "../../../../src/kernel/tool/package/step.ts";
import { isRange, satisfies } from "../../../../src/kernel/tool/package/version.ts";
import { newTree } from "./opening.ts";

const semver = createRequire(import.meta.url)("semver") as { satisfies(version: string, range: string): boolean };

const MODULES = {
  "node_modules/slugify/package.json": '{"version":"1.6.9"}',
  "node_modules/@scope/one/package.json": '{"version":"0.2.5"}',
  "node_modules/secret/package.json": '{"version":"1.0.0"}',
};

async function read(files: Readonly<Record<string, string>>): Promise<Dependencies> {
  const modules = await newTree(MODULES);
  const allow = ["slugify", "@scope/one", "absent"];
  const root = await newTree({ "code/function.js": "", ...files });
  return readDependencies(root, resolvePackageOptions({ modules, allow }));
}

const requirements = (text: string) => read({ "code/requirements.txt": text });
const manifest = (text: string) => read({ "code/package.json": text });

async function problemOf(reading: Promise<unknown>): Promise<string> {
  const error: unknown = await reading.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(PackageError);
  return error instanceof Error ? error.message : "";
}

describe("what a package depends on", () => {
  test("is nothing where no file says so [C13]", async () => {
    expect((await read({})).names).toEqual(new Set());
  });

  test("is what requirements.txt lists, in each of the ways to write it [C14]", async () => {
    for (const line of ["slugify", "slugify==1.6.9", "slugify == 1.6.9", "slugify@1.6.9", "slugify@^1.6.0"]) {
      expect((await requirements(line)).names).toEqual(new Set(["slugify"]));
    }
    expect((await requirements("@scope/one@0.2.5")).names).toEqual(new Set(["@scope/one"]));
  });

  test("is what the dependencies of package.json list, and no others of it [C14]", async () => {
    const { names } = await manifest('{"dependencies":{"slugify":"^1.6.0"},"devDependencies":{"secret":"*"}}');
    expect(names).toEqual(new Set(["slugify"]));
    expect((await manifest('{"name":"x"}')).names).toEqual(new Set());
  });

  test("is in blank lines and comments not [C15]", async () => {
    const text = "\ufeff# what it needs\r\n\r\n  \t\nslugify # for names\n#secret\n   # absent\n";
    expect((await requirements(text)).names).toEqual(new Set(["slugify"]));
  });
});

describe("a dependency is refused [C14]", () => {
  test("that is not allowed, though it is there, by its file and line", async () => {
    const problem = await problemOf(requirements("slugify\n\nsecret"));
    expect(problem).toContain('code/requirements.txt, line 3, asks for "secret"');
    expect(problem).toContain("packages.allow");
    expect(await problemOf(manifest('{"dependencies":{"secret":"1.0.0"}}'))).toContain(
      'code/package.json asks for "secret"',
    );
  });

  test("that is allowed and not there", async () => {
    expect(await problemOf(requirements("absent"))).toContain("allowed but not there");
  });

  test("where nothing is allowed at all", async () => {
    const root = await newTree({ "code/requirements.txt": "slugify" });
    expect(await problemOf(readDependencies(root, resolvePackageOptions({})))).toContain("packages.allow");
  });

  test("of which another version is there", async () => {
    expect(await problemOf(requirements("slugify==1.6.8"))).toContain('what is there is "1.6.9"');
    expect(await problemOf(manifest('{"dependencies":{"@scope/one":"^0.1.0"}}'))).toContain('what is there is "0.2.5"');
  });

  test.each([
    "../secret",
    "/etc/passwd",
    "https://example.com/a.tgz",
    "git+https://example.com/a.git",
    "-r other.txt",
    "--index-url https://example.com",
    "slugify>=1",
    "slugify[extra]",
    "Slugify",
    "a b",
    ".hidden",
    "slugify@file:../x",
    "slugify@npm:secret@1.0.0",
    "x".repeat(300),
  ])("that is written as %s", async (line) => {
    expect(await problemOf(requirements(line))).toContain("which is not understood");
  });

  test.each([
    "[]",
    '"x"',
    '{"dependencies":[]}',
    "{",
    '{"dependencies":{"slugify":1}}',
    '{"dependencies":{"slugify":"file:.."}}',
  ])("in a package.json such as %s", async (text) => {
    expect(await problemOf(manifest(text))).toMatch(/must be a JSON object|is not JSON|is not understood/);
  });

  test.each(["requirements.txt", "package.json"])("in a %s that is a pipe, which nobody writes to", async (name) => {
    const root = await newTree({ "code/function.js": "" });
    execFileSync("sh", ["-c", 'mkfifo "$0"', path.join(root, "code", name)]);
    const reading = readDependencies(root, resolvePackageOptions({}));
    expect(await problemOf(reading)).toBe(`"code/${name}" is not a file`);
  });

  test.each(["requirements.txt", "package.json"])("in a %s that is a link", async (name) => {
    const root = await newTree({ "code/function.js": "", elsewhere: "slugify" });
    await symlink("../elsewhere", path.join(root, "code", name));
    const reading = readDependencies(root, resolvePackageOptions({}));
    expect(await problemOf(reading)).toBe(`"code/${name}" is a link, not a file`);
  });

  test("among far too many", async () => {
    expect(await problemOf(requirements("slugify\n".repeat(201)))).toContain("more than 200");
  });
});

test("versions are compared as npm compares them", () => {
  const number = fc.nat(3);
  const version = fc
    .tuple(number, number, number, fc.constantFrom("", "", "-rc.1"))
    .map(([major, minor, patch, pre]) => `${major}.${minor}.${patch}${pre}`);
  fc.assert(
    fc.property(version, version, fc.constantFrom("", "^", "~"), (one, other, sign) => {
      fc.pre(!other.includes("-") || sign === "");
      expect(satisfies(one, sign + other)).toBe(semver.satisfies(one, sign + other));
    }),
    { numRuns: 2_000 },
  );
  expect(["*", "1.2.3", "^1.2.3", "~0.1.0", "v1.2.3"].every(isRange)).toBe(true);
  expect([">=1", "1", "1.x", "^1", "latest || 1", "1.2.3 - 2", "x".repeat(99)].some(isRange)).toBe(false);
});
