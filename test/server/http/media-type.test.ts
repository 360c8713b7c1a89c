import fc from "fast-check";
import { expect, test } from "vitest";
import { chooseType } from "../../../src/server/http/media-type.ts";

const OFFERED = ["application/json", "text/event-stream"] as const;
const [JSON_TYPE, STREAM] = OFFERED;

test.each([
  [undefined, JSON_TYPE],
  ["", JSON_TYPE],
  ["*/*", JSON_TYPE],
  ["application/*", JSON_TYPE],
  ["text/*", STREAM],
  ["text/event-stream", STREAM],
  ["TEXT/Event-Stream", STREAM],
  ["application/json, text/event-stream", JSON_TYPE],
  ["text/event-stream, application/json", JSON_TYPE],
  ["text/event-stream, */*", STREAM],
  ["application/json;q=0.5, text/event-stream;q=0.6", STREAM],
  ["text/event-stream;q=0.1, */*", JSON_TYPE],
  ["*/*, application/json;q=0", STREAM],
  ["application/json;q=0", null],
  ["application/json; charset=utf-8; q=0.9, text/event-stream ;q=1.000", STREAM],
  ['a/b;x="text/event-stream,application/json", text/event-stream;q=0.2', STREAM],
  ["text/html", null],
  ["*/json", null],
  ["json", null],
  ["text/event-stream;q=2", STREAM],
  ["application/json;q=0.001, text/html", JSON_TYPE],
])("of %j it is %j", (accept, expected) => {
  expect(chooseType(accept, OFFERED)).toBe(expected);
});

test("a type that is wanted more is chosen, in whatever order they are named", () => {
  const quality = fc.integer({ min: 0, max: 1_000 });
  fc.assert(
    fc.property(quality, quality, fc.boolean(), (json, stream, isTurned) => {
      const named = [`${JSON_TYPE};q=${json / 1_000}`, `${STREAM};q=${stream / 1_000}`];
      const chosen = chooseType((isTurned ? named.toReversed() : named).join(", "), OFFERED);
      const expected = json === 0 && stream === 0 ? null : stream > json ? STREAM : JSON_TYPE;
      expect(chosen).toBe(expected);
    }),
  );
});

test("no header is too odd to be read", () => {
  const piece = fc.constantFrom(
    "text",
    "/",
    "*",
    ",",
    ";",
    "q=",
    "0.5",
    '"',
    "\\",
    " ",
    "event-stream",
    "application/json",
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 200 }), (pieces) => {
      expect([...OFFERED, null]).toContain(chooseType(pieces.join(""), OFFERED));
    }),
  );
});
