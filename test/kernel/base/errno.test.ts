import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { errnoOf } from "../../../src/kernel/base/errno.ts";

test.each([
  ["of this context", Object.assign(new Error("x"), { code: "ENOENT" }), "ENOENT"],
  // Jest runs tests, and what they import, in a context of their own.
  ["of another context", runInNewContext(`Object.assign(new Error("x"), { code: "ENOENT" })`), "ENOENT"],
  ["without a code", new Error("x"), undefined],
  ["with a number", Object.assign(new Error("x"), { code: 2 }), undefined],
  ["that is a text", "ENOENT", undefined],
  ["null", null, undefined],
])("the system's code of an error %s", (_name, error: unknown, code) => {
  expect(errnoOf(error)).toBe(code);
});
