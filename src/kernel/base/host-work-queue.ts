import { type HeapNode, NodeHeap } from "./node-heap.ts";

/** Time of the thread that queued work may take in one turn of the event loop, in milliseconds. */
const SLICE_MS = 4;
/** After this much work, a new turn of the loop begins before the slice is counted on. */
const REARM_MS = 1;
/** Share of the host's thread that a tenant may use while others use it too, and its burst. */
const SHARE = 0.25;
const BURST_MS = 500;
/**
 * A tenant shares the thread while others use more of it than this: both over the last second or so, in milliseconds. A
 * rare piece of another tenant waits for one slice at most, and does not slow a tenant that is busy alone.
 */
const CONTENDED_USE_MS = 50;
const RECENT_MS = 1_000;
/** Least time between two reports of one tenant's throttling, in milliseconds. */
const TOLD_EVERY_MS = 1_000;
/** Maximum number of pieces of work that wait for one tenant. */
const WAITING_MAX = 10_000;
/** Least number of known tenants at which those without work and debt are forgotten. */
const TENANTS_KEPT = 1_000;
/** Number of done pieces after which a list of pieces is shortened. */
const DONE_KEPT = 1_024;

/** The party on whose behalf work is done, and that is charged for its time. */
export interface WorkPayer {
  readonly tenant: string;
  /** Charges time of the thread that the queue orders, in milliseconds. */
  spendMain(ms: number): void;
}

/** A tenant whose work on the host's thread waits because it uses more than its share. */
export interface Throttling {
  readonly tenant: string;
  /** Time until its work continues, in milliseconds. */
  readonly delayMs: number;
  /** Number of its pieces of work that wait. */
  readonly waiting: number;
}

export interface HostWorkOptions {
  /** Called when a tenant's work begins to wait for its share. */
  readonly onThrottled?: (throttling: Throttling) => void;
  /** Clock in milliseconds, and the timers of the event loop; replaced in tests. */
  readonly now?: () => number;
  readonly nextTurn?: (run: () => void) => void;
  readonly later?: (run: () => void, ms: number) => void;
}

/** Thrown when too much of a tenant's work waits. */
export class HostWorkFull extends Error {
  override readonly name = "HostWorkFull";
  readonly waitingMax = WAITING_MAX;
}

interface Piece {
  readonly payer: WorkPayer;
  readonly task: () => unknown;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** Use of the thread that fades with time: `ms` of it at `atMs`. */
interface RecentUse {
  ms: number;
  atMs: number;
}

/** The work of one tenant. `key` is its used time on the queue's common clock: the smallest is next. */
interface TenantWork extends HeapNode {
  readonly tenant: string;
  /** Pieces in order of arrival; those before `next` are done. */
  pieces: Piece[];
  next: number;
  /** Time used beyond the share, at `debtAtMs`. */
  debtMs: number;
  debtAtMs: number;
  readonly recent: RecentUse;
  /** Running mean of a piece's time. */
  meanMs: number;
  isHeld: boolean;
  /** When its throttling was last reported. */
  toldMs: number;
}

/**
 * Work of one of the host's threads on behalf of calls. A piece runs at once if this turn of the event loop has time
 * left and no other piece waits; otherwise tenants take turns by measured time, at most `SLICE_MS` in one turn of the
 * loop. A tenant that was idle starts level with the others, without credit for its idle time. Time only delays work
 * and never fails it.
 */
export class HostWorkQueue {
  readonly #tenants = new Map<string, TenantWork>();
  /** Tenants with work that may run. */
  readonly #ready = new NodeHeap<TenantWork>();
  readonly #onThrottled: (throttling: Throttling) => void;
  readonly #now: () => number;
  readonly #nextTurn: (run: () => void) => void;
  readonly #later: (run: () => void, ms: number) => void;
  /** The common clock: the key of the tenant that was last served. */
  #clock = 0;
  #arrivals = 0;
  #usedMs = 0;
  #isArmed = false;
  #isRunning = false;
  #forgetAt = TENANTS_KEPT;
  /** Use by all tenants. */
  readonly #recent: RecentUse = { ms: 0, atMs: 0 };

  constructor({ onThrottled, now, nextTurn, later }: HostWorkOptions = {}) {
    this.#onThrottled = onThrottled ?? (() => undefined);
    this.#now = now ?? (() => performance.now());
    this.#nextTurn = nextTurn ?? ((run) => void setImmediate(run));
    this.#later = later ?? ((run, ms) => void setTimeout(run, ms));
  }

