/**
 * Admission, order and slots: the stage of a call's life between acceptance and its start.
 *
 * ```text
 *                    a slot is free, no cap is reached,
 *                    and nothing that could start waits
 *   run() ─────────────────────────────────────────────────────────▶ running ──▶ settled
 *     │                                                                 ▲          as `start` settles
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
 * A call leaves `waiting` exactly once. A slot is held from the start of a call until the promise of its `start` has
 * settled, whatever becomes of the call for its caller: a worker that is still busy has no room for another call.
 *
 * p-queue holds the calls that wait and starts them in the order of the fair queue. A call that need not wait takes
 * its slot directly, because p-queue costs more than the whole rest of the stage. Both ways take slots from one count,
 * in the fair queue, and the direct way is open only while no waiting call could start; so together they never exceed
 * the concurrency, and neither starves the other.
 */
import PQueue from "p-queue";
import { AbortWatch } from "./abort-watch.ts";
import { DeadlineWheel } from "./deadline-wheel.ts";
import { DrainRate } from "./drain-rate.ts";
import { FairQueue, type WaitOptions } from "./fair-queue.ts";
import { clampPriority, Waiting, type Gate, type Tenant } from "./lanes.ts";
import { Refusal, type RefusalCode } from "./refusal.ts";

/** How often the deadlines of waiting calls are looked at: a call is refused at most twice this much too late. */
const SWEEP_MS = 20;

export interface SchedulerOptions {
  /** How many calls may wait at once. */
  readonly maxQueued: number;
  /** How many calls may run at once. */
  readonly concurrency: number;
  /** How many calls of one tool may run at once, unless the request says otherwise; `Infinity` for no cap. */
  readonly perTool: number;
  /** How many calls of one tenant may run at once; `Infinity` for no cap. */
  readonly perTenant: number;
  /** Milliseconds since any fixed point, never going back. */
  readonly clock?: () => number;
}

export interface ScheduleRequest {
  readonly tool: string;
  readonly tenant: string;
  /** Higher starts first; cut to a whole number between -10 and 10. */
  readonly priority: number;
  /** The longest wait. */
  readonly queueMs: number;
  /** The cap of the tool, instead of the scheduler's. It is the tool's: the last one given counts for all its calls. */
  readonly perTool?: number | undefined;
  /** Cancels the call while it waits. Once it has started, its `start` has to listen by itself. */
  readonly signal?: AbortSignal | undefined;
}

export interface SchedulerStats {
  readonly queued: number;
  readonly running: number;
  readonly maxQueued: number;
  readonly concurrency: number;
}

export class Scheduler {
  readonly #maxQueued: number;
  readonly #concurrency: number;
  readonly #perTool: number;
  readonly #isTenantCapped: boolean;
  readonly #clock: () => number;
  readonly #fair: FairQueue;
  readonly #queue: PQueue<FairQueue, WaitOptions>;
  readonly #deadlines: DeadlineWheel;
  readonly #aborts: AbortWatch;
  readonly #drainRate = new DrainRate();
  #completed = 0;
  #isClosed = false;
  #sweepTimer: NodeJS.Timeout | undefined = undefined;
  #idleWaiters: (() => void)[] = [];

  constructor(options: SchedulerOptions) {
    const { maxQueued, concurrency, perTool, perTenant, clock = () => performance.now() } = options;
    requireCount("maxQueued", maxQueued, 0);
    requireCount("concurrency", concurrency, 1);
    requireCount("perTool", perTool, 1);
    requireCount("perTenant", perTenant, 1);
    this.#maxQueued = maxQueued;
    this.#concurrency = concurrency;
    this.#perTool = perTool;
    this.#isTenantCapped = perTenant !== Infinity;
    this.#clock = clock;
    const fair = new FairQueue({ concurrency, perTenant, clock });
    this.#fair = fair;
    // p-queue insists on making its queue itself, so it gets a class that gives it the one that is already there.
    // Its own concurrency stays infinite: slots are counted once, by the fair queue, which is empty without a slot.
    this.#queue = new PQueue<FairQueue, WaitOptions>({ queueClass: returning(fair) });
    this.#deadlines = new DeadlineWheel(SWEEP_MS, clock());
    this.#aborts = new AbortWatch((call) => this.#refuse(call, "cancelled", "The call was cancelled while it waited"));
  }

