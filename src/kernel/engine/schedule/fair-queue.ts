import { NodeHeap } from "../../base/node-heap.ts";
import { ConcurrencyCap, Tenant, type Flow, type FlowQueue, type Waiting } from "./flows.ts";

interface FairQueueLimits {
  readonly concurrency: number;
  readonly perTenant: number;
}

interface FairQueueOptions extends FairQueueLimits {
  readonly clock: () => number;
}

/**
 * Order in which waiting calls get slots, and the count of running calls.
 *
 * A call may start when a slot is free and neither its tool nor its tenant is at its cap. Of these calls the highest
 * priority starts first; within a priority tenants take turns, and within a tenant the oldest call starts first. Each
 * second that a tenant waits without a turn counts as one priority level, so no call waits forever.
 *
 * Concurrency caps that have room and waiting calls are in one heap, ranked by their best flow queue; the flow queues
 * of a cap are in that cap's own heap. A cap without room leaves the heap, with all calls waiting for it, in one step.
 * A flow queue whose tenant is at its cap is parked when it reaches the head, and returned when the tenant has room. So
 * nothing iterates over calls: a start costs O(log n), plus one step for each capped tool whose next call is of the
 * same capped tenant.
 */
export class FairQueue {
  #concurrency: number;
  #perTenant: number;
  readonly #clock: () => number;
  readonly #open = new NodeHeap<ConcurrencyCap>();
  readonly #caps = new Map<string, ConcurrencyCap>();
  readonly #tenants = new Map<string, Tenant>();
  /** Shared cap of all tools without a cap: it counts, and is never reached. */
  readonly #uncapped = new ConcurrencyCap("", Infinity);
  #running = 0;
  #waiting = 0;
  #seq = 0;
  #stamp = 0;
  /** The flow that took turns while it waited alone, and the time of its last turn. */
  #lastTurn: Flow | undefined = undefined;
  #lastTurnMs = 0;

  constructor(options: FairQueueOptions) {
    this.#concurrency = options.concurrency;
    this.#perTenant = options.perTenant;
    this.#clock = options.clock;
  }

