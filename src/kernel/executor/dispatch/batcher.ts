import type { Failure } from "../../base/protocol/messages.ts";
import { homeOf, type ToolScript } from "../../base/protocol/script.ts";
import type { Batch } from "./batch.ts";
import type { LocalCall } from "./local-call.ts";
import type { WorkerConnection } from "./worker-connection.ts";
import { ToolQueue } from "./tool-queue.ts";
import { TurnTimeEstimate } from "./turn-time-estimate.ts";
import { type PlacementTerms, placeQueue } from "./placement.ts";

/**
 * Maximum number of a queue's batches in flight for each worker: while it runs one, the host reads the replies of the
 * last one and sends the next. Calls that arrive meanwhile form the next batch.
 */
const IN_FLIGHT_MAX = 2;
/** Time after a quick call for which slow calls leave a worker free, in milliseconds. */
const RESERVE_MS = 1_000;

/**
 * Queues calls tool by tool and sends them to workers in batches. Calls that arrive in one turn of the event loop are
 * placed at its end, so a lone call does not wait; only enough work is sent ahead to keep the workers busy, so that the
 * rest can still go to the first worker with room.
 */
export class Batcher {
  readonly #connections: ReadonlySet<WorkerConnection>;
  readonly #onBatch: (size: number) => void;
  readonly #onFail: (callNumber: number, failure: Failure) => void;
  readonly #turnTimes = new WeakMap<ToolScript, TurnTimeEstimate>();
  readonly #queues = new Map<ToolScript, Map<string, ToolQueue>>();
  /** Queues with waiting calls, in round-robin order. */
  readonly #waiting = new Set<ToolQueue>();
  #idle: ToolQueue | null = null;
  /** Calls to be started again, whose earlier responses are being fetched. */
  readonly #preparing = new Set<LocalCall>();
  #isScheduled = false;
  /** Time of the last batch of a quick tool. */
  #quickMs = -Infinity;
  #later: NodeJS.Timeout | null = null;

  /** `onFail`: called if a call cannot be started again. */
  constructor(
    connections: ReadonlySet<WorkerConnection>,
    onBatch: (size: number) => void,
    onFail: (callNumber: number, failure: Failure) => void,
  ) {
    this.#connections = connections;
    this.#onBatch = onBatch;
    this.#onFail = onFail;
  }

  add(call: LocalCall): void {
    if (!this.#prepare(call)) this.#enqueue(call);
  }

  /** Fetches the earlier responses of a call that starts again; returns whether to wait for them. */
  #prepare(call: LocalCall): boolean {
    const fetched = call.starts === 0 ? null : (call.job.replay?.prepare?.() ?? null);
    if (fetched === null) return false;
    this.#preparing.add(call);
    void fetched.then((failure) => {
      if (!this.#preparing.delete(call) || call.isOver) return;
      if (failure !== null) return this.#onFail(call.callNumber, failure);
      // The order of replayed responses only fits a message with a single call.
      if (call.job.replay?.plan() !== "") call.alone = true;
      this.#enqueue(call);
    });
    return true;
  }

  #enqueue(call: LocalCall): void {
    const queue = this.#queueFor(call.job.script, call.job.tenant);
    queue.add(call);
    this.#waiting.add(queue);
    this.schedule();
  }

