import fc from "fast-check";
import { expect, test } from "vitest";
import { readEvents, type StreamEvent } from "../../../src/server/console/page/event-stream.ts";

async function readAll(chunks: Iterable<Uint8Array>): Promise<StreamEvent[]> {
  const events: StreamEvent[] = [];
  for await (const event of readEvents(ReadableStream.from(chunks) as ReadableStream<Uint8Array>)) events.push(event);
  return events;
}

test("events are read however they are cut, whichever way their lines end", async () => {
  const event = fc.record({
    event: fc.constantFrom("log", "result", "message"),
    data: fc.string({ unit: "grapheme", maxLength: 20 }).map((text) => JSON.stringify({ text })),
  });
  const cuts = fc.array(fc.nat({ max: 1_000 }), { maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(
      fc.array(event, { maxLength: 5 }),
      cuts,
      fc.constantFrom("\n", "\r\n"),
      async (events, places, end) => {
        const text = events
          .map((one) => `:${end}${end}event: ${one.event}${end}data: ${one.data}${end}${end}`)
          .join("");
        const bytes = new TextEncoder().encode(text);
        const at = [0, ...places.map((place) => place % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length];
        const chunks = at.slice(1).map((to, index) => bytes.slice(at[index], to));
        expect(await readAll(chunks)).toEqual(events);
      },
    ),
    { numRuns: 200 },
  );
});

test("data of several lines is one text, and what has no end is no event", async () => {
  const text = "data: a\ndata:b\nid: 4\n\nevent: x\ndata: lost";
  expect(await readAll([new TextEncoder().encode(text)])).toEqual([{ event: "message", data: "a\nb" }]);
});
