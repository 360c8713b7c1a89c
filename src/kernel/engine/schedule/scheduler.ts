/**
 * Admission, order and slots: the stage of a call between its acceptance and its start.
 *
 * ```text
 *                    a slot is free, no cap is reached,
 *                    and nothing that could start waits
 *   add() ─────────────────────────────────────────────────────────▶ running ──▶ over
 *     │                                                                 ▲          as its slot is released
 *     │ has to wait            a slot is free, the caps of tool and     │
 *     ├────────────▶ waiting ──tenant leave room, and it is its turn────┘
 *     │                 │
 *     │                 ├── deadline passed ─────────────▶ refused `queue_timeout`
 *     │                 ├── signal aborted ──────────────▶ refused `cancelled`
 *     │                 └── close({ refuseWaiting }) ────▶ refused `engine_closed`
 *     │
 *     ├── `maxQueued` calls wait already ────────────────▶ refused `queue_full`
 *     ├── signal already aborted ────────────────────────▶ refused `cancelled`
 *     └── closed ────────────────────────────────────────▶ refused `engine_closed`
 * ```
 *
 * A call leaves `waiting` exactly once. A slot is held from the start of a call until its entry releases it.
 *
 * A released slot goes at once to the next call in the fair queue's order. A new call may start directly only while no
 * waiting call could start, so neither way starves the other.
 */
import { AbortWatch } from "./abort-watch.ts";
import { DeadlineWheel } from "./deadline-wheel.ts";
import { DrainRate } from "./drain-rate.ts";
import type { QueueEntry, Slot } from "./queue-entry.ts";
import { FairQueue } from "./fair-queue.ts";
import { clampPriority, Waiting, type ConcurrencyCap, type Tenant } from "./flows.ts";
import { Refusal, type RefusalCode } from "./queue-entry.ts";

/** Interval of deadline checks, in milliseconds: a call is refused at most twice this much too late. */
const SWEEP_MS = 2;

export interface SchedulerLimits {
  /** Maximum number of waiting calls. */
  readonly maxQueued: number;
  /** Maximum number of running calls. */
  readonly concurrency: number;
  /** Maximum number of running calls of one tool, unless the request has its own; `Infinity` for no cap. */
  readonly perTool: number;
  /** Maximum number of running calls of one tenant; `Infinity` for no cap. */
  readonly perTenant: number;
}

export interface SchedulerOptions extends SchedulerLimits {
  /** Monotonic clock, in milliseconds. */
  readonly clock?: () => number;
}

export interface ScheduleRequest {
  readonly tool: string;
  readonly tenant: string;
  /** Higher starts first; rounded to a whole number between -10 and 10. */
  readonly priority: number;
  /** Maximum wait, in milliseconds. */
  readonly queueMs: number;
  /** Cap of the tool, instead of the scheduler's. The last one given applies to all calls of the tool. */
  readonly perTool?: number | undefined;
  /** Cancels the call while it waits. A started call must watch the signal itself. */
  readonly signal?: AbortSignal | undefined;
}

export interface SchedulerStats {
  readonly queued: number;
  readonly running: number;
  readonly maxQueued: number;
  readonly concurrency: number;
}

export class Scheduler {
  #limits: SchedulerLimits;
  readonly #clock: () => number;
  readonly #fair: FairQueue;
  readonly #deadlines: DeadlineWheel;
  readonly #aborts: AbortWatch;
  readonly #drainRate = new DrainRate();
  #completed = 0;
  #isClosed = false;
  #isStarting = false;
  #sweepTimer: NodeJS.Timeout | undefined = undefined;
  #idleWaiters: (() => void)[] = [];
  #lent = 0;

