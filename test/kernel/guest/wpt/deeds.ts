import { type Case, expectArea } from "./area.ts";

/** An expression, or a block that returns, and what it gives; `throws NAME` for an exception. */
export type Deed = readonly [expression: string, value: unknown];

/** Runs an area whose cases are code. */
export async function expectDeeds(area: string, deeds: readonly Deed[], knownFailures: readonly string[] = []) {
  const cases = deeds.map(([name, expected], input): Case => ({ name, input, expected }));
  const bodies = deeds.map(([text]) => (text.startsWith("{ ") ? `async () => ${text}` : `async () => (${text})`));
  await expectArea(area, `(index) => [${bodies.join(",\n")}][index]()`, cases, knownFailures);
}
