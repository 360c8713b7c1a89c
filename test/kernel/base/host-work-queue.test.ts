import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  HostWorkFull,
  HostWorkQueue,
  type Throttling,
  type WorkPayer,
} from "../../../src/kernel/base/host-work-queue.ts";

/** A queue on a clock of its own, whose turns of the event loop are taken by `turn`. */
class World {
  nowMs = 0;
  readonly spentMs = new Map<string, number>();
  readonly throttlings: Throttling[] = [];
  readonly #turns: (() => void)[] = [];
  readonly #timers: { readonly dueMs: number; readonly run: () => void }[] = [];
  readonly queue = new HostWorkQueue({
    now: () => this.nowMs,
    nextTurn: (run) => void this.#turns.push(run),
    later: (run, ms) => void this.#timers.push({ dueMs: this.nowMs + ms, run }),
    onThrottled: (throttling) => void this.throttlings.push(throttling),
  });

  payer(tenant: string): WorkPayer {
    return { tenant, spendMain: (ms) => void this.spentMs.set(tenant, this.spent(tenant) + ms) };
  }

  spent(tenant: string): number {
    return this.spentMs.get(tenant) ?? 0;
  }

  /** Asks for a piece of work that takes `ms`. */
  work(tenant: string, ms: number, done: () => void = () => undefined): unknown {
    return this.queue.run(this.payer(tenant), () => {
      this.nowMs += ms;
      done();
    });
  }

  /** Takes one turn of the event loop; returns the time that it took. */
  turn(): number {
    const startMs = this.nowMs;
    for (const timer of this.#timers.splice(0)) {
      if (timer.dueMs <= this.nowMs) timer.run();
      else this.#timers.push(timer);
    }
    for (const run of this.#turns.splice(0)) run();
    return this.nowMs - startMs;
  }
}

describe("the host's work queue", () => {
  test("runs work at once while nobody waits", () => {
    const world = new World();
    expect(world.queue.run(world.payer("a"), () => 42)).toBe(42);
  });

  test("throws what work throws, at once and in its turn", async () => {
    const world = new World();
    const fail = () => {
      throw new Error("no paper");
    };
    expect(() => world.queue.run(world.payer("a"), fail)).toThrow("no paper");
    world.work("a", 5);
    const later = world.queue.run(world.payer("a"), fail) as Promise<never>;
    world.turn();
    await expect(later).rejects.toThrow("no paper");
  });

  test("does no more than its slice and one piece in a turn of the loop", () => {
    const world = new World();
    for (let count = 0; count < 100; count++) world.work("a", 1);
    for (let count = 0; count < 20; count++) expect(world.turn()).toBeLessThanOrEqual(5);
    expect(world.spent("a")).toBeGreaterThan(70);
  });

  test("lets a second tenant go before what waits of the first", () => {
    const world = new World();
    for (let count = 0; count < 500; count++) world.work("a", 20);
    const askedMs = world.nowMs;
    let doneMs = Number.POSITIVE_INFINITY;
    world.work("b", 1, () => (doneMs = world.nowMs));
    for (let count = 0; count < 5; count++) world.turn();
    expect(doneMs - askedMs).toBeLessThanOrEqual(41);
  });

  test("keeps the order of one tenant's work", () => {
    const world = new World();
    const done: number[] = [];
    for (let count = 0; count < 3_000; count++) world.work("a", 1, () => done.push(count));
    for (let count = 0; count < 3_000; count++) world.turn();
    expect(done).toEqual(Array.from({ length: 3_000 }, (_, at) => at));
  });

  test("gives a tenant that was idle no credit for it", () => {
    const world = new World();
    for (let count = 0; count < 400; count++) world.work("a", 1);
    for (let count = 0; count < 50; count++) world.turn();
    for (let count = 0; count < 100; count++) world.work("b", 1);
    const before = world.spent("a");
    while (world.spent("b") < 20) world.turn();
    expect(world.spent("a") - before).toBeGreaterThanOrEqual(15);
  });

  test("refuses work when ten thousand pieces of a tenant wait, and of no other tenant", () => {
    const world = new World();
    world.work("a", 5);
    for (let count = 0; count < 10_000; count++) world.work("a", 1);
    expect(() => world.work("a", 1)).toThrow(HostWorkFull);
    expect(() => world.work("b", 1)).not.toThrow();
  });

  test("does not delay a tenant that has the host to itself", () => {
    const world = new World();
    for (let count = 0; count < 5_000; count++) world.work("a", 1);
    for (let count = 0; count < 1_300; count++) world.turn();
    expect(world.spent("a")).toBe(5_000);
    expect(world.throttlings).toEqual([]);
  });

  test("holds a tenant to a quarter of the time beyond its burst while another one works, and says so", () => {
    const world = new World();
    for (let count = 0; count < 8_000; count++) world.work("a", 1);
    while (world.nowMs < 10_000) {
      world.work("b", 0.4);
      if (world.turn() === 0) world.nowMs++;
    }
    expect(world.spent("a")).toBeGreaterThan(2_500);
    expect(world.spent("a")).toBeLessThan(3_300);
    expect(world.throttlings[0]).toMatchObject({ tenant: "a" });
    expect(world.throttlings.length).toBeLessThanOrEqual(11);
    expect(world.queue.backlogMs("a")).toBeGreaterThan(15_000);
    expect(world.queue.backlogMs("b")).toBeLessThan(100);
  });

  test("does not hold a busy tenant for the rare pieces of others", () => {
    const world = new World();
    for (let count = 0; count < 5_000; count++) world.work("a", 1);
    for (let count = 0; count < 1_400; count++) {
      if (count % 100 === 0) world.work("b", 0.1);
      world.turn();
    }
    expect(world.spent("a")).toBe(5_000);
    expect(world.throttlings).toEqual([]);
  });

  test("charges noted time, and counts it for the turn", () => {
    const world = new World();
    world.queue.note(world.payer("a"), 5);
    expect(world.spent("a")).toBe(5);
    expect(world.work("b", 1)).toBeInstanceOf(Promise);
  });

  test("charges work within work once", () => {
    const world = new World();
    world.queue.run(world.payer("a"), () => world.work("b", 3));
    expect([world.spent("a"), world.spent("b")]).toEqual([3, 0]);
  });

  test("forgets tenants without work", () => {
    const world = new World();
    for (let count = 0; count < 20_000; count++) {
      world.work(`t${count}`, 0.001);
      world.nowMs += 1;
      world.turn();
    }
    expect(world.queue.known).toBeLessThanOrEqual(2_000);
  });

  test("is fair: tenants that wait have used the same time, up to a piece of each", () => {
    const pieces = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 20, maxLength: 60 });
    fc.assert(
      fc.property(fc.array(pieces, { minLength: 2, maxLength: 6 }), (tenants) => {
        const world = new World();
        const left = tenants.map(({ length }) => length);
        world.work("first", 5);
        for (const [tenant, times] of tenants.entries()) {
          for (const tenths of times)
            world.work(`${tenant}`, tenths / 10, () => (left[tenant] = (left[tenant] ?? 0) - 1));
        }
        while (left.every((count) => count > 0)) {
          world.turn();
          const used = tenants.map((_, tenant) => world.spent(`${tenant}`));
          if (left.every((count) => count > 0)) expect(Math.max(...used) - Math.min(...used)).toBeLessThanOrEqual(6.01);
        }
      }),
    );
  });
});
