import { expect, test } from "vitest";
import { shareTexts, textNamed } from "../../../../src/kernel/base/protocol/shared-texts.ts";

test("texts in shared memory are read by their names, also in a copy for another thread", () => {
  const texts = { first: "a é 語 😀", second: "", third: "b" };
  const shared = structuredClone(shareTexts(texts));
  expect(Object.keys(texts).map((name) => textNamed(shared, name))).toEqual(Object.values(texts));
  expect(textNamed(shared, "toString")).toBe("");
});
