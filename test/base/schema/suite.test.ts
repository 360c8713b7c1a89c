import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { GloveboxError } from "../../../src/base/errors.ts";
import type { JsonSchema } from "../../../src/base/json.ts";
import { compileChecks } from "../../../src/base/schema/checks.ts";
import { openChecks } from "./run-checks.ts";

type Group = readonly [
  description: string,
  schema: JsonSchema,
  tests: readonly (readonly [description: string, value: unknown, isValid: boolean])[],
];

interface Tally {
  agree: number;
  disagree: number;
  refused: number;
}

/** The check of a schema as a tool's outputSchema; `null` if it is refused. */
function checkOf(schema: JsonSchema): ((value: unknown) => boolean) | null {
  try {
    const { output } = openChecks(compileChecks(true, schema));
    return (value) => output(value) === null;
  } catch (error) {
    if (error instanceof GloveboxError) return null;
    throw error;
  }
}

function tally(draft: string): Tally {
  const counts = { agree: 0, disagree: 0, refused: 0 };
  const lines = readFileSync(new URL(`../../../fixtures/json-schema/${draft}.jsonl`, import.meta.url), "utf8");
  for (const line of lines.trimEnd().split("\n")) {
    const [, schema, tests] = JSON.parse(line) as Group;
    const $schema = `https://json-schema.org/draft/${draft}/schema`;
    const isNamed = typeof schema === "object" && draft !== "draft-07";
    const check = checkOf(isNamed ? { ...schema, $schema } : schema);
    for (const [, value, isValid] of tests) {
      if (check === null) counts.refused++;
      else if (check(value) === isValid) counts.agree++;
      else counts.disagree++;
    }
  }
  return counts;
}

/**
 * Those that are refused need schemas of other documents. Those that disagree are about defaults, which are written
 * first, `format` as an annotation, dynamic references, and what is left unevaluated behind them.
 */
test.each([
  ["draft-07", { agree: 897, disagree: 7, refused: 23 }],
  ["2019-09", { agree: 1_201, disagree: 13, refused: 45 }],
  ["2020-12", { agree: 1_187, disagree: 48, refused: 64 }],
])("the suite of %s agrees with the checks of tools as often as ever", (draft, known) => {
  const counts = tally(draft);
  expect(counts.agree, JSON.stringify(counts)).toBeGreaterThanOrEqual(known.agree);
  expect(counts.disagree, JSON.stringify(counts)).toBeLessThanOrEqual(known.disagree);
  expect(counts.refused, JSON.stringify(counts)).toBeLessThanOrEqual(known.refused);
});
