import { isDeepStrictEqual } from "node:util";
import { expect } from "vitest";
import { openRealm } from "../in-realm.ts";

/** A case of a table: its name, what the tool is given, and what it has to answer. */
export interface Case {
  readonly name: string;
  readonly input: unknown;
  readonly expected: unknown;
}

/** What of an area has to pass, whatever is known to fail. */
const RATE_MIN = 0.95;

/**
 * Runs the cases of an area inside an isolate, in a realm as tools have it. `answer` is the text of a function that
 * answers one case from its input. Prints how many pass. A case that fails and is not known to, or that is known to
 * fail and passes, fails the test.
 */
export async function expectArea(
  area: string,
  answer: string,
  cases: readonly Case[],
  knownFailures: readonly string[] = [],
): Promise<void> {
  const names = cases.map(({ name }) => name);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  const tool = `async (inputs) => {
    const answers = [];
    for (const input of inputs) {
      try { answers.push(JSON.parse(JSON.stringify((await answer(input)) ?? null))); } catch (error) { answers.push(\`throws \${error?.name}\`); }
    }
    return answers;
  }`;
  using realm = await openRealm(tool, { before: `const answer = ${answer};` });
  const answers = realm.call(cases.map(({ input }) => input)) as unknown[];
  const failed = cases.filter(({ expected }, index) => !isDeepStrictEqual(answers[index], expected));
  const passed = cases.length - failed.length;
  const percent = ((100 * passed) / cases.length).toFixed(1);
  process.stdout.write(`${area}: ${passed} of ${cases.length} (${percent} %)\n`);
  const unexpected = failed.filter(({ name }) => !knownFailures.includes(name));
  const got = (wrong: Case) => ({ ...wrong, answered: answers[cases.indexOf(wrong)] });
  expect(unexpected.map(got)).toEqual([]);
  expect(knownFailures.filter((name) => !failed.some((wrong) => wrong.name === name))).toEqual([]);
  expect(passed / cases.length).toBeGreaterThanOrEqual(RATE_MIN);
}
