import { expect, test } from "vitest";
import { runExample } from "./run-example.ts";

test("the example python-tools prints what its README says", async () => {
  const { expected, printed } = await runExample("python-tools");
  expect(printed).toBe(expected);
}, 90_000);