  /** Puts calls back at the head of their queue for another start. */
  putBack({ script, tenant }: Batch, calls: readonly LocalCall[]): void {
    const queue = this.#queueFor(script, tenant);
    queue.putBack(calls.filter((call) => !this.#prepare(call)));
    this.#waiting.add(queue);
    this.schedule();
  }

  /** Removes the waiting calls of a tool, in all of its versions; with a tenant, only that tenant's. */
  withdraw(tool: string, tenant?: string): LocalCall[] {
    const calls: LocalCall[] = [];
    for (const [script, tenants] of this.#queues) {
      if (script.name !== tool) continue;
      for (const queue of tenants.values()) {
        if (tenant !== undefined && queue.tenant !== tenant) continue;
        calls.push(...queue.clear());
        this.#rest(queue);
      }
    }
    for (const call of this.#preparing) {
      const { script, tenant: own } = call.job;
      if (script.name !== tool || (tenant !== undefined && own !== tenant)) continue;
      this.#preparing.delete(call);
      if (!call.isOver) calls.push(call);
    }
    return calls;
  }

  /** Places waiting calls at the end of this turn of the event loop. */
  schedule(): void {
    if (this.#isScheduled || this.#waiting.size === 0) return;
    this.#isScheduled = true;
    process.nextTick(() => {
      this.#isScheduled = false;
      this.#placeAll();
    });
  }

  /** Places one batch of each queue in turn, until no connection has room. */
  #placeAll(): void {
    const nowMs = performance.now();
    const terms = { held: [], isReserved: nowMs - this.#quickMs < RESERVE_MS };
    for (let isPlaced = true; isPlaced && this.#waiting.size > 0;) {
      isPlaced = false;
      const queues = [...this.#waiting];
      for (const queue of queues) {
        const isEmpty = queue.isEmpty;
        if (!isEmpty && this.#placeNext(queue, nowMs, terms)) {
          isPlaced = true;
          if (this.#waiting.size > 1) {
            this.#waiting.delete(queue);
            this.#waiting.add(queue);
          }
        }
        if (isEmpty || queue.isEmpty) this.#rest(queue);
      }
    }
    for (const connection of this.#connections) connection.flush();
    // Slow calls that only the reserve keeps waiting are placed when it ends.
    if (terms.isReserved && this.#waiting.size > 0 && this.#later === null) {
      this.#later = setTimeout(this.#placeLater, RESERVE_MS).unref();
    }
  }

  readonly #placeLater = (): void => {
    this.#later = null;
    this.schedule();
  };

  #placeNext(queue: ToolQueue, nowMs: number, terms: PlacementTerms): boolean {
    const shares = this.#connections.size * IN_FLIGHT_MAX - queue.inFlight;
    if (shares <= 0) return false;
    const connection = placeQueue(this.#connections, queue, nowMs, terms);
    if (connection === null) return false;
    if (!queue.turnTime.isLong) this.#quickMs = nowMs;
    const batch = queue.take(shares);
    const clockMs = Date.now();
    for (const call of batch.calls) call.start(connection, nowMs, clockMs);
    const message = batch.message();
    if (message === null) {
      batch.onEnd();
      return false;
    }
    connection.upload(queue.script, queue.home);
    for (const script of batch.calls[0]?.job.children?.scripts ?? [])
      connection.upload(script, homeOf(script.key, queue.tenant));
    connection.begin(message.callNumber, batch, message, nowMs);
    // A waiting call has made capability calls, so it runs alone when it starts again.
    if (batch.calls.length === 1 && batch.calls[0]?.isWatched === true) batch.calls[0].watch();
    this.#onBatch(batch.calls.length);
    return true;
  }

  #queueFor(script: ToolScript, tenant: string): ToolQueue {
    let tenants = this.#queues.get(script);
    if (tenants === undefined) this.#queues.set(script, (tenants = new Map()));
    let queue = tenants.get(tenant);
    if (queue !== undefined) return queue;
    queue = new ToolQueue(script, tenant, this.#turnTimeOf(script), this.#retire);
    tenants.set(tenant, queue);
    return queue;
  }

  /** A queue without waiting calls is kept while batches of it are in flight. */
  #rest(queue: ToolQueue): void {
    this.#waiting.delete(queue);
    if (queue.inFlight === 0) this.#retire(queue);
  }

  /** Keeps the last queue that became idle: the next call is mostly for it. */
  readonly #retire = (queue: ToolQueue): void => {
    const last = this.#idle;
    this.#idle = queue;
    if (last !== null && last !== queue && last.inFlight === 0 && last.isEmpty) this.#drop(last);
  };

  #drop(queue: ToolQueue): void {
    const tenants = this.#queues.get(queue.script);
    if (tenants?.get(queue.tenant) === queue) tenants.delete(queue.tenant);
    if (tenants?.size === 0) this.#queues.delete(queue.script);
  }

  #turnTimeOf(script: ToolScript): TurnTimeEstimate {
    const known = this.#turnTimes.get(script);
    if (known !== undefined) return known;
    const turnTime = new TurnTimeEstimate();
    this.#turnTimes.set(script, turnTime);
    return turnTime;
  }
}