  /**
   * Runs a synchronous piece of work, now or in its turn, and returns its value, or a promise of it. The time up to its
   * return is charged. Throws the errors of the task, and a `HostWorkFull` if too many pieces of the tenant wait.
   */
  run<Value>(payer: WorkPayer, task: () => Value): Value | Promise<Awaited<Value>> {
    // A piece within a piece is a part of it.
    if (this.#isRunning) return task();
    const work = this.#workOf(payer.tenant);
    const startMs = this.#now();
    const mayRun = this.#ready.size === 0 && this.#usedMs < SLICE_MS && !work.isHeld;
    if (mayRun && this.#delayOf(work, startMs) === 0) return this.#carryOut(work, payer, task, startMs) as Value;
    if (work.pieces.length - work.next >= WAITING_MAX) throw new HostWorkFull();
    return new Promise((resolve, reject) => {
      work.pieces.push({ payer, task, resolve: resolve as Piece["resolve"], reject });
      if (!work.isHeld && work.slot < 0) this.#enqueue(work);
      this.#arm();
    });
  }

  /** Charges work that was not queued, such as what follows an answer, in milliseconds. */
  note(payer: WorkPayer, ms: number): void {
    this.#charge(this.#workOf(payer.tenant), payer, ms, this.#now());
  }

  /** Number of known tenants. */
  get known(): number {
    return this.#tenants.size;
  }

  /** Estimated time until a further piece of a tenant's work would run, in milliseconds. */
  backlogMs(tenant: string): number {
    const work = this.#tenants.get(tenant);
    if (work === undefined || work.pieces.length === 0) return 0;
    const nowMs = this.#now();
    const waitingMs = (work.pieces.length - work.next) * work.meanMs;
    return this.#isContended(work, nowMs) ? this.#delayOf(work, nowMs) + waitingMs / SHARE : waitingMs;
  }

  #workOf(tenant: string): TenantWork {
    let work = this.#tenants.get(tenant);
    if (work === undefined) {
      if (this.#tenants.size >= this.#forgetAt) this.#forgetIdle();
      const node = { slot: -1, key: this.#clock, stamp: 0, seq: 0 };
      const debt = { debtMs: 0, debtAtMs: 0, meanMs: 0, isHeld: false, toldMs: Number.NEGATIVE_INFINITY };
      work = { ...node, ...debt, tenant, pieces: [], next: 0, recent: { ms: 0, atMs: 0 } };
      this.#tenants.set(tenant, work);
    }
    return work;
  }

  #enqueue(work: TenantWork): void {
    work.key = Math.max(work.key, this.#clock);
    work.seq = ++this.#arrivals;
    this.#ready.push(work);
  }

  #carryOut(work: TenantWork, payer: WorkPayer, task: () => unknown, startMs: number): unknown {
    this.#clock = Math.max(this.#clock, work.key);
    this.#isRunning = true;
    try {
      return task();
    } finally {
      this.#isRunning = false;
      const endMs = this.#now();
      this.#charge(work, payer, endMs - startMs, endMs);
    }
  }

  #charge(work: TenantWork, payer: WorkPayer, ms: number, nowMs: number): void {
    payer.spendMain(ms);
    work.key = Math.max(work.key, this.#clock) + ms;
    work.meanMs += (ms - work.meanMs) / 8;
    addUse(work.recent, ms, nowMs);
    addUse(this.#recent, ms, nowMs);
    const debtMs = this.#debtOf(work, nowMs) + ms;
    // A tenant that has the thread to itself gets no debt beyond the burst.
    work.debtMs = this.#isContended(work, nowMs) ? debtMs : Math.min(debtMs, BURST_MS);
    work.debtAtMs = nowMs;
    if (work.slot >= 0) this.#ready.moved(work);
    this.#usedMs += ms;
    if (this.#usedMs > REARM_MS) this.#arm();
  }

  /** Whether other tenants use the thread as well. */
  #isContended({ recent }: TenantWork, nowMs: number): boolean {
    return useOf(this.#recent, nowMs) - useOf(recent, nowMs) > CONTENDED_USE_MS;
  }

  #debtOf({ debtMs, debtAtMs }: TenantWork, nowMs: number): number {
    return Math.max(0, debtMs - (nowMs - debtAtMs) * SHARE);
  }

  /** Time until the tenant is within its share, in milliseconds. */
  #delayOf(work: TenantWork, nowMs: number): number {
    if (work.debtMs <= BURST_MS || !this.#isContended(work, nowMs)) return 0;
    return Math.max(0, (this.#debtOf(work, nowMs) - BURST_MS) / SHARE);
  }

  #arm(): void {
    if (this.#isArmed) return;
    this.#isArmed = true;
    this.#nextTurn(() => this.#beginTurn());
  }

  #beginTurn(): void {
    this.#isArmed = false;
    this.#usedMs = 0;
    for (let work = this.#ready.first; work !== undefined && this.#usedMs < SLICE_MS; work = this.#ready.first) {
      const startMs = this.#now();
      const delayMs = this.#delayOf(work, startMs);
      if (delayMs > 0) this.#hold(work, delayMs, startMs);
      else this.#serve(work, startMs);
    }
    if (this.#ready.size > 0) this.#arm();
  }

  #serve(work: TenantWork, startMs: number): void {
    const piece = work.pieces[work.next++];
    if (work.next === work.pieces.length) {
      work.pieces = [];
      work.next = 0;
      this.#ready.remove(work);
    } else if (work.next === DONE_KEPT) {
      work.pieces.splice(0, work.next);
      work.next = 0;
    }
    if (piece === undefined) return;
    try {
      piece.resolve(this.#carryOut(work, piece.payer, piece.task, startMs));
    } catch (error) {
      piece.reject(error);
    }
  }

  #hold(work: TenantWork, delayMs: number, nowMs: number): void {
    this.#ready.remove(work);
    work.isHeld = true;
    this.#later(() => this.#letGo(work), Math.ceil(Math.min(delayMs, RECENT_MS)));
    if (nowMs - work.toldMs < TOLD_EVERY_MS) return;
    work.toldMs = nowMs;
    this.#onThrottled({ tenant: work.tenant, delayMs, waiting: work.pieces.length - work.next });
  }

  #letGo(work: TenantWork): void {
    work.isHeld = false;
    this.#enqueue(work);
    this.#arm();
  }

  #forgetIdle(): void {
    const nowMs = this.#now();
    for (const work of this.#tenants.values()) {
      if (work.pieces.length === 0 && this.#debtOf(work, nowMs) === 0) this.#tenants.delete(work.tenant);
    }
    this.#forgetAt = Math.max(TENANTS_KEPT, 2 * this.#tenants.size);
  }
}

function useOf({ ms, atMs }: RecentUse, nowMs: number): number {
  return ms * Math.exp((atMs - nowMs) / RECENT_MS);
}

function addUse(use: RecentUse, ms: number, nowMs: number): void {
  use.ms = useOf(use, nowMs) + ms;
  use.atMs = nowMs;
}
