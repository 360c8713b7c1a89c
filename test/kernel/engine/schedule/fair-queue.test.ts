import fc from "fast-check";
import { expect, test } from "vitest";
import { FairQueue } from "../../../../src/kernel/engine/schedule/fair-queue.ts";
import type { QueueEntry } from "../../../../src/kernel/engine/schedule/queue-entry.ts";
import {
  clampPriority,
  Waiting,
  type ConcurrencyCap,
  type Tenant,
} from "../../../../src/kernel/engine/schedule/flows.ts";

/** What the queue holds is never started or refused by it. */
const idle: QueueEntry = { start: () => undefined, refuse: () => undefined };

interface Planned {
  readonly call: Waiting;
  readonly tool: string;
  readonly tenant: string;
  readonly priority: number;
}

/** What the fair queue has to do, said as plainly as possible and without any thought of speed. */
class PlainModel {
  waiting: Planned[] = [];
  running: Planned[] = [];
  readonly #flows = new Map<string, { since: number; stamp: number }>();
  readonly #queues = new Map<string, number>();
  readonly #caps: { concurrency: number; perTool: Map<string, number>; perTenant: number };
  #stamp = 0;
  #turn: { flow: string; since: number } | undefined = undefined;

  constructor(caps: { concurrency: number; perTool: Map<string, number>; perTenant: number }) {
    this.#caps = caps;
  }

