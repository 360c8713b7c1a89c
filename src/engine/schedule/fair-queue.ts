import { NodeHeap } from "./heap.ts";
import { ConcurrencyCap, Tenant, type Flow, type FlowQueue, type Waiting } from "./flows.ts";

interface FairQueueOptions {
  readonly concurrency: number;
  readonly perTenant: number;
  readonly clock: () => number;
}

/**
 * The order in which waiting calls get slots, and the one count of what runs.
 *
 * Of the calls that may start now (a slot is free, and neither their tool nor their tenant is at its cap) the next is
 * that of the highest priority; within a priority tenants take turns, and within a tenant the oldest comes first.
 * Every second that a tenant went without a turn counts as one level of priority, so that nothing waits forever.
 *
 * Gates that are open and have lanes are in one heap, ranked by their best lane; the lanes of a gate are in a heap of
 * the gate. A gate at its cap leaves the heap with all that wait for it in one step. A lane whose tenant is at its cap
 * is set aside when it comes to the head, and returned when the tenant has room. So nothing ever walks over calls. A
 * start costs O(log n), and a step for each capped tool at which the same tenant has the next call in line.
 */
export class FairQueue {
  readonly #concurrency: number;
  readonly #perTenant: number;
  readonly #clock: () => number;
  readonly #open = new NodeHeap<ConcurrencyCap>();
  readonly #gates = new Map<string, ConcurrencyCap>();
  readonly #tenants = new Map<string, Tenant>();
  /** The gate of all tools without a cap: it counts, and never closes. */
  readonly #uncapped = new ConcurrencyCap("", Infinity);
  #running = 0;
  #waiting = 0;
  #seq = 0;
  #stamp = 0;
  /** The flow that had turns while it waited alone, and the time of the last. */
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

  /** The gate of a tool. A cap that differs from the last one given for the tool takes its place. */
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
   * Takes a slot for a call that has not waited. Says no unless the call may start now and no waiting call may.
   * The tenant is only needed where tenants are capped.
   */
  claim(gate: ConcurrencyCap, tenant: Tenant | undefined): boolean {
    if (this.#running >= this.#concurrency || gate.running >= gate.cap) return false;
    if (tenant !== undefined && tenant.running >= this.#perTenant) return false;
    if (this.#waiting > 0 && this.#next() !== undefined) return false;
    this.#take(gate, tenant);
    return true;
  }

  /** Gives back the slot of a call that has ended. */
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

  /** Forgets a tool and a tenant of which nothing runs and nothing waits, because both may be many over time. */
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

  /** The next call to start, with the slot it takes; `undefined` where none may start now. */
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

  /** Takes a call out that shall not start any more. */
  withdraw(call: Waiting): void {
    const { flow, gate } = call;
    const lane = flow.lane(gate);
    lane.remove(call);
    this.#count(call, -1);
    if (lane.first === undefined) this.#discard(lane);
    this.forget(gate, flow.tenant);
  }

  /** The lane whose first call is the next to start, or undefined when none may start now. */
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
   * Ranks the flow that had the last turn behind all others. That makes every lane of the flow stale, so it is put off
   * while no other flow waits: a single tenant with many capped tools would pay for it at every start, for nothing.
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

  /** Puts a lane with calls into the heap of its gate. */
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

  /** Takes an empty lane out of wherever it is. */
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

  /** Gives a gate the place among the open ones that its best lane deserves, or none. */
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
