import fc from "fast-check";
import { expect, test } from "vitest";
import { LINES_PER_MESSAGE_MAX } from "../../../../src/kernel/base/protocol/messages.ts";
import { LineMemory } from "../../../../src/kernel/executor/worker/line-memory.ts";
import { LINES_CHARACTERS_AT, LINES_LENGTH_MAX, LINES_MAX, LINES_NUMBERS } from "../../../../src/kernel/guest/host.ts";
import { LineWriter } from "../../../../src/kernel/guest/line-writer.ts";

/** Both ends of a line memory: `handed` has what was taken each time the writer asked for it. */
function openLines({ isHeard = false } = {}) {
  const memory = new SharedArrayBuffer(LINES_CHARACTERS_AT + LINES_LENGTH_MAX);
  const reader = new LineMemory(memory);
  reader.isHeard = isHeard;
  const clock = { ms: 1 };
  const handed: string[][] = [];
  const take = () => {
    const lines: string[] = [];
    reader.take((run, level, message) => lines.push(`${run} ${level} ${message}`));
    return lines;
  };
  const emit = () => handed.push(take());
  return { memory, take, handed, clock, writer: new LineWriter(memory, emit, () => clock.ms) };
}

test("lines are read as they were written, and once", () => {
  const { writer, take } = openLines();
  const longest = "x".repeat(511);
  const lines: [number, string, string][] = [
    [1, "log", "one"],
    [2 ** 40, "error", ""],
    [1, "debug", "caf\u00e9\n\0"],
    [3, "warn", longest],
  ];
  for (const line of lines) expect(writer.write(...line)).toBe(true);
  expect(take()).toEqual(lines.map((line) => line.join(" ")));
  expect(take()).toEqual([]);
});

test("a full memory fits one message to the host", () => {
  expect(LINES_MAX).toBeLessThanOrEqual(LINES_PER_MESSAGE_MAX);
});

test("lines that nobody hears gather until their number or their length is too large", () => {
  const { writer, take, handed } = openLines();
  for (let nth = 0; nth <= LINES_MAX; nth++) writer.write(1, "log", `${nth}`);
  expect(handed.map(({ length }) => length)).toEqual([LINES_MAX]);
  expect(take()).toEqual([`1 log ${LINES_MAX}`]);
  for (let length = 0; length <= LINES_LENGTH_MAX; length += 500) writer.write(1, "log", "x".repeat(500));
  expect(handed.map(({ length }) => length)).toEqual([LINES_MAX, Math.floor(LINES_LENGTH_MAX / 500)]);
  expect(take()).toHaveLength(1);
});

test("heard lines are handed over one by one until there are many in a millisecond, and all with the next one's first", () => {
  const { writer, handed, clock } = openLines({ isHeard: true });
  for (let nth = 0; nth < 20; nth++) writer.write(1, "log", `${nth}`);
  expect(handed).toEqual(Array.from({ length: 8 }, (_, nth) => [`1 log ${nth}`]));
  clock.ms++;
  writer.write(1, "log", "20");
  expect(handed.at(-1)).toEqual(Array.from({ length: 13 }, (_, nth) => `1 log ${nth + 8}`));
});

test.each([
  ["a wide character", "log", "abc\u2713"],
  ["a length that takes long", "log", "x".repeat(512)],
  ["a level of its own", "notice", "abc"],
])("a line with %s is not written, nor any of it", (_what, level, message) => {
  const { writer, take } = openLines();
  writer.write(1, "log", "before");
  expect(writer.write(1, level, message)).toBe(false);
  writer.write(1, "log", "after");
  expect(take()).toEqual(["1 log before", "1 log after"]);
});

test("whatever a tool writes into the memory is read within its bounds", () => {
  const number = fc.oneof(fc.double(), fc.constantFrom(0, 1, LINES_MAX, 1e9, -1, 0.5, LINES_LENGTH_MAX, 2 ** 53));
  fc.assert(
    fc.property(fc.array(number, { minLength: LINES_NUMBERS, maxLength: LINES_NUMBERS }), (numbers) => {
      const { memory, take } = openLines();
      new Float64Array(memory, 0, LINES_NUMBERS).set(numbers);
      const lines = take();
      expect(lines.length).toBeLessThanOrEqual(LINES_MAX);
      for (const line of lines) expect(line.length).toBeLessThan(LINES_LENGTH_MAX + 50);
      expect(take()).toEqual([]);
    }),
    { numRuns: 200 },
  );
});