  enqueue(entry: Planned, nowMs: number): void {
    const [flow, queue] = [this.#flow(entry), this.#queueAt(entry)];
    if (!this.waiting.some((other) => this.#flow(other) === flow)) {
      this.#settleTurns();
      this.#flows.set(flow, { since: nowMs, stamp: ++this.#stamp });
    }
    if (!this.waiting.some((other) => this.#queueAt(other) === queue)) this.#queues.set(queue, nowMs);
    this.waiting.push(entry);
  }

  next(): Planned | undefined {
    if (this.running.length >= this.#caps.concurrency) return undefined;
    const eligible = this.waiting.filter((entry) => this.hasRoom(entry));
    return eligible.toSorted((a, b) => this.#rank(a) - this.#rank(b) || this.#place(a) - this.#place(b))[0];
  }

  start(entry: Planned, nowMs: number): void {
    this.#turn = { flow: this.#flow(entry), since: nowMs };
    if (this.waiting.some((other) => this.#flow(other) !== this.#flow(entry))) this.#settleTurns();
    this.waiting = this.waiting.filter((other) => other !== entry);
    this.running.push(entry);
    this.#queues.set(this.#queueAt(entry), nowMs);
  }

  hasRoom(entry: Planned): boolean {
    const ofTool = this.running.filter((other) => other.tool === entry.tool).length;
    const ofTenant = this.running.filter((other) => other.tenant === entry.tenant).length;
    return ofTool < (this.#caps.perTool.get(entry.tool) ?? Infinity) && ofTenant < this.#caps.perTenant;
  }

  /** A turn counts as soon as there is another flow to take turns with. */
  #settleTurns(): void {
    if (this.#turn !== undefined) this.#flows.set(this.#turn.flow, { since: this.#turn.since, stamp: ++this.#stamp });
    this.#turn = undefined;
  }

  #rank(entry: Planned): number {
    const since = this.#flows.get(this.#flow(entry))?.since ?? 0;
    return Math.min(since, (this.#queues.get(this.#queueAt(entry)) ?? 0) + 5_000) - 1_000 * entry.priority;
  }

  #place(entry: Planned): number {
    return this.#flows.get(this.#flow(entry))?.stamp ?? 0;
  }

  #flow(entry: Planned): string {
    return `${entry.tenant}/${entry.priority}`;
  }

  #queueAt(entry: Planned): string {
    const isCapped = this.#caps.perTool.has(entry.tool);
    return `${this.#flow(entry)}/${isCapped ? entry.tool : "uncapped"}`;
  }
}

const caps = {
  concurrency: 4,
  perTenant: 2,
  perTool: new Map([
    ["one", 1],
    ["two", 2],
  ]),
};

const step = fc.record({
  what: fc.constantFrom("enqueue", "enqueue", "dequeue", "release", "withdraw"),
  tool: fc.constantFrom("one", "two", "free", "free too"),
  tenant: fc.constantFrom("a", "b", "c", "d"),
  priority: fc.integer({ min: -2, max: 2 }),
  passMs: fc.oneof(fc.nat(100), fc.nat(4_000)),
  which: fc.nat(),
});

test("the queue starts the calls that a plain model would start, in the same order", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 150 }), (steps) => {
      let nowMs = 0;
      const queue = new FairQueue({ concurrency: caps.concurrency, perTenant: caps.perTenant, clock: () => nowMs });
      const model = new PlainModel(caps);
      for (const { what, tool, tenant, priority, passMs, which } of steps) {
        nowMs += passMs;
        if (what === "enqueue") {
          const cap = queue.capOf(tool, caps.perTool.get(tool) ?? Infinity);
          const call = new Waiting(idle, queue.tenant(tenant).flow(priority), cap, undefined, nowMs, 1_000);
          const entry = { call, tool, tenant, priority };
          model.enqueue(entry, nowMs);
          queue.add(call);
        } else if (what === "dequeue") {
          const expected = model.next();
          expect(queue.take()).toBe(expected?.call);
          if (expected !== undefined) model.start(expected, nowMs);
        } else if (what === "release") {
          const [ended] = model.running.splice(which % Math.max(1, model.running.length), 1);
          if (ended !== undefined) queue.release(ended.call.cap, ended.call.flow.tenant);
        } else {
          const [gone] = model.waiting.splice(which % Math.max(1, model.waiting.length), 1);
          if (gone !== undefined) queue.withdraw(gone.call);
        }
        expect(queue.waiting).toBe(model.waiting.length);
        expect(queue.running).toBe(model.running.length);
      }
    }),
    { numRuns: 400 },
  );
});

function claim(
  queue: FairQueue,
  tool: string,
  cap: number,
  tenant: string,
): { cap: ConcurrencyCap; tenant: Tenant } | undefined {
  const held = { cap: queue.capOf(tool, cap), tenant: queue.tenant(tenant) };
  return queue.claim(held.cap, held.tenant) ? held : undefined;
}

test("a slot is claimed only while there is one, and one for the tool and the tenant", () => {
  const queue = new FairQueue({ concurrency: 3, perTenant: 2, clock: () => 0 });
  expect(claim(queue, "x", 1, "a")).toBeDefined();
  expect(claim(queue, "x", 1, "b")).toBeUndefined();
  expect(claim(queue, "y", 1, "a")).toBeDefined();
  expect(claim(queue, "z", 1, "a")).toBeUndefined();
  expect(claim(queue, "z", 1, "b")).toBeDefined();
  expect(claim(queue, "w", 1, "c")).toBeUndefined();
  expect(queue.running).toBe(3);
});

test("a slot is not claimed past a waiting call that could take it", () => {
  const queue = new FairQueue({ concurrency: 1, perTenant: Infinity, clock: () => 0 });
  const held = claim(queue, "x", Infinity, "a");
  const call = new Waiting(idle, queue.tenant("a").flow(0), queue.capOf("x", Infinity), undefined, 0, 1_000);
  queue.add(call);
  if (held !== undefined) queue.release(held.cap, held.tenant);
  expect(claim(queue, "x", Infinity, "b")).toBeUndefined();
  queue.withdraw(call);
  expect(claim(queue, "x", Infinity, "b")).toBeDefined();
});

test("tools and tenants of which nothing runs or waits are forgotten", () => {
  const queue = new FairQueue({ concurrency: 1, perTenant: 1, clock: () => 0 });
  const held = claim(queue, "x", 1, "a");
  if (held === undefined) throw new Error("there was a slot");
  expect(queue.capOf("x", 1)).toBe(held.cap);
  expect(queue.tenant("a")).toBe(held.tenant);
  queue.release(held.cap, held.tenant);
  expect(queue.capOf("x", 1)).not.toBe(held.cap);
  expect(queue.tenant("a")).not.toBe(held.tenant);
});

test("a tenant whose only waiting call was withdrawn is forgotten, and so is its flow queue", () => {
  const queue = new FairQueue({ concurrency: 1, perTenant: 1, clock: () => 0 });
  const held = claim(queue, "x", 1, "a");
  const tenant = queue.tenant("b");
  const call = new Waiting(idle, tenant.flow(0), queue.capOf("x", 1), undefined, 0, 1_000);
  queue.add(call);
  const emptied = call.flow.queueAt(call.cap);
  expect(call.flow.queueAt(call.cap)).toBe(emptied);
  queue.withdraw(call);
  expect(call.flow.queueAt(call.cap)).not.toBe(emptied);
  expect(queue.tenant("b")).not.toBe(tenant);
  expect(queue.capOf("x", 1)).toBe(held?.cap);
});

test("a tenant's calls start in the order they came after the first of them was withdrawn", () => {
  const queue = new FairQueue({ concurrency: 9, perTenant: Infinity, clock: () => 0 });
  const names = new Map<Waiting | undefined, string>();
  const add = (name: string, cap: number): Waiting => {
    const call = new Waiting(idle, queue.tenant("a").flow(0), queue.capOf("x", cap), undefined, 0, 1_000);
    queue.add(call);
    names.set(call, name);
    return call;
  };
  const first = add("first", 5);
  add("second", Infinity);
  add("third", 5);
  queue.withdraw(first);
  expect([queue.take(), queue.take()].map((call) => names.get(call))).toEqual(["second", "third"]);
});

test("a priority is cut to a whole number between -10 and 10", () => {
  expect([-Infinity, -11, 0.4, 0.6, 3, 99, NaN].map(clampPriority)).toEqual([-10, -10, 0, 1, 3, 10, 0]);
});
