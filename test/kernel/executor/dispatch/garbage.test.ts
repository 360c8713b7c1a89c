import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { dispatch, job, nextTurn, TOOL } from "./workers.ts";

/* What collections of new objects miss stays until the next full one: a `Map` of turns kept a fifth of all calls so. */

const CALLS = 3_000;
const ARGS_BYTES = 16 * 1024;

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as (options: { readonly type: "minor" | "major" }) => void;

test("calls that have ended are not held by calls that came after them", async () => {
  const { dispatcher, sent, answer } = dispatch();
  let next = 1;
  const run = (): void => {
    const args = JSON.stringify({ text: String(next).padStart(ARGS_BYTES, "x") });
    dispatcher.run({ ...job(next, TOOL), args });
    next++;
  };
  // Two turns are in flight at all times, as in a server that is busy.
  run();
  await nextTurn();
  // All objects so far move to V8's old space.
  collect({ type: "major" });
  const before = process.memoryUsage().heapUsed;
  for (let ended = 1; ended < CALLS; ended++) {
    run();
    await nextTurn();
    answer(ended, 0.1, "1");
    sent.length = 0;
    if (ended % 50 === 0) collect({ type: "minor" });
  }
  collect({ type: "minor" });
  const grown = process.memoryUsage().heapUsed - before;
  dispatcher.close("engine_closed", "the test is over");
  expect(grown).toBeLessThan((CALLS * ARGS_BYTES) / 16);
});
