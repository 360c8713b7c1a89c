import { expect, test } from "vitest";
import { exampleNames, runExample } from "./run-example.ts";

/**
 * Two need Redis or a package index: `examples.fleet.test.ts` and `examples.python.test.ts`. Next bundles no links, and
 * Bun is installed with its example: `installed.slow.test.ts` runs all with the packed package.
 */
const ELSEWHERE = ["fleet", "python-wheels", "next", "hono-bun"];

test.each(exampleNames(ELSEWHERE))("the example %s prints what its README says", async (name) => {
  const { expected, printed } = await runExample(name);
  expect(printed).toBe(expected);
});
