import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test, vi } from "vitest";
import { groupsIn, titlesIn } from "../titles.ts";
import type { Family } from "./plan.ts";
import { readRows, type Row } from "./threat-model.ts";

const FOLDER = fileURLToPath(new URL(".", import.meta.url));
const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const SELF = "threat-model.test.ts";

/** All families, which are not carried out here. */
const families = vi.hoisted(() => [] as Family[]);
vi.mock("./harness.ts", () => ({ attack: (_name: string, family: Family) => families.push(family) }));

/** What the files of this folder test, by file and name: the attacks of their families, or tests as they are. */
async function readTests(): Promise<string[]> {
  const tests: string[] = [];
  for (const file of readdirSync(FOLDER).filter((name) => name.endsWith(".test.ts"))) {
    if (file === SELF) continue;
    const text = readFileSync(FOLDER + file, "utf8");
    if (!text.includes('from "./harness.ts"')) {
      // A file without a family has tests of its own, which would run here if it were imported.
      tests.push(...titlesIn(text).map((name) => `${file}: ${name}`));
      continue;
    }
    families.length = 0;
    await import(/* @vite-ignore */ `./${file}`);
    for (const { hazards = [], modules = [], batches = [], sieges = [], scenes } of families) {
      const attacks = [...hazards, ...modules, ...batches, ...sieges].map(({ name }) => name);
      tests.push(...[...attacks, ...(scenes?.names ?? [])].map((name) => `${file}: ${name}`));
    }
  }
  return tests;
}

const rows = readRows();
const tests = await readTests();

test("every row of the threat model names a test that exists, and a defence that is a file", () => {
  expect(rows.length).toBeGreaterThan(0);
  const known = new Set(tests);
  // A title may say at its end which rows of the documents it proves.
  const has = (path: string, name: string) => {
    const text = readFileSync(path, "utf8");
    return [...titlesIn(text), ...groupsIn(text)].some((title) => title === name || title.startsWith(`${name} [`));
  };
  const isKnown = ({ file, test: name }: Row) =>
    file.includes("/") || file === SELF ? has(FOLDER + file, name) : known.has(`${file}: ${name}`);
  expect(rows.filter((row) => !isKnown(row)).map(({ file, test: name }) => [file, name])).toEqual([]);
  expect(rows.filter(({ defences }) => defences.length === 0)).toEqual([]);
  expect(rows.flatMap(({ defences }) => defences).filter((path) => !existsSync(ROOT + path))).toEqual([]);
});

test("every test of this folder has exactly one row in the threat model", () => {
  const proved = rows.map((row) => `${row.file}: ${row.test}`);
  expect(tests.filter((name) => !proved.includes(name))).toEqual([]);
  expect(proved.filter((name, at) => proved.indexOf(name) !== at)).toEqual([]);
  expect(tests.filter((name, at) => tests.indexOf(name) !== at)).toEqual([]);
});
