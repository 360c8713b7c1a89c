/**
 * What the fair queue is made of.
 *
 * - A `Gate` limits how many calls of one capped tool run at once. All tools without a cap share one gate.
 * - A `Tenant` has one `Flow` per priority. The flow is what takes turns with the flows of other tenants.
 * - A `Lane` is the calls of one flow at one gate, first in, first out. Within a lane all calls are alike, so the
 *   queue never looks at more than the first call of a lane.
 * - A `Waiting` is a call in a lane.
 */
import { NodeHeap, type HeapNode } from "./heap.ts";
import type { QueueEntry } from "./queue-entry.ts";

const MIN_PRIORITY = -10;
const MAX_PRIORITY = 10;

/** How long a call waits until it counts one priority level more. */
const AGEING_MS = 1_000;

/**
 * How long the turns that a tenant takes elsewhere count against its calls at one gate. Without this bound a tenant
 * that is always served by other tools would never get a turn at a contended one.
 */
const PATIENCE_MS = 5_000;

/** Cuts a priority to a whole number between -10 and 10. What is not a number counts as 0. */
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
  cap: number;
  running = 0;
  /** Calls of all lanes of this gate, also of those that their tenants hold back. */
  waiting = 0;
  /** The lanes that hold calls and are not known to be held back by their tenant's cap. */
  readonly lanes = new NodeHeap<FlowQueue>();

  constructor(tool: string, cap: number) {
    this.tool = tool;
    this.cap = cap;
  }
}

export class Tenant {
  readonly name: string;
  /** Calls that took their slot with this tenant named: where tenants are not capped, only calls that had waited. */
  running = 0;
  waiting = 0;
  /** Lanes that were found at the head of their gate while the tenant was at its cap. */
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
  /** When the flow had its last turn, or when it began to wait. */
  since = 0;
  /** The place of the flow in the round: whoever had a turn, or is new, gets the next number. */
  stamp = 0;
  readonly #lanes = new Map<ConcurrencyCap, FlowQueue>();

  constructor(tenant: Tenant, priority: number) {
    this.tenant = tenant;
    this.priority = priority;
  }

  lane(gate: ConcurrencyCap): FlowQueue {
    let lane = this.#lanes.get(gate);
    if (lane === undefined) {
      lane = new FlowQueue(this, gate);
      this.#lanes.set(gate, lane);
    }
    return lane;
  }

  /** Forgets an empty lane, because gates and tools come and go. */
  drop(lane: FlowQueue): void {
    this.#lanes.delete(lane.gate);
  }
}

export class FlowQueue implements HeapNode {
  slot = -1;
  key = 0;
  stamp = 0;
  seq = 0;
  readonly flow: Flow;
  readonly gate: ConcurrencyCap;
  /** When a call of this lane last started, or when the lane began to wait. */
  since = 0;
  first: Waiting | undefined = undefined;
  #last: Waiting | undefined = undefined;

  constructor(flow: Flow, gate: ConcurrencyCap) {
    this.flow = flow;
    this.gate = gate;
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

  /** Whether the flow had a turn, or the lane lost its first call, since `refresh` was last called. */
  get isStale(): boolean {
    return this.stamp !== this.flow.stamp || this.seq !== this.first?.seq;
  }

  /**
   * Copies the lane's rank from its flow. Between two calls of this method a rank only ever gets worse, so a lane
   * whose copy is too good is found and put right when it comes to the head of its heap, and not before.
   *
   * A call waiting at priority p for w milliseconds ranks as high as p + w / AGEING_MS. The difference between two
   * such ranks does not change with time, so the key needs no clock.
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
  readonly gate: ConcurrencyCap;
  readonly signal: AbortSignal | undefined;
  readonly enqueuedAtMs: number;
  readonly deadlineMs: number;
  startedAtMs = 0;
  seq = 0;
  before: Waiting | undefined = undefined;
  after: Waiting | undefined = undefined;
  /** The neighbours in the bucket of the deadline wheel, and the bucket; -1 while it is in none. */
  bucket = -1;
  earlier: Waiting | undefined = undefined;
  later: Waiting | undefined = undefined;

  constructor(
    entry: QueueEntry,
    flow: Flow,
    gate: ConcurrencyCap,
    signal: AbortSignal | undefined,
    enqueuedAtMs: number,
    queueMs: number,
  ) {
    this.entry = entry;
    this.flow = flow;
    this.gate = gate;
    this.signal = signal;
    this.enqueuedAtMs = enqueuedAtMs;
    this.deadlineMs = enqueuedAtMs + queueMs;
  }
}
