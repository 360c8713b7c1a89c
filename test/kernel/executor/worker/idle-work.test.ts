import { syncBuiltinESMExports } from "node:module";
import v8 from "node:v8";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { collectGarbage, GarbageCollector, Preparation } from "../../../../src/kernel/executor/worker/idle-work.ts";
import type { Isolates } from "../../../../src/kernel/executor/worker/isolates.ts";

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
let preparation: InstanceType<typeof Preparation>;
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

  test("a call is expected for a while after an inspection", () => {
    preparation.begin(true);
    vi.advanceTimersByTime(499);
    expect(preparation.expectsCall).toBe(true);
    vi.advanceTimersByTime(1);
    expect(preparation.expectsCall).toBe(false);
  });
});

describe("collecting garbage", () => {
  const heap = { outsideMb: 0, collections: 0 };
  const real = v8.getHeapStatistics();
  beforeEach(() => {
    heap.collections = 0;
    vi.spyOn(v8, "getHeapStatistics").mockImplementation(() => {
      return { ...real, external_memory: heap.outsideMb * 1024 * 1024 };
    });
    vi.spyOn(v8, "queryObjects").mockImplementation(() => {
      heap.collections++;
      return [];
    });
    syncBuiltinESMExports();
  });
  // Modules of a process share Node's functions: other files have the real ones again.
  afterEach(() => {
    vi.restoreAllMocks();
    syncBuiltinESMExports();
  });

  test("memory outside the heap is collected when it has doubled", () => {
    const garbage = new GarbageCollector();
    for (const [mb, times] of [
      [8, 0],
      [20, 1],
      [40, 1],
      [41, 2],
    ] as const) {
      heap.outsideMb = mb;
      garbage.collect(false);
      expect(heap.collections).toBe(times);
    }
  });

  test("it is put off for an expected call, but not for ever", () => {
    const garbage = new GarbageCollector();
    heap.outsideMb = 20;
    for (let look = 0; look < 4; look++) garbage.collect(true);
    expect(heap.collections).toBe(0);
    garbage.collect(true);
    expect(heap.collections).toBe(1);
  });
});

test("what collects garbage prints no warning into an embedder's stderr, as Node 24 would", () => {
  const { queryObjects } = v8;
  const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
  const warn = (): number => {
    process.emitWarning("v8.queryObjects() is an experimental feature", "ExperimentalWarning");
    return 0;
  };
  Object.assign(v8, { queryObjects: warn });
  syncBuiltinESMExports();
  try {
    collectGarbage();
    expect(warned).not.toHaveBeenCalled();
    process.emitWarning("another one");
    expect(warned).toHaveBeenCalledOnce();
  } finally {
    Object.assign(v8, { queryObjects });
    syncBuiltinESMExports();
  }
});
