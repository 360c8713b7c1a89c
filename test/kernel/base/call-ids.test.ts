import { expect, test } from "vitest";
import { CallIds } from "../../../src/kernel/base/call-ids.ts";

test("no call id begins as an option of a command line does", () => {
  const ids = Array.from({ length: 5_000 }, () => new CallIds().next());
  expect(ids.filter((id) => id.startsWith("-"))).toEqual([]);
});
