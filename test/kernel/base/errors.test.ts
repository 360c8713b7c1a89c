import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { DEFAULT_LIMITS, ERRORS, MAX_LIMITS } from "../../../src/glovebox/index.ts";

const read = (name: string) => readFileSync(new URL(`../../../docs/reference/${name}`, import.meta.url), "utf8");

/** The cells of a table's rows, without its head. */
function rows(table: string): string[][] {
  return table
    .split("\n")
    .filter((line) => line.startsWith("|"))
    .slice(2)
    .map((line) =>
      line
        .slice(1, -1)
        .split("|")
        .map((cell) => cell.trim()),
    );
}

test("the page of errors has the table of errors", () => {
  const shown = rows(read("errors/index.md"));
  const known = Object.entries(ERRORS).map(([code, { http, retryable, blame, advice }]) => {
    return [`[\`${code}\`](${code}.md)`, `${http}`, retryable ? "yes" : "no", blame, advice];
  });
  expect(shown).toEqual(known);
});

test("the page of limits has the table of limits", () => {
  const shown = rows(read("limits.md")).map(([name, normal, most]) => [name, normal, most]);
  const known = Object.entries(DEFAULT_LIMITS).map(([name, normal]) => {
    return [`\`${name}\``, `${normal}`, `${MAX_LIMITS[name as keyof typeof MAX_LIMITS]}`];
  });
  expect(shown).toEqual(known);
});
