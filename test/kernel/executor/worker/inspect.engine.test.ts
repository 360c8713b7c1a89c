import { describe, expect, test } from "vitest";
import { createEngine, type Isolation } from "../../../../src/glovebox/index.ts";

/** Loads a module and calls it once. */
async function outcomeOf(source: string, isolation?: Isolation) {
  await using engine = await createEngine({ executor: "threads", workers: 1 });
  const own = isolation === undefined ? {} : { isolation };
  await engine.register({ name: "loaded", description: "A module.", source, ...own });
  const result = await engine.execute({ name: "loaded", arguments: {} });
  return { output: result.output, logs: result.metadata.logs.map(({ message }) => message) };
}

describe("A module that loads in no realm", () => {
  const source = "Array.prototype.own = 1; new undefined.Missing(); export default () => 1;";

  test.each([undefined, "context"] as const)(
    "fails with the reason of the open one, at the level %s",
    async (level) => {
      await expect(outcomeOf(source, level)).rejects.toThrow(/cannot be evaluated: .*reading 'Missing'/);
    },
  );
});
