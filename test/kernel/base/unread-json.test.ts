import fc from "fast-check";
import { expect, test } from "vitest";
import { mayHaveLongInteger, parseWithDigits } from "../../../src/kernel/base/exact-json.ts";
import {
  emptyMetadata,
  resultText,
  type ToolResult,
  unreadResult,
  withMetadata,
} from "../../../src/kernel/base/result.ts";
import { unreadJson } from "../../../src/kernel/base/unread-json.ts";

const METADATA = emptyMetadata("c1", "tool", 0);

/** A result whose output is text still, and the same one with its value. */
function both(json: string): readonly [unread: ToolResult, plain: ToolResult] {
  return [
    unreadResult({ json, blanks: 0 }, METADATA),
    { success: true, output: parseWithDigits(json), error: null, metadata: METADATA },
  ];
}

/** Texts alone have the digits of long integers. */
const plainJson = fc.json().filter((json) => !mayHaveLongInteger(json));

test("a result whose output is unread is what it would be with its value", () => {
  const reads: readonly ((result: ToolResult) => unknown)[] = [
    (result) => result.output,
    (result) => ({ ...result }),
    (result) => structuredClone(result),
    (result) => JSON.parse(JSON.stringify(result)) as unknown,
    (result) => JSON.parse(resultText(result)) as unknown,
    (result) => Object.entries(result),
    (result) => withMetadata(result, { ...METADATA, isRepeated: true }),
  ];
  fc.assert(
    fc.property(plainJson, fc.constantFrom(...reads), (json, read) => {
      const [unread, plain] = both(json);
      expect(read(unread)).toEqual(read(plain));
      expect(unread).toEqual(plain);
    }),
  );
});

test("an output that is read once is an ordinary member from then on", () => {
  const [result] = both('{"a":[1]}');
  expect(unreadJson(result)).toEqual({ json: '{"a":[1]}', blanks: 0 });
  expect(result.output).toBe(result.output);
  expect(unreadJson(result)).toBe(undefined);
  expect(Object.getOwnPropertyDescriptor(result, "output")).toMatchObject({ value: { a: [1] }, writable: true });
});

test("an output that somebody replaced or changed is written as it is now", () => {
  const [replaced, changed, extended, frozen] = Array.from({ length: 4 }, () => both('{"a":1}')[0]);
  Object.assign(replaced ?? {}, { output: 2 });
  Object.assign(changed?.output ?? {}, { b: 2 });
  Object.assign(extended ?? {}, { more: 3 });
  expect(JSON.parse(resultText(replaced as ToolResult))).toMatchObject({ output: 2 });
  expect(JSON.parse(resultText(changed as ToolResult))).toMatchObject({ output: { a: 1, b: 2 } });
  expect(JSON.parse(resultText(extended as ToolResult))).toMatchObject({ output: { a: 1 }, more: 3 });
  Object.freeze(frozen);
  expect(frozen?.output).toEqual({ a: 1 });
  expect(frozen?.output).toBe(frozen?.output);
});

test("what is passed on is the very text, until it is read", () => {
  const [result] = both('{ "a" : 1.0 }');
  expect(resultText(result)).toContain('"output":{ "a" : 1.0 },"error":null');
  const copy = withMetadata(result, { ...METADATA, isRepeated: true });
  expect(resultText(copy)).toContain('"output":{ "a" : 1.0 },"error":null');
  void result.output;
  expect(resultText(result)).toContain('"output":{"a":1},"error":null');
});
