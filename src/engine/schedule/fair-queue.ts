import { NodeHeap } from "./heap.ts";
import { ConcurrencyCap, Tenant, type Flow, type FlowQueue, type Waiting } from "./flows.ts";

interface FairQueueOptions {
  readonly concurrency: number;
  readonly perTenant: number;
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
  readonly #concurrency: number;
  readonly #perTenant: number;
  readonly #clock: () => number;
  readonly #open = new NodeHeap<ConcurrencyCap>();
  readonly #gates = new Map<string, ConcurrencyCap>();
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

  get waiting(): number {
    return this.#waiting;
  }

  get running(): number {
    return this.#running;
  }

  /** Concurrency cap of a tool. A new value replaces the last one given for the tool. */
  gate(tool: string, cap: number): ConcurrencyCap {
    if (cap === Infinity) return this.#uncapped;
    let gate = this.#gates.get(tool);
    if (gate === undefined) {
      gate = new ConcurrencyCap(tool, cap);
      this.#gates.set(tool, gate);
    } else if (gate.cap !== cap) {
      gate.cap = cap;
      this.#rank(gate);
    }
    return gate;
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
   * The tenant is needed only where tenants are capped.
   */
  claim(gate: ConcurrencyCap, tenant: Tenant | undefined): boolean {
    if (this.#running >= this.#concurrency || gate.running >= gate.cap) return false;
    if (tenant !== undefined && tenant.running >= this.#perTenant) return false;
    if (this.#waiting > 0 && this.#next() !== undefined) return false;
    this.#take(gate, tenant);
    return true;
  }

  /** Releases the slot of an ended call. */
  release(gate: ConcurrencyCap, tenant: Tenant | undefined): void {
    this.#running--;
    gate.running--;
    if (gate.waiting > 0) this.#rank(gate);
    if (tenant !== undefined) {
      tenant.running--;
      for (const lane of tenant.parked) this.#show(lane);
      tenant.parked.clear();
    }
    this.forget(gate, tenant);
  }

  /** Drops a tool and a tenant without running or waiting calls, so that memory does not grow with their number. */
  forget(gate: ConcurrencyCap, tenant: Tenant | undefined): void {
    if (gate.running === 0 && gate.waiting === 0 && gate !== this.#uncapped) this.#gates.delete(gate.tool);
    if (tenant?.running === 0 && tenant.waiting === 0) this.#tenants.delete(tenant.name);
  }

  add(call: Waiting): void {
    const { flow, gate } = call;
    call.seq = ++this.#seq;
    if (flow.waiting === 0) {
      this.#settleTurns();
      flow.since = call.enqueuedAtMs;
      flow.stamp = ++this.#stamp;
    }
    this.#count(call, 1);
    const lane = flow.lane(gate);
    lane.append(call);
    if (lane.first !== call) return;
    lane.since = call.enqueuedAtMs;
    this.#show(lane);
  }

  /** Takes the next call to start, with its slot; `undefined` if none may start now. */
  take(): Waiting | undefined {
    if (this.#waiting === 0) return undefined;
    const lane = this.#next();
    const call = lane?.first;
    if (lane === undefined || call === undefined) return undefined;
    const { flow, gate } = lane;
    const nowMs = this.#clock();
    call.startedAtMs = nowMs;
    this.#lastTurn = flow;
    this.#lastTurnMs = nowMs;
    if (flow.waiting < this.#waiting) this.#settleTurns();
    lane.since = nowMs;
    lane.remove(call);
    this.#count(call, -1);
    if (lane.first === undefined) this.#discard(lane);
    else this.#update(lane);
    this.#take(gate, flow.tenant);
    return call;
  }

  /** Removes a call that is not to start any more. */
  withdraw(call: Waiting): void {
    const { flow, gate } = call;
    const lane = flow.lane(gate);
    lane.remove(call);
    this.#count(call, -1);
    if (lane.first === undefined) this.#discard(lane);
    this.forget(gate, flow.tenant);
  }

  /** Flow queue whose first call starts next, or undefined if none may start now. */
  #next(): FlowQueue | undefined {
    if (this.#running >= this.#concurrency) return undefined;
    for (;;) {
      const gate = this.#open.first;
      const lane = gate?.lanes.first;
      if (gate === undefined || lane === undefined) return undefined;
      const tenant = lane.flow.tenant;
      if (tenant.running >= this.#perTenant) {
        gate.lanes.remove(lane);
        tenant.parked.add(lane);
        this.#rank(gate);
      } else if (lane.isStale) {
        this.#update(lane);
      } else {
        return lane;
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

  #take(gate: ConcurrencyCap, tenant: Tenant | undefined): void {
    this.#running++;
    gate.running++;
    if (gate.running >= gate.cap) this.#rank(gate);
    if (tenant !== undefined) tenant.running++;
  }

  #count(call: Waiting, change: 1 | -1): void {
    this.#waiting += change;
    call.gate.waiting += change;
    call.flow.waiting += change;
    call.flow.tenant.waiting += change;
  }

  /** Adds a flow queue that has calls to the heap of its cap. */
  #show(lane: FlowQueue): void {
    lane.refresh();
    lane.gate.lanes.push(lane);
    this.#rank(lane.gate);
  }

  #update(lane: FlowQueue): void {
    lane.refresh();
    lane.gate.lanes.moved(lane);
    this.#rank(lane.gate);
  }

  /** Removes an empty flow queue from its heap or from the parked ones. */
  #discard(lane: FlowQueue): void {
    const { flow, gate } = lane;
    if (lane.slot < 0) {
      flow.tenant.parked.delete(lane);
    } else {
      gate.lanes.remove(lane);
      this.#rank(gate);
    }
    flow.drop(lane);
  }

  /** Ranks a cap among the open ones by its best flow queue; removes it if it has no queue or no room. */
  #rank(gate: ConcurrencyCap): void {
    const best = gate.lanes.first;
    if (best === undefined || gate.running >= gate.cap) {
      if (gate.slot >= 0) this.#open.remove(gate);
      return;
    }
    gate.key = best.key;
    gate.stamp = best.stamp;
    gate.seq = best.seq;
    if (gate.slot < 0) this.#open.push(gate);
    else this.#open.moved(gate);
  }
}
