import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "./linked-folder.ts";
import { runExample } from "./run-example.ts";

const EXAMPLES = join(ROOT, "examples");
/** Run by `examples.python.test.ts` and `examples.fleet.test.ts`. */
const ELSEWHERE = ["python-tools", "fleet"];
const LINES_MAX = 80;

const names = readdirSync(EXAMPLES, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

test.each(names.filter((name) => !ELSEWHERE.includes(name)))(
  "the example %s prints what its README says",
  async (name) => {
    const { expected, printed } = await runExample(name);
    expect(printed).toBe(expected);
  },
  90_000,
);

test("the list of examples names each of them", () => {
  const list = readFileSync(join(EXAMPLES, "README.md"), "utf8");
  expect(names.filter((name) => !list.includes(`(${name}/README.md)`))).toEqual([]);
});

test.each(names)("the example %s is short", (name) => {
  const files = readdirSync(join(EXAMPLES, name), { recursive: true, encoding: "utf8" });
  const code = files.filter((file) => /\.(?:ts|py)$/.test(file) && !file.includes("node_modules"));
  const lines = code.flatMap((file) => readFileSync(join(EXAMPLES, name, file), "utf8").split("\n"));
  expect(lines.filter((line) => line.trim() !== "").length).toBeLessThanOrEqual(LINES_MAX);
});
