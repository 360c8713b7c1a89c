import { describe, expect, test } from "vitest";
import { StoreError } from "../../../../src/kernel/base/errors.ts";
import { storePause, takeSurely } from "../../../../src/kernel/engine/durable/durable-steps.ts";
import type { DurableAnswer, DurableStep } from "../../../../src/kernel/store/calls/durable/durable-step.ts";

/* What becomes of a call that pauses where its store is late, or does not answer. */

const CALL = { id: "c_1", leg: 0, made: null, runs: "{}", plan: "", journal: "{}", waits: [], wakeMs: null };
const LATE = new StoreError("the store is busy", { isUnanswered: true });
const FULL = new StoreError("the disk is full");

function store(...answers: readonly (DurableAnswer | Error)[]) {
  const steps: DurableStep["kind"][] = [];
  const take = async (step: DurableStep): Promise<DurableAnswer> => {
    const answer = answers[Math.min(steps.length, answers.length - 1)];
    steps.push(step.kind);
    if (answer === undefined || answer instanceof Error) throw answer ?? LATE;
    return answer;
  };
  return { steps, take };
}

describe("a call that pauses", () => {
  test("is stored where the answer was late: the store is asked again, and answers the same", async () => {
    const { take, steps } = store(LATE, { kind: "done", call: null });
    expect(await storePause(take, CALL, 1)).toEqual({ kind: "stored" });
    expect(steps).toEqual(["pause", "pause"]);
  });

  test("goes on with a failure where the store has said that it is not stored", async () => {
    const { take, steps } = store(FULL);
    expect(await storePause(take, CALL, 1)).toEqual({
      kind: "refused",
      code: "store_failed",
      message: "the disk is full",
    });
    expect(steps).toEqual(["pause"]);
  });

  test("is not known to be stored where the store never answers, whatever it fails with then", async () => {
    const { take } = store(LATE, FULL);
    expect(await storePause(take, CALL, 1)).toEqual({
      kind: "unknown",
      message: "the store did not answer: the call may be kept as c_1",
    });
  });
});

test("a step that has to be taken is taken again until it is", async () => {
  const { take, steps } = store(LATE, FULL, { kind: "done", call: null });
  await takeSurely(take, { kind: "see", holder: "a", nowMs: 1 });
  expect(steps).toHaveLength(3);
});
