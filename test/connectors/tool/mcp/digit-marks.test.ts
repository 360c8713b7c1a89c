import fc from "fast-check";
import { expect, test } from "vitest";
import { parseWithBigInts } from "../../../../src/kernel/base/exact-json.ts";
import { DigitMarks } from "../../../../src/connectors/tool/mcp/digit-marks.ts";

const ID = 1915883588174806058n;

async function throughLibrary(text: string, cuts: readonly number[], isStream: boolean): Promise<string> {
  const marks = new DigitMarks();
  const bytes = Buffer.from(text);
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].toSorted((a, b) => a - b);
  const parts = [0, ...places].map((from, at) => bytes.subarray(from, places[at] ?? bytes.length));
  const read: Uint8Array[] = [];
  async function* chunks() {
    yield* parts;
  }
  for await (const part of marks.markBody(chunks(), isStream)) read.push(part);
  const marked = Buffer.concat(read).toString();
  if (!isStream) return marks.unmark(JSON.stringify(JSON.parse(marked)));
  const lines = marked.split("\n").map((line) => {
    return line.startsWith("data:") ? `data:${marks.unmark(JSON.stringify(JSON.parse(line.slice(5))))}` : line;
  });
  return lines.join("\n");
}

const message = fc
  .tuple(fc.string({ unit: "binary" }), fc.array(fc.bigInt({ min: -(2n ** 100n), max: 2n ** 100n })))
  .map(([text, ids]) => `{"text":${JSON.stringify(text)},"ids":[${ids.join(",")}]}`);

test("a body keeps its long integers through a library that parses it, wherever it is cut", async () => {
  await fc.assert(
    fc.asyncProperty(message, fc.array(fc.nat()), async (json, cuts) => {
      expect(parseWithBigInts(await throughLibrary(json, cuts, false))).toEqual(parseWithBigInts(json));
    }),
  );
});

test("a stream of events keeps those of its data, and is otherwise as it was", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(message), fc.array(fc.nat()), async (all, cuts) => {
      const text = all.map((json, at) => `id: ${ID + BigInt(at)}\nevent: message\ndata:${json}\n\n`).join("");
      const read = await throughLibrary(text, cuts, true);
      const normal = (events: string) =>
        events.replaceAll(/^data:(.*)$/gm, (_all, json: string) => String(parseJson(json)));
      expect(normal(read)).toBe(normal(text));
    }),
  );
});

function parseJson(json: string): unknown {
  return new DigitMarks().mark(json).replaceAll(/\\u0001[0-9a-f]+:/g, "");
}

test("no text of a server is taken for a mark", () => {
  const marks = new DigitMarks();
  const text = JSON.stringify({ a: `\u0001${"0".repeat(16)}:${ID}` });
  expect(marks.unmark(JSON.stringify(JSON.parse(marks.mark(text))))).toBe(text);
});
