import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { findProofs, proofsIn, readRows, SEEDS, writeSeeds } from "./seeds.ts";
import { WAITING } from "./waiting.ts";

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

test("what waits says for what, and is a row", () => {
  const known = new Set(rows.map(({ id }) => id));
  expect([...WAITING].filter(([id, reason]) => !known.has(id) || reason === "")).toEqual([]);
});

test("the table says what the tests say: else run `node test/tool/contracts/suite/write-seeds.ts`", () => {
  expect(readFileSync(SEEDS, "utf8")).toBe(writeSeeds(proofs));
});