  /**
   * Calls `start` once, as soon as the call gets a slot, with the time it waited; the slot is free again when the
   * promise of `start` settles. Resolves or rejects like that promise, or resolves with a `Refusal` when the call did
   * not start. The `start` of a call that need not wait runs before `run` returns.
   */
  run<T>(request: ScheduleRequest, start: (queueMs: number) => Promise<T>): Promise<T | Refusal> {
    if (this.#isClosed) return refused("engine_closed", "The engine takes no more calls");
    if (request.signal?.aborted === true) return refused("cancelled", "The call was cancelled before it started");
    const gate = this.#fair.gate(request.tool, request.perTool ?? this.#perTool);
    const tenant = this.#isTenantCapped ? this.#fair.tenant(request.tenant) : undefined;
    if (this.#fair.claim(gate, tenant)) return this.#startAtOnce(start, gate, tenant);
    if (this.#isFull()) return this.#refuseFull(gate, tenant);
    return this.#wait(request, gate, start);
  }

  /** Takes no more calls. Calls that wait are refused as well, or allowed to run. */
  close(options: { readonly refuseWaiting: boolean }): void {
    this.#isClosed = true;
    if (!options.refuseWaiting) return;
    for (const call of this.#deadlines.clear()) {
      this.#refuse(call, "engine_closed", "The engine closed while the call waited");
    }
  }

  /** Resolves when nothing runs or waits. */
  idle(): Promise<void> {
    if (this.#isIdle) return Promise.resolve();
    return new Promise((resolve) => this.#idleWaiters.push(resolve));
  }

  stats(): SchedulerStats {
    return {
      queued: this.#fair.waiting,
      running: this.#fair.running,
      maxQueued: this.#maxQueued,
      concurrency: this.#concurrency,
    };
  }

  get #isIdle(): boolean {
    return this.#fair.running === 0 && this.#fair.waiting === 0;
  }

  #startAtOnce<T>(start: (queueMs: number) => Promise<T>, gate: Gate, tenant: Tenant | undefined): Promise<T> {
    const settled = startSafely(start, 0);
    const release = (): void => {
      this.#release(gate, tenant);
      // p-queue knows nothing of this call, so it has to be told that there is a slot again.
      if (this.#fair.waiting > 0) this.#startWaiting();
    };
    // The slot is given back before the caller hears of the result, so a caller who calls again finds it free.
    void settled.then(release, release);
    return settled;
  }

  #startWaited<T>(call: Waiting, start: (queueMs: number) => Promise<T>): Promise<T> {
    this.#deadlines.remove(call);
    this.#aborts.remove(call);
    const settled = startSafely(start, call.startedAtMs - call.enqueuedAtMs);
    // p-queue looks for the next call by itself once this promise has settled, and after this handler.
    const release = (): void => this.#release(call.gate, call.flow.tenant);
    void settled.then(release, release);
    return settled;
  }

  #release(gate: Gate, tenant: Tenant | undefined): void {
    this.#completed++;
    this.#fair.release(gate, tenant);
    if (this.#isIdle) this.#announceIdle();
  }

  /** Lets p-queue start whatever may start now: setting its concurrency makes it look. */
  #startWaiting(): void {
    this.#queue.concurrency = Infinity;
  }

  #wait<T>(request: ScheduleRequest, gate: Gate, start: (queueMs: number) => Promise<T>): Promise<T | Refusal> {
    const nowMs = this.#clock();
    const flow = this.#fair.tenant(request.tenant).flow(clampPriority(request.priority));
    const call = new Waiting(flow, gate, request.signal, nowMs, request.queueMs);
    this.#deadlines.add(call);
    this.#aborts.add(call);
    if (this.#sweepTimer === undefined) {
      this.#drainRate.begin(this.#completed, nowMs);
      this.#sweepTimer = setInterval(this.#sweep, SWEEP_MS);
    }
    const task = (): Refusal | Promise<T> => call.refusal ?? this.#startWaited(call, start);
    return this.#queue.add<T | Refusal>(task, { waiting: call });
  }

  #refuse(call: Waiting, code: RefusalCode, message: string): void {
    this.#deadlines.remove(call);
    this.#aborts.remove(call);
    this.#fair.withdraw(call);
    call.refusal = new Refusal(code, message, this.#clock() - call.enqueuedAtMs);
    // p-queue only lets go of a task that has run. This one takes no slot, and only returns its refusal.
    void call.run?.();
    if (this.#isIdle) this.#announceIdle();
  }

  #isFull(): boolean {
    if (this.#fair.waiting < this.#maxQueued) return false;
    // Between the end of a call and p-queue's next look, a waiting call may be about to start and to make room.
    if (this.#fair.size > 0) this.#startWaiting();
    return this.#fair.waiting >= this.#maxQueued;
  }

  #refuseFull(gate: Gate, tenant: Tenant | undefined): Promise<Refusal> {
    this.#fair.forget(gate, tenant);
    const queued = this.#fair.waiting;
    const message = `${queued} calls wait already`;
    return Promise.resolve(new Refusal("queue_full", message, 0, this.#drainRate.retryAfterMs(queued)));
  }

  /** The one timer of all waiting calls. It keeps the process alive, because somebody waits for an answer. */
  readonly #sweep = (): void => {
    const nowMs = this.#clock();
    this.#drainRate.observe(this.#completed, nowMs);
    for (const call of this.#deadlines.expire(nowMs)) {
      const waitedMs = Math.round(nowMs - call.enqueuedAtMs);
      this.#refuse(call, "queue_timeout", `The call waited ${waitedMs} ms for a slot`);
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

function refused(code: RefusalCode, message: string): Promise<Refusal> {
  return Promise.resolve(new Refusal(code, message, 0));
}

/** A `start` that throws counts as one that rejects, so that its slot comes back the same way. */
function startSafely<T>(start: (queueMs: number) => Promise<T>, queueMs: number): Promise<T> {
  try {
    return start(queueMs);
  } catch (error) {
    return Promise.reject(error);
  }
}

function returning(queue: FairQueue): new () => FairQueue {
  return class extends FairQueue {
    constructor() {
      super({ concurrency: 1, perTenant: 1, clock: Date.now });
      return queue;
    }
  };
}

function requireCount(name: string, value: number, least: number): void {
  if (value === Infinity || (Number.isInteger(value) && value >= least)) return;
  throw new RangeError(`${name} must be a whole number of at least ${least}, or Infinity`);
}
