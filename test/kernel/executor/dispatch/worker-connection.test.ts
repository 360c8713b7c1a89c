import { expect, test } from "vitest";
import { DEFAULT_LIMITS } from "../../../../src/kernel/base/limits.ts";
import { dispatch, job, nextTurn, TOOL } from "./workers.ts";

const MIB = 1024 * 1024;

test.each([
  [DEFAULT_LIMITS.outputBytes, ["ProtocolError"]],
  [64 * MIB, []],
])("a worker may send as long a line as its calls need: with outputs of %d bytes", async (outputBytes, expected) => {
  const { dispatcher, broken, say } = dispatch();
  dispatcher.run({ ...job(1, TOOL), limits: { ...DEFAULT_LIMITS, outputBytes } });
  await nextTurn();
  const piece = "x".repeat(MIB);
  for (let at = 0; at < 40 && broken.length === 0; at++) say(piece);
  expect(broken).toEqual(expected);
  dispatcher.close("engine_closed", "the test is over");
});
