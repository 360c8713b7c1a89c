import fc from "fast-check";
import { expect, test } from "vitest";
import { pointerSegment } from "../../../../src/kernel/base/json.ts";
import { pageEnd } from "../../../../src/kernel/base/reading/borders.ts";
import {
  CHUNK,
  type ChunkedText,
  chunkedOf,
  type Pieces,
  unquoted,
} from "../../../../src/kernel/base/reading/chunked-text.ts";
import { cutText } from "../../../../src/kernel/base/reading/cut-text.ts";
import { spanOf } from "../../../../src/kernel/base/reading/pointer-span.ts";
import { find } from "../../../../src/kernel/base/reading/search.ts";

function done<Value>(pieces: Pieces<Value>): Value {
  for (;;) {
    const step = pieces.next();
    if (step.done === true) return step.value;
  }
}

const chunked = (text: string): ChunkedText => done(chunkedOf([text]));
const wholeOf = (text: ChunkedText): string => text.slice(0, text.length);

/** Texts with what is special at borders of chunks. */
const units = fc.array(fc.constantFrom("a", "é", "日", "😀", "\\", '"', "\n", "\u0001", "\ud800"), { maxLength: 40 });
const long = fc
  .tuple(fc.nat({ max: 4 }), units)
  .map(([back, list]) => "x".repeat(CHUNK - back) + list.join("") + "y".repeat(CHUNK));

test("a chunked text has every unit of the text, and reads a JSON string as JSON.parse does", () => {
  fc.assert(
    fc.property(long, (text) => {
      expect(wholeOf(chunked(text)) === text).toBe(true);
      const json = JSON.stringify(text);
      expect(wholeOf(done(unquoted(chunked(json)))) === text).toBe(true);
    }),
    { numRuns: 60 },
  );
});

test("a text of one byte a character takes one byte a character", () => {
  expect(chunked("é".repeat(4 * CHUNK)).bytes).toBe(4 * CHUNK);
  expect(chunked("日".repeat(4 * CHUNK)).bytes).toBe(8 * CHUNK);
});

/** All values in a value, with their pointers. */
function placesIn(value: unknown, pointer: readonly string[] = []): (readonly [readonly string[], unknown])[] {
  const members = typeof value === "object" && value !== null ? Object.entries(value) : [];
  return [[pointer, value], ...members.flatMap(([name, one]) => placesIn(one, [...pointer, name]))];
}

test("a pointer leads to the same value as in the parsed text, however the text is written", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), fc.constantFrom(undefined, 2), (value, indent) => {
      const text = JSON.stringify(value, null, indent);
      const parsed: unknown = JSON.parse(text);
      for (const [names, expected] of placesIn(parsed)) {
        const span = done(spanOf(chunked(text), names));
        if (!("start" in span)) throw new Error(`nothing at ${names.map(pointerSegment).join("")} of ${text}`);
        expect(JSON.parse(text.slice(span.start, span.end))).toEqual(expected);
      }
    }),
  );
});

test("a pointer to nothing says how far it leads", () => {
  const json = chunked('{"rows":[1,2,3],"":{"a/b":null}}');
  expect(done(spanOf(json, ["rows", "3"]))).toEqual({ found: "/rows", kind: "list", count: 3 });
  expect(done(spanOf(json, ["", "a/b", "c"]))).toEqual({ found: "//a~1b", kind: "null", count: 0 });
  expect(done(spanOf(json, ["no"]))).toEqual({ found: "", kind: "object", count: 2 });
});

test("pages end at elements or lines, have no gap, and do not cut characters", () => {
  const rows = Array.from({ length: 3_000 }, (_, id) => ({ id, name: `row ${id} 😀`, tags: [id, id + 1] }));
  const json = JSON.stringify({ rows });
  const pages = pagesOf(json, "json", 1_000);
  expect(pages.join("")).toBe(json);
  // All but the first and the last begin with a row.
  expect(pages.slice(1, -1).every((page) => page.startsWith('{"id":') && page.endsWith("},"))).toBe(true);
  const lines = rows.map(({ name }) => name).join("\n");
  expect(
    pagesOf(lines, "text", 1_000)
      .slice(0, -1)
      .every((page) => page.endsWith("\n")),
  ).toBe(true);
  const emoji = pagesOf("😀".repeat(2_000), "text", 333);
  expect(emoji.every((page) => page.isWellFormed())).toBe(true);
});

function pagesOf(text: string, kind: "text" | "json", chars: number): readonly string[] {
  const given = chunked(text);
  const pages: string[] = [];
  for (let from = 0; from < text.length;) {
    const end = done(pageEnd(given, kind, from, from + chars));
    pages.push(text.slice(from, end));
    from = end;
  }
  return pages;
}

test("a search finds what indexOf finds, also across chunks", () => {
  fc.assert(
    fc.property(fc.nat({ max: 12 }), fc.constantFrom("needle", "é日", "n"), (back, needle) => {
      const text = `${"x".repeat(CHUNK - back)}${needle}${"x".repeat(CHUNK)}${needle}`;
      const { hits, count } = done(find(chunked(text), "text", needle, 0));
      expect([count, hits.map(({ at }) => at)]).toEqual([2, [text.indexOf(needle), text.lastIndexOf(needle)]]);
    }),
  );
});

test("a search in JSON says where it found the text, by pointers", () => {
  const value = { rows: Array.from({ length: 50 }, (_, id) => ({ id, "a/b": `it's "${id}"` })) };
  const { hits, count } = done(find(chunked(JSON.stringify(value)), "json", '"17"', 0));
  expect([count, hits[0]?.pointer]).toEqual([1, "/rows/17/a~1b"]);
  expect(done(find(chunked(JSON.stringify(value)), "json", "it's", 0))).toMatchObject({ count: 50 });
});

test("a cut text has its ends, and its shape", () => {
  const rows = Array.from({ length: 5_000 }, (_, id) => ({ id, tags: Array.from({ length: id % 3 }, () => "x") }));
  const json = JSON.stringify({ total: 5_000, rows, more: null });
  const cut = done(cutText({ kind: "json", text: chunked(json) }, 4_000, 400));
  expect(json.startsWith(cut.head) && json.endsWith(cut.tail)).toBe(true);
  expect(cut.head.length + cut.tail.length).toBeLessThanOrEqual(4_000);
  expect(cut.head.length + cut.tail.length + cut.omitted).toBe(json.length);
  expect(cut.next).toBe(cut.head.length);
  expect(cut.shape).toBe(
    "JSON: { total: number, rows: list of 5000: { id: number, tags: list of 0 to 2: string }, more: null }",
  );
});

test.each([
  ["many names", JSON.stringify(Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`name${at}`, [at]])))],
  ["long names", JSON.stringify({ ["n".repeat(100_000)]: 1, b: 2 })],
  ["deep lists", "[".repeat(900) + "1" + "]".repeat(900) + " ".repeat(10_000)],
  ["one long text", JSON.stringify(["x".repeat(100_000)])],
])("the shape of hostile JSON is short: %s", (_name, json) => {
  const cut = done(cutText({ kind: "json", text: chunked(json) }, 2_000, 300));
  expect(cut.shape.length).toBeLessThan(700);
  expect(cut.head.length + cut.tail.length).toBeLessThanOrEqual(2_000);
});
