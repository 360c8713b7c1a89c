import { expect, test } from "vitest";
import { runExample } from "./run-example.ts";

/** From the sources: `examples.slow.test.ts` runs all of them with the packed package. */
test.each(["approvals", "signals"])(
  "the example %s prints what its README says",
  async (name) => {
    const { expected, printed } = await runExample(name);
    expect(printed).toBe(expected);
  },
  90_000,
);