  /** Other limits. A tenant whose calls ran without a cap is counted from here on. */
  use({ concurrency, perTenant }: FairQueueLimits): void {
    this.#concurrency = concurrency;
    this.#perTenant = perTenant;
    for (const tenant of this.#tenants.values()) this.#unpark(tenant);
  }

  get waiting(): number {
    return this.#waiting;
  }

  get running(): number {
    return this.#running;
  }

  /** Concurrency cap of a tool. A new value replaces the last one given for the tool. */
  capOf(tool: string, limit: number): ConcurrencyCap {
    if (limit === Infinity) return this.#uncapped;
    let cap = this.#caps.get(tool);
    if (cap === undefined) {
      cap = new ConcurrencyCap(tool, limit);
      this.#caps.set(tool, cap);
    } else if (cap.limit !== limit) {
      cap.limit = limit;
      this.#rank(cap);
    }
    return cap;
  }

  tenant(name: string): Tenant {
    let tenant = this.#tenants.get(name);
    if (tenant === undefined) {
      tenant = new Tenant(name);
      this.#tenants.set(name, tenant);
    }
    return tenant;
  }

  /**
   * Takes a slot for a call that has not waited. Returns false unless the call may start now and no waiting call may.
   * The tenant is needed only if tenants are capped.
   */
  claim(cap: ConcurrencyCap, tenant: Tenant | undefined): boolean {
    if (this.#running >= this.#concurrency || cap.running >= cap.limit) return false;
    if (tenant !== undefined && tenant.running >= this.#perTenant) return false;
    if (this.#waiting > 0 && this.#next() !== undefined) return false;
    this.#take(cap, tenant);
    return true;
  }

  /** Releases the slot of an ended call. */
  release(cap: ConcurrencyCap, tenant: Tenant | undefined): void {
    this.#running--;
    cap.running--;
    if (cap.waiting > 0) this.#rank(cap);
    if (tenant !== undefined) {
      tenant.running--;
      this.#unpark(tenant);
    }
    this.forget(cap, tenant);
  }

  /** Drops a tool and a tenant without running or waiting calls, so that memory does not grow with their number. */
  forget(cap: ConcurrencyCap, tenant: Tenant | undefined): void {
    if (cap.running === 0 && cap.waiting === 0 && cap !== this.#uncapped) this.#caps.delete(cap.tool);
    if (tenant?.running === 0 && tenant.waiting === 0) this.#tenants.delete(tenant.name);
  }

  add(call: Waiting): void {
    const { flow, cap } = call;
    call.seq = ++this.#seq;
    if (flow.waiting === 0) {
      this.#settleTurns();
      flow.since = call.enqueuedAtMs;
      flow.stamp = ++this.#stamp;
    }
    this.#count(call, 1);
    const queue = flow.queueAt(cap);
    queue.append(call);
    if (queue.first !== call) return;
    queue.since = call.enqueuedAtMs;
    this.#show(queue);
  }

  /** Takes the next call to start, with its slot; `undefined` if none may start now. */
  take(): Waiting | undefined {
    if (this.#waiting === 0) return undefined;
    const queue = this.#next();
    const call = queue?.first;
    if (queue === undefined || call === undefined) return undefined;
    const { flow, cap } = queue;
    const nowMs = this.#clock();
    call.startedAtMs = nowMs;
    this.#lastTurn = flow;
    this.#lastTurnMs = nowMs;
    if (flow.waiting < this.#waiting) this.#settleTurns();
    queue.since = nowMs;
    queue.remove(call);
    this.#count(call, -1);
    if (queue.first === undefined) this.#discard(queue);
    else this.#update(queue);
    this.#take(cap, flow.tenant);
    return call;
  }

  /** Removes a call that is not to start any more. */
  withdraw(call: Waiting): void {
    const { flow, cap } = call;
    const queue = flow.queueAt(cap);
    queue.remove(call);
    this.#count(call, -1);
    if (queue.first === undefined) this.#discard(queue);
    this.forget(cap, flow.tenant);
  }

  /** Flow queue whose first call starts next, or undefined if none may start now. */
  #next(): FlowQueue | undefined {
    if (this.#running >= this.#concurrency) return undefined;
    for (;;) {
      const cap = this.#open.first;
      const queue = cap?.queues.first;
      if (cap === undefined || queue === undefined) return undefined;
      const tenant = queue.flow.tenant;
      if (tenant.running >= this.#perTenant) {
        cap.queues.remove(queue);
        tenant.parked.add(queue);
        this.#rank(cap);
      } else if (queue.isStale) {
        this.#update(queue);
      } else {
        return queue;
      }
    }
  }

  /**
   * Ranks the flow that had the last turn behind all others. This makes all its queues stale, so it is deferred while
   * no other flow waits: a single tenant with many capped tools would pay for it at every start, needlessly.
   */
  #settleTurns(): void {
    const flow = this.#lastTurn;
    if (flow === undefined) return;
    flow.since = this.#lastTurnMs;
    flow.stamp = ++this.#stamp;
    this.#lastTurn = undefined;
  }

  #take(cap: ConcurrencyCap, tenant: Tenant | undefined): void {
    this.#running++;
    cap.running++;
    if (cap.running >= cap.limit) this.#rank(cap);
    if (tenant !== undefined) tenant.running++;
  }

  #count(call: Waiting, change: 1 | -1): void {
    this.#waiting += change;
    call.cap.waiting += change;
    call.flow.waiting += change;
    call.flow.tenant.waiting += change;
  }

  /** Adds a flow queue that has calls to the heap of its cap. */
  #show(queue: FlowQueue): void {
    queue.refresh();
    queue.cap.queues.push(queue);
    this.#rank(queue.cap);
  }

  #unpark(tenant: Tenant): void {
    for (const queue of tenant.parked) this.#show(queue);
    tenant.parked.clear();
  }

  #update(queue: FlowQueue): void {
    queue.refresh();
    queue.cap.queues.moved(queue);
    this.#rank(queue.cap);
  }

  /** Removes an empty flow queue from its heap or from the parked ones. */
  #discard(queue: FlowQueue): void {
    const { flow, cap } = queue;
    if (queue.slot < 0) {
      flow.tenant.parked.delete(queue);
    } else {
      cap.queues.remove(queue);
      this.#rank(cap);
    }
    flow.drop(queue);
  }

  /** Ranks a cap among the open ones by its best flow queue; removes it if it has no queue or no room. */
  #rank(cap: ConcurrencyCap): void {
    const best = cap.queues.first;
    if (best === undefined || cap.running >= cap.limit) {
      if (cap.slot >= 0) this.#open.remove(cap);
      return;
    }
    cap.key = best.key;
    cap.stamp = best.stamp;
    cap.seq = best.seq;
    if (cap.slot < 0) this.#open.push(cap);
    else this.#open.moved(cap);
  }
}
