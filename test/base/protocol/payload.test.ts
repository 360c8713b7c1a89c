import { describe, expect, test } from "vitest";
import { readProgress } from "../../../src/base/protocol/payload.ts";
import { ProtocolError } from "../../../src/base/protocol/wire.ts";

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
