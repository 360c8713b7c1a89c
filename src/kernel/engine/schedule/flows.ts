/**
 * Parts of the fair queue.
 *
 * - A `ConcurrencyCap` limits the running calls of one capped tool. All tools without a cap share one.
 * - A `Tenant` has one `Flow` per priority. A flow takes turns with the flows of other tenants.
 * - A `FlowQueue` holds the calls of one flow at one cap, first in, first out. All its calls rank alike, so the
 *   fair queue never looks at more than its first call.
 * - A `Waiting` is a call in a flow queue.
 */
import { NodeHeap, type HeapNode } from "../../base/node-heap.ts";
import type { QueueEntry } from "./queue-entry.ts";

const MIN_PRIORITY = -10;
const MAX_PRIORITY = 10;

/** Waiting time that counts as one priority level, in milliseconds. */
const AGEING_MS = 1_000;

/**
 * Maximum time for which a tenant's turns at other tools count against its calls at one cap, in milliseconds. Without
 * it, a tenant constantly served by other tools would never get a turn at a contended one.
 */
const PATIENCE_MS = 5_000;

/** Rounds a priority to a whole number between -10 and 10. `NaN` counts as 0. */
export function clampPriority(priority: number): number {
  if (Number.isNaN(priority)) return 0;
  return Math.min(MAX_PRIORITY, Math.max(MIN_PRIORITY, Math.round(priority)));
}

export class ConcurrencyCap implements HeapNode {
  slot = -1;
  key = 0;
  stamp = 0;
  seq = 0;
  readonly tool: string;
  limit: number;
  running = 0;
  /** Calls in all flow queues of this cap, including parked ones. */
  waiting = 0;
  /** Flow queues that hold calls and are not parked. */
  readonly queues = new NodeHeap<FlowQueue>();

  constructor(tool: string, limit: number) {
    this.tool = tool;
    this.limit = limit;
  }
}

export class Tenant {
  readonly name: string;
  /** Running calls that named this tenant: if tenants are not capped, only calls that had waited. */
  running = 0;
  waiting = 0;
  /** Flow queues that reached the head of their cap's heap while the tenant was at its own cap. */
  readonly parked = new Set<FlowQueue>();
  readonly #flows: (Flow | undefined)[] = [];

  constructor(name: string) {
    this.name = name;
  }

  flow(priority: number): Flow {
    const index = priority - MIN_PRIORITY;
    return (this.#flows[index] ??= new Flow(this, priority));
  }
}

export class Flow {
  readonly tenant: Tenant;
  readonly priority: number;
  waiting = 0;
  /** Time of the flow's last turn, or of the start of its wait. */
  since = 0;
  /** Place of the flow in the round: a flow that had a turn, or is new, gets the next number. */
  stamp = 0;
  readonly #queues = new Map<ConcurrencyCap, FlowQueue>();

  constructor(tenant: Tenant, priority: number) {
    this.tenant = tenant;
    this.priority = priority;
  }

  queueAt(cap: ConcurrencyCap): FlowQueue {
    let queue = this.#queues.get(cap);
    if (queue === undefined) {
      queue = new FlowQueue(this, cap);
      this.#queues.set(cap, queue);
    }
    return queue;
  }

  /** Drops an empty flow queue, so that memory does not grow with the number of tools. */
  drop(queue: FlowQueue): void {
    this.#queues.delete(queue.cap);
  }
}

export class FlowQueue implements HeapNode {
  slot = -1;
  key = 0;
  stamp = 0;
  seq = 0;
  readonly flow: Flow;
  readonly cap: ConcurrencyCap;
  /** Time at which a call of this queue last started, or at which the queue began to wait. */
  since = 0;
  first: Waiting | undefined = undefined;
  #last: Waiting | undefined = undefined;

  constructor(flow: Flow, cap: ConcurrencyCap) {
    this.flow = flow;
    this.cap = cap;
  }

  append(call: Waiting): void {
    call.before = this.#last;
    if (this.#last === undefined) this.first = call;
    else this.#last.after = call;
    this.#last = call;
  }

  remove(call: Waiting): void {
    if (call.before === undefined) this.first = call.after;
    else call.before.after = call.after;
    if (call.after === undefined) this.#last = call.before;
    else call.after.before = call.before;
    call.before = undefined;
    call.after = undefined;
  }

  /** Whether the flow had a turn, or the queue lost its first call, since the last `refresh`. */
  get isStale(): boolean {
    return this.stamp !== this.flow.stamp || this.seq !== this.first?.seq;
  }

  /**
   * Copies the queue's rank from its flow. Between two calls a rank only gets worse, so a queue with an outdated,
   * better rank is corrected when it reaches the head of its heap, not before.
   *
   * A call that has waited at priority p for w milliseconds ranks as high as p + w / AGEING_MS. The difference between
   * two such ranks is constant over time, so the key needs no clock.
   */
  refresh(): void {
    this.key = Math.min(this.flow.since, this.since + PATIENCE_MS) - AGEING_MS * this.flow.priority;
    this.stamp = this.flow.stamp;
    this.seq = this.first?.seq ?? 0;
  }
}

/** A call that waits for a slot. */
export class Waiting {
  readonly entry: QueueEntry;
  readonly flow: Flow;
  readonly cap: ConcurrencyCap;
  readonly signal: AbortSignal | undefined;
  readonly enqueuedAtMs: number;
  readonly deadlineMs: number;
  startedAtMs = 0;
  seq = 0;
  before: Waiting | undefined = undefined;
  after: Waiting | undefined = undefined;
  /** Neighbours in the bucket of the deadline wheel, and the bucket's index; -1 outside the wheel. */
  bucket = -1;
  earlier: Waiting | undefined = undefined;
  later: Waiting | undefined = undefined;

  constructor(
    entry: QueueEntry,
    flow: Flow,
    cap: ConcurrencyCap,
    signal: AbortSignal | undefined,
    enqueuedAtMs: number,
    queueMs: number,
  ) {
    this.entry = entry;
    this.flow = flow;
    this.cap = cap;
    this.signal = signal;
    this.enqueuedAtMs = enqueuedAtMs;
    this.deadlineMs = enqueuedAtMs + queueMs;
  }
}
