import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Preparation } from "../../../src/executor/worker/idle-work.ts";
import type { Isolates } from "../../../src/executor/worker/isolates.ts";

/** Isolates of which so many are wanted. */
class WantedIsolates {
  isNextWanting = false;
  left = 2;

  get isWanting(): boolean {
    return this.left > 0;
  }

  refill(): void {
    if (this.isNextWanting) this.isNextWanting = false;
    else this.left--;
  }
}

let isolates: WantedIsolates;
let preparation: Preparation;
beforeEach(() => {
  vi.useFakeTimers();
  isolates = new WantedIsolates();
  preparation = new Preparation(isolates as unknown as Isolates, () => {});
});
afterEach(() => {
  preparation.stop();
  vi.useRealTimers();
});

describe("preparing isolates", () => {
  test("a worker prepares one after the other once no message has come for a while", () => {
    preparation.begin(false);
    expect(isolates.left).toBe(2);
    vi.advanceTimersByTime(5);
    expect(isolates.left).toBe(1);
    vi.advanceTimersByTime(5);
    expect(isolates.left).toBe(0);
    expect(preparation.isPending).toBe(false);
  });

  test("each message postpones it", () => {
    for (let message = 0; message < 10; message++) {
      preparation.begin(false);
      vi.advanceTimersByTime(4);
    }
    expect(isolates.left).toBe(2);
  });

  test("messages without a pause do not postpone it for ever", () => {
    for (let message = 0; message < 200; message++) {
      preparation.begin(false);
      vi.advanceTimersByTime(1);
    }
    expect(isolates.left).toBeLessThan(2);
  });

  test("it waits longer for the first call of a tool that was inspected", () => {
    preparation.begin(true);
    vi.advanceTimersByTime(20);
    expect(isolates.left).toBe(2);
    vi.advanceTimersByTime(5);
    expect(isolates.left).toBe(1);
  });

  test("the realm of the next call is prepared at once", () => {
    isolates.isNextWanting = true;
    preparation.begin(false);
    vi.advanceTimersByTime(0);
    expect(isolates.isNextWanting).toBe(false);
    expect(isolates.left).toBe(2);
  });
});
