import { expect, test } from "vitest";
import { LogLines, type SomeLines } from "../../../src/fleet/machine/log-lines.ts";

function listen() {
  const sent: SomeLines[] = [];
  const lines = new LogLines((some) => sent.push(some));
  return { sent, lines };
}

test("lines go as they come, and nobody waits for anything", () => {
  const { sent, lines } = listen();
  lines.add("a");
  lines.add("b");
  expect(sent).toEqual([
    { at: 0, lines: ["a"] },
    { at: 1, lines: ["b"] },
  ]);
});

test("of many lines no more are on their way than the server has asked for, and all come in their order", () => {
  const { sent, lines } = listen();
  const written = Array.from({ length: 100 }, (_, nth) => `${nth}`.padEnd(10_000));
  for (const line of written) lines.add(line);
  expect(sent.flatMap((some) => some.lines)).toEqual(written.slice(0, 7));
  expect(sent.map(({ isFull }) => isFull === true)).toEqual([...Array.from({ length: 6 }, () => false), true]);
  lines.goOn();
  expect(sent.at(-1)).toEqual({ at: 7, lines: written.slice(7, 14), isFull: true });
  while (sent.at(-1)?.isFull) lines.goOn();
  expect(sent.flatMap((some) => some.lines)).toEqual(written);
});

test("a line of any length goes, alone", () => {
  const { sent, lines } = listen();
  const long = "x".repeat(1_000_000);
  for (const line of [long, long]) lines.add(line);
  expect(sent).toEqual([{ at: 0, lines: [long], isFull: true }]);
});

test("what waits can be sent at once", () => {
  const { sent, lines } = listen();
  const long = "x".repeat(100_000);
  for (const line of [long, "a", "b"]) lines.add(line);
  lines.sendRest();
  lines.sendRest();
  expect(sent.slice(1)).toEqual([{ at: 1, lines: ["a", "b"] }]);
});
