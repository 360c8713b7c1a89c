import { expect, test } from "vitest";
import { ByteParts } from "../../../src/kernel/base/byte-parts.ts";

const MIB = 2 ** 20;

test.each([1, 2, 7, 4_096])("bytes in parts of %i are the same in one piece", (size) => {
  const bytes = Uint8Array.from({ length: 100_000 }, (_, at) => (at * 31) % 251);
  const parts = new ByteParts();
  for (let at = 0; at < bytes.length; at += size) parts.push(bytes.subarray(at, at + size));
  expect(parts.length).toBe(bytes.length);
  expect(parts.joined().equals(bytes)).toBe(true);
  parts.push(Uint8Array.of(7));
  expect(parts.take().equals(Buffer.concat([bytes, Uint8Array.of(7)]))).toBe(true);
  expect([parts.length, parts.take().length]).toEqual([0, 0]);
});

test("a mebibyte that comes byte by byte takes a few mebibytes of memory, and not hundreds", () => {
  const before = process.memoryUsage().heapUsed;
  const parts = new ByteParts();
  for (let at = 0; at < MIB; at++) parts.push(Uint8Array.of(1));
  expect((process.memoryUsage().heapUsed - before) / MIB).toBeLessThan(64);
  expect(parts.length).toBe(MIB);
});
