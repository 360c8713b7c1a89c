import { expect, test } from "vitest";
import { seen, visibleJson } from "../../../src/kernel/base/json.ts";
import { seen as seenOnPage } from "../../../src/server/console/page/format.ts";

/** Overrides, isolates, zero widths, fillers, selectors of variants, tags, controls, halves of pairs, ends of lines. */
const UNSEEN = ["202e", "2066", "200b", "ad", "34f", "3164", "fe0f", "e0041", "e0102", "85", "0", "d800", "2028"];

test.for(UNSEEN)("what nobody sees is shown by its number: %s", (hex) => {
  const text = `a${String.fromCodePoint(Number.parseInt(hex, 16))}b`;
  expect(seen(text)).toMatch(/^a(?:\\u[0-9a-f]{4})+b$/);
  expect(seenOnPage(text)).toBe(seen(text));
  // JSON keeps its meaning.
  for (const json of [seenOnPage(JSON.stringify(text)), visibleJson(text)]) {
    expect(json).toMatch(/^[ -~]+$/);
    expect(JSON.parse(json)).toBe(text);
  }
});

test("what lays out a text, and what has a glyph, stays", () => {
  const text = "a b\n\t\u00e4 \u65e5\u{1f600}";
  expect([seen(text), seenOnPage(text)]).toEqual([text, text]);
});
