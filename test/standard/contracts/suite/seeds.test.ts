import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { expect, test } from "vitest";
import { findProofs, proofsIn, readRows, type Row, rowsOfChecklist, SEEDS, TESTS, writeSeeds } from "./seeds.ts";
import { MENDED, WAITING } from "./waiting.ts";

const CHECKLIST = join(process.env["GLOVEBOX_DOCUMENTS"] ?? "", "CHECKLIST.md");

const rows = readRows();
const proofs = findProofs();
const proven = new Set(proofs.flatMap((proof) => proof.rows));

test("all rows of the documents are here", () => {
  const counts = Map.groupBy(rows, ({ id }) => id.slice(0, 1));
  expect([...counts].map(([part, found]) => [part, found.length])).toEqual([
    ["A", 58],
    ["B", 44],
    ["C", 78],
    ["D", 78],
    ["E", 48],
    ["F", 14],
  ]);
});

test("every row has a test, or a reason why it waits", () => {
  expect(rows.map(({ id }) => id).filter((id) => !proven.has(id) && !WAITING.has(id))).toEqual([]);
});

test("no test proves a row that there is not", () => {
  const known = new Set(rows.map(({ id }) => id));
  expect([...proven].filter((id) => !known.has(id))).toEqual([]);
});

test("a test proves rows by its title; comments, groups and tests that are left out prove none", () => {
  const row = "[A24 B27]";
  const titlesIn = (text: string) => proofsIn("a.test.ts", text).map(({ title, rows: of }) => [title, ...of]);
  for (const text of [`test("t ${row}", () => {`, `test.each([1])("t ${row}"`, `test.skipIf(no)(\n  "t ${row}",`]) {
    expect(titlesIn(text)).toEqual([["t", "A24", "B27"]]);
  }
  for (const text of [`/** \`"t ${row}"\` */`, `// "t ${row}"`, `describe("t ${row}", () => {`]) {
    expect(titlesIn(text)).toEqual([]);
  }
  for (const text of [`test.skip("t ${row}"`, `test.todo("t ${row}")`, `test.fails("t ${row}"`]) {
    expect(titlesIn(text)).toEqual([]);
  }
});

test("what proves a row runs: it is in a test file, or in one that a test file beside it imports", () => {
  const isRun = (file: string): boolean => {
    if (file.endsWith(".test.ts")) return true;
    const folder = dirname(join(TESTS, file));
    return readdirSync(folder).some(
      (name) => name.endsWith(".test.ts") && readFileSync(join(folder, name), "utf8").includes(`"./${basename(file)}"`),
    );
  };
  expect(new Set(proofs.map(({ file }) => file).filter((file) => !isRun(file)))).toEqual(new Set());
});

test("a row of the checklist has one requirement, and a row of a conflict a resolution too", () => {
  expect(rowsOfChecklist("| ID | Requirement |\n|---|---|\n| A01 | One thing |\n| F2 | a vs b | Take a |\n")).toEqual([
    { id: "A01", requirement: "One thing" },
    { id: "F2", requirement: "a vs b — Take a" },
  ]);
});

test.skipIf(!existsSync(CHECKLIST))("the rows are those of GLOVEBOX_DOCUMENTS, except what is mended", () => {
  const asked = rowsOfChecklist(readFileSync(CHECKLIST, "utf8"));
  const same = (list: readonly Row[]) => list.map((row) => (MENDED.has(row.id) ? row.id : row));
  expect(same(rows)).toEqual(same(asked));
  const differ = rows.filter(
    ({ id, requirement }, at) => id === asked[at]?.id && requirement !== asked[at].requirement,
  );
  expect(differ.map(({ id }) => id)).toEqual([...MENDED.keys()]);
});

test("what waits says for what, and is a row", () => {
  const known = new Set(rows.map(({ id }) => id));
  expect([...WAITING].filter(([id, reason]) => !known.has(id) || reason === "")).toEqual([]);
});

test("the table says what the tests say: else run `node test/standard/contracts/suite/write-seeds.ts`", () => {
  expect(readFileSync(SEEDS, "utf8")).toBe(writeSeeds(proofs));
});
