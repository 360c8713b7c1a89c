import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { DEFAULT_LIMITS, ERRORS, MAX_LIMITS } from "../../src/index.ts";

const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");

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

const between = (start: string, end: string) => readme.split(start)[1]?.split(end)[0] ?? "";

test("the README's table of errors is the table of errors", () => {
  const shown = rows(between("<!-- errors", "<!-- /errors -->"));
  const known = Object.entries(ERRORS).map(([code, { http, retryable, blame, advice }]) => {
    return [`\`${code}\``, `${http}`, retryable ? "yes" : "no", blame, advice];
  });
  expect(shown).toEqual(known);
});

test("the README's table of limits is the table of limits", () => {
  const shown = rows(between("## Limits", "`queue` bounds the rest")).map(([name, normal, most]) => [
    name,
    normal,
    most,
  ]);
  const known = Object.entries(DEFAULT_LIMITS).map(([name, normal]) => {
    return [`\`${name}\``, `${normal}`, `${MAX_LIMITS[name as keyof typeof MAX_LIMITS]}`];
  });
  expect(shown).toEqual(known);
});
