import { describe, expect, test } from "vitest";
import { hasViolations, readProgress, readViolations } from "../../../../src/kernel/base/protocol/payload.ts";
import { ProtocolError } from "../../../../src/kernel/base/protocol/wire.ts";

describe("progress that a worker sends", () => {
  test("is read with what there is of it", () => {
    expect(readProgress("[1,null,null]")).toEqual({ progress: 1 });
    expect(readProgress('[0.5,2,"on"]')).toEqual({ progress: 0.5, total: 2, message: "on" });
  });

  test.each([
    "",
    "null",
    "{}",
    "[]",
    '["1",null,null]',
    "[null,null,null]",
    "[1]",
    "[1e999,null,null]",
    '[1,"2",null]',
    "[1,null,7]",
    `[1,null,"${"x".repeat(1_001)}"]`,
  ])("is refused where it is malformed: %s", (payload) => {
    expect(() => readProgress(payload)).toThrow(ProtocolError);
  });
});

describe("violations", () => {
  const violation = (length: number) => {
    const text = "x".repeat(length);
    return { pointer: text, keyword: text, expected: text, received: text, message: text };
  };

  test("of a worker are 20 at most, with texts of 1,024 characters, and 32 Ki in all", () => {
    expect(hasViolations({ violations: Array(20).fill(violation(300)) })).toBe(true);
    expect(hasViolations({ violations: [violation(1_024)] })).toBe(true);
    for (const violations of [Array(21).fill(violation(1)), [violation(1_025)], Array(20).fill(violation(400)), 1]) {
      expect(hasViolations({ violations })).toBe(false);
    }
  });

  test("of an isolate are cut to that", () => {
    const read = readViolations(Array(30).fill(violation(5_000)), String);
    expect(read).toHaveLength(6);
    expect(hasViolations({ violations: read })).toBe(true);
    expect(readViolations("a", String)).toBeUndefined();
  });
});
