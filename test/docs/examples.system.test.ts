import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "./linked-folder.ts";
import { runExample } from "./run-example.ts";

/**
 * Two need Redis or a package index: `examples.fleet.test.ts` and `examples.python.test.ts`. Next bundles no links, and
 * Bun is installed with its example: `examples.slow.test.ts` runs all with the packed package.
 */
const ELSEWHERE = ["fleet", "python-wheels", "next", "hono-bun"];

const names = readdirSync(join(ROOT, "examples"), { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && !ELSEWHERE.includes(entry.name))
  .map(({ name }) => name);

test.each(names)(
  "the example %s prints what its README says",
  async (name) => {
    const { expected, printed } = await runExample(name);
    expect(printed).toBe(expected);
  },
  90_000,
);
