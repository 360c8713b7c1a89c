import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { expect, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { filesBelow } from "../source-files.ts";
import { ROOT } from "./linked-folder.ts";
import { exampleNames, readManifest } from "./run-example.ts";

const semver = createRequire(import.meta.url)("semver") as { satisfies(version: string, range: string): boolean };
const EXAMPLES = join(ROOT, "examples");
const LINES_MAX = 80;

const names = exampleNames();

test.each(names)("the example %s can be tested, and its packages are those that it was tested with", (name) => {
  const { scripts, dependencies, devDependencies } = readManifest(name);
  const { glovebox, ...others } = dependencies;
  expect(scripts).toHaveProperty("test");
  expect(semver.satisfies(manifest.version, glovebox ?? "")).toBe(true);
  expect(Object.values({ ...others, ...devDependencies }).filter((range) => !/^\d+\.\d+\.\d+$/.test(range))).toEqual(
    [],
  );
});

test("the list of examples names each of them", () => {
  const list = readFileSync(join(EXAMPLES, "README.md"), "utf8");
  expect(names.filter((name) => !list.includes(`(${name}/README.md)`))).toEqual([]);
});

test.each(names)("the example %s is short", (name) => {
  const code = filesBelow(join(EXAMPLES, name)).filter((file) => /\.(?:tsx?|py)$/.test(file));
  const lines = code.flatMap((file) => readFileSync(join(EXAMPLES, name, file), "utf8").split("\n"));
  expect(lines.filter((line) => line.trim() !== "").length).toBeLessThanOrEqual(LINES_MAX);
});
