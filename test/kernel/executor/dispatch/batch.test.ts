import { describe, expect, test } from "vitest";
import { DEFAULT_LIMITS } from "../../../../src/kernel/base/limits.ts";
import { Batch } from "../../../../src/kernel/executor/dispatch/batch.ts";
import type { LocalCall } from "../../../../src/kernel/executor/dispatch/local-call.ts";
import { ToolQueue } from "../../../../src/kernel/executor/dispatch/tool-queue.ts";
import { TurnTimeEstimate } from "../../../../src/kernel/executor/dispatch/turn-time-estimate.ts";
import { script } from "../jobs.ts";

const SOURCE = new ToolQueue(script("() => 1"), "acme", new TurnTimeEstimate());
const CHILDREN = { tickets: "3 4" };

/** A call with what the worker is told of it. */
function call(job: object = {}, attempts = 1): LocalCall {
  const what = { callId: "id", args: "{}", limits: DEFAULT_LIMITS, stream: false, ...job };
  return {
    callNumber: 7,
    nowMs: 1_000,
    starts: attempts,
    attempts,
    ownIsolate: false,
    job: what,
  } as unknown as LocalCall;
}

const messageOf = (...calls: readonly LocalCall[]) => new Batch(SOURCE, calls).message();

describe("the message of a batch", () => {
  test("has the tickets of child calls at the first attempt of a call, and never with what it had before", () => {
    expect(messageOf(call({ children: CHILDREN }))?.tickets).toBe("3 4");
    // It may have been lost by the fault of a child call, which is the host's then.
    expect(messageOf(call({ children: CHILDREN }, 2))?.tickets).toBe("");
    expect(messageOf(call({ children: CHILDREN, replay: { plan: () => "{}" } }))?.tickets).toBe("");
    expect(messageOf(call())?.tickets).toBe("");
  });

  test("has what a call had before where the call is alone", () => {
    const again = call({ replay: { plan: () => "{}" } });
    expect([messageOf(again)?.plan, messageOf(again, call())?.plan]).toEqual(["{}", ""]);
  });

  test("has each call with its time, operation and seed, and says whether an integer is long", () => {
    const long = call({ args: '{"id":1915883588174806058}', command: "look", replay: { seed: "s" } });
    const message = messageOf(call(), long);
    const { outputBytes } = DEFAULT_LIMITS;
    expect(message).toMatchObject({ runs: "7,7", hasLongIntegers: true, terms: { tenant: "acme" } });
    expect(message?.calls).toBe(
      `[[7,"id",1000,${outputBytes},{}],[7,"id",1000,${outputBytes},{"id":1915883588174806058},"look","s"]]`,
    );
    expect(messageOf(call())?.hasLongIntegers).toBe(false);
  });

  test("shares its terms with the one before as long as they are the same, which is seen by the limits' identity", () => {
    const termsOf = (...given: Parameters<typeof call>) => messageOf(call(...given))?.terms;
    const terms = termsOf();
    expect(termsOf()).toBe(terms);
    const others = [
      { stream: true },
      { asksHost: true },
      { tellsTurns: true },
      { limits: { ...DEFAULT_LIMITS, cpuMs: 7 } },
    ];
    for (const other of others) expect(termsOf(other)).toMatchObject(other.limits === undefined ? other : { cpuMs: 7 });
    expect(termsOf()).toEqual(terms);
  });

  test("of no calls is not sent", () => {
    expect(messageOf()).toBeNull();
  });
});