  constructor(options: SchedulerOptions) {
    const { concurrency, perTenant, clock = () => performance.now() } = options;
    requireLimits(options);
    this.#limits = options;
    this.#clock = clock;
    this.#fair = new FairQueue({ concurrency, perTenant, clock });
    this.#deadlines = new DeadlineWheel(SWEEP_MS, clock());
    this.#aborts = new AbortWatch((call) =>
      this.#refuse(call, "cancelled", "the call was cancelled while it waited in the queue"),
    );
  }

  /**
   * Sets other limits. Running calls continue, even beyond them; waiting calls that now may start are started. An
   * earlier call keeps the cap of its tool.
   */
  use(limits: SchedulerLimits): void {
    requireLimits(limits);
    this.#limits = limits;
    this.#fair.use(limits);
    this.#startWaiting();
  }

  /** Starts the entry as soon as it has a slot, before returning if it need not wait; or refuses it. */
  add(request: ScheduleRequest, entry: QueueEntry): void {
    if (this.#isClosed) return refuse(entry, "engine_closed", "the engine is closing and accepts no more calls");
    if (request.signal?.aborted === true) {
      return refuse(entry, "cancelled", "the call was cancelled before it started");
    }
    const cap = this.#fair.capOf(request.tool, request.perTool ?? this.#limits.perTool);
    const tenant = this.#limits.perTenant !== Infinity ? this.#fair.tenant(request.tenant) : undefined;
    if (this.#fair.claim(cap, tenant)) return startIn(new HeldSlot(this.#release, cap, tenant), entry, 0);
    if (this.#isFull()) return this.#refuseFull(entry, cap, tenant);
    this.#wait(request, cap, entry);
  }

  /** Refuses new calls. Waiting calls are refused as well, or may still start. */
  close(options: { readonly refuseWaiting: boolean }): void {
    this.#isClosed = true;
    if (!options.refuseWaiting) return;
    for (const call of this.#deadlines.clear()) {
      this.#refuse(call, "engine_closed", "the engine closed while the call waited in the queue");
    }
  }

  /** Resolves when nothing runs or waits. */
  idle(): Promise<void> {
    if (this.#isIdle) return Promise.resolve();
    return new Promise((resolve) => this.#idleWaiters.push(resolve));
  }

  /** Slot outside the concurrency limit, for a child call: it never waits, and counts as running. */
  lend(): Slot {
    this.#lent++;
    let isHeld = true;
    return {
      release: () => {
        if (isHeld) this.#lent--;
        isHeld = false;
      },
    };
  }

  stats(): SchedulerStats {
    return {
      queued: this.#fair.waiting,
      running: this.#fair.running + this.#lent,
      maxQueued: this.#limits.maxQueued,
      concurrency: this.#limits.concurrency,
    };
  }

  get #isIdle(): boolean {
    return this.#fair.running === 0 && this.#fair.waiting === 0;
  }

  readonly #release = (cap: ConcurrencyCap, tenant: Tenant | undefined): void => {
    this.#completed++;
    this.#fair.release(cap, tenant);
    if (this.#fair.waiting > 0) this.#startWaiting();
    if (this.#isIdle) this.#announceIdle();
  };

  /**
   * Starts all calls that may start now. A loop, not recursion, because a start may release its slot before it returns.
   */
  #startWaiting(): void {
    if (this.#isStarting) return;
    this.#isStarting = true;
    for (let call = this.#fair.take(); call !== undefined; call = this.#fair.take()) {
      this.#deadlines.remove(call);
      this.#aborts.remove(call);
      const slot = new HeldSlot(this.#release, call.cap, call.flow.tenant);
      startIn(slot, call.entry, call.startedAtMs - call.enqueuedAtMs);
    }
    this.#isStarting = false;
  }

  #wait(request: ScheduleRequest, cap: ConcurrencyCap, entry: QueueEntry): void {
    const nowMs = this.#clock();
    const flow = this.#fair.tenant(request.tenant).flow(clampPriority(request.priority));
    const call = new Waiting(entry, flow, cap, request.signal, nowMs, request.queueMs);
    this.#aborts.add(call);
    this.#deadlines.add(call);
    if (this.#sweepTimer === undefined) {
      this.#drainRate.begin(this.#completed, nowMs);
      this.#sweepTimer = setInterval(this.#sweep, SWEEP_MS);
    }
    this.#fair.add(call);
    this.#startWaiting();
  }

  #refuse(call: Waiting, code: RefusalCode, message: string): void {
    this.#deadlines.remove(call);
    this.#aborts.remove(call);
    this.#fair.withdraw(call);
    call.entry.refuse(new Refusal(code, message, this.#clock() - call.enqueuedAtMs));
    if (this.#isIdle) this.#announceIdle();
  }

  #isFull(): boolean {
    // The call may have raised its tool's cap, which lets others start and make room.
    if (this.#fair.waiting >= this.#limits.maxQueued) this.#startWaiting();
    return this.#fair.waiting >= this.#limits.maxQueued;
  }

  #refuseFull(entry: QueueEntry, cap: ConcurrencyCap, tenant: Tenant | undefined): void {
    this.#fair.forget(cap, tenant);
    const queued = this.#fair.waiting;
    const message = `the queue is full: ${queued} calls are waiting`;
    entry.refuse(new Refusal("queue_full", message, 0, this.#drainRate.retryAfterMs(queued)));
  }

  /** The only timer of all waiting calls. It keeps the process alive, because their callers wait for results. */
  readonly #sweep = (): void => {
    const nowMs = this.#clock();
    this.#drainRate.observe(this.#completed, nowMs);
    for (const call of this.#deadlines.expire(nowMs)) {
      const waitedMs = Math.round(nowMs - call.enqueuedAtMs);
      this.#refuse(call, "queue_timeout", `the call waited ${waitedMs} ms for a slot, longer than its limits.queueMs`);
    }
    if (this.#fair.waiting > 0) return;
    clearInterval(this.#sweepTimer);
    this.#sweepTimer = undefined;
  };

  #announceIdle(): void {
    if (this.#idleWaiters.length === 0) return;
    const waiters = this.#idleWaiters;
    this.#idleWaiters = [];
    for (const resolve of waiters) resolve();
  }
}

class HeldSlot implements Slot {
  readonly #free: (cap: ConcurrencyCap, tenant: Tenant | undefined) => void;
  readonly #cap: ConcurrencyCap;
  readonly #tenant: Tenant | undefined;
  #isFree = false;

  constructor(
    free: (cap: ConcurrencyCap, tenant: Tenant | undefined) => void,
    cap: ConcurrencyCap,
    tenant: Tenant | undefined,
  ) {
    this.#free = free;
    this.#cap = cap;
    this.#tenant = tenant;
  }

  release(): void {
    if (this.#isFree) return;
    this.#isFree = true;
    this.#free(this.#cap, this.#tenant);
  }
}

/** Starts an entry. An entry that throws despite its contract releases its slot and does not block others. */
function startIn(slot: Slot, entry: QueueEntry, queueMs: number): void {
  try {
    entry.start(slot, queueMs);
  } catch (error) {
    slot.release();
    process.emitWarning(error instanceof Error ? error : new Error(String(error)), "GloveboxScheduleWarning");
  }
}

function refuse(entry: QueueEntry, code: RefusalCode, message: string): void {
  entry.refuse(new Refusal(code, message, 0));
}

function requireLimits({ maxQueued, concurrency, perTool, perTenant }: SchedulerLimits): void {
  requireCount("maxQueued", maxQueued, 0);
  requireCount("concurrency", concurrency, 1);
  requireCount("perTool", perTool, 1);
  requireCount("perTenant", perTenant, 1);
}

function requireCount(name: string, value: number, least: number): void {
  if (value === Infinity || (Number.isInteger(value) && value >= least)) return;
  throw new RangeError(`${name} must be a whole number of at least ${least}, or Infinity`);
}
