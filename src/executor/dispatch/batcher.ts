import type { ToolScript } from "../../base/protocol/script.ts";
import type { Batch } from "./batch.ts";
import type { LocalCall } from "./local-call.ts";
import type { WorkerConnection } from "./worker-connection.ts";
import { ToolQueue } from "./tool-queue.ts";
import { TurnTimeEstimate } from "./turn-time-estimate.ts";
import { placeQueue } from "./placement.ts";

/**
 * Queues calls tool by tool and sends them to workers in batches. Calls that arrive in one turn of the event loop are
 * placed at its end, so a lone call does not wait; only enough work is sent ahead to keep the workers busy, so that the
 * rest can still go to the first worker with room.
 */
export class Batcher {
  readonly #connections: ReadonlySet<WorkerConnection>;
  readonly #onBatch: (size: number) => void;
  readonly #turnTimes = new WeakMap<ToolScript, TurnTimeEstimate>();
  readonly #queues = new Map<ToolScript, Map<string, ToolQueue>>();
  /** Queues with waiting calls, in round-robin order. */
  readonly #waiting = new Set<ToolQueue>();
  #isScheduled = false;

  constructor(connections: ReadonlySet<WorkerConnection>, onBatch: (size: number) => void) {
    this.#connections = connections;
    this.#onBatch = onBatch;
  }

  add(call: LocalCall): void {
    const line = this.#queueFor(call.job.script, call.job.tenant);
    line.add(call);
    this.#waiting.add(line);
    this.schedule();
  }

  /** Puts calls back at the head of their queue for another start. */
  putBack({ script, tenant }: Batch, calls: readonly LocalCall[]): void {
    const line = this.#queueFor(script, tenant);
    line.putBack(calls);
    this.#waiting.add(line);
    this.schedule();
  }

  /** Removes the waiting calls of a tool, in all of its versions; with a tenant, only that tenant's. */
  withdraw(tool: string, tenant?: string): LocalCall[] {
    const calls: LocalCall[] = [];
    for (const [script, tenants] of this.#queues) {
      if (script.name !== tool) continue;
      for (const line of tenants.values()) {
        if (tenant !== undefined && line.tenant !== tenant) continue;
        calls.push(...line.clear());
        this.#retire(line);
      }
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

  /** Places one batch of each queue in turn, until nothing more fits. */
  #placeAll(): void {
    const nowMs = performance.now();
    // Connections that get no more work until they are idle, for a call that needs one alone.
    const held = new Set<WorkerConnection>();
    for (let isPlaced = true; isPlaced && this.#waiting.size > 0;) {
      isPlaced = false;
      const lines = [...this.#waiting];
      for (const line of lines) {
        const isEmpty = line.isEmpty;
        if (!isEmpty && this.#placeNext(line, nowMs, held)) {
          isPlaced = true;
          this.#waiting.delete(line);
          this.#waiting.add(line);
        }
        if (isEmpty || line.isEmpty) this.#retire(line);
      }
    }
    for (const connection of this.#connections) connection.flush();
  }

  #placeNext(line: ToolQueue, nowMs: number, held: Set<WorkerConnection>): boolean {
    const connection = placeQueue(this.#connections, line, nowMs, held);
    if (connection === null) return false;
    const batch = line.take();
    for (const call of batch.calls) call.start(connection, nowMs);
    const message = batch.message();
    if (message === null) return false;
    connection.upload(line.script, line.tenant);
    connection.begin(message.callNumber, batch, message, nowMs);
    this.#onBatch(batch.calls.length);
    return true;
  }

  #queueFor(script: ToolScript, tenant: string): ToolQueue {
    let tenants = this.#queues.get(script);
    if (tenants === undefined) this.#queues.set(script, (tenants = new Map()));
    let line = tenants.get(tenant);
    if (line === undefined) tenants.set(tenant, (line = new ToolQueue(script, tenant, this.#turnTimeOf(script))));
    return line;
  }

  /** Removes an empty queue. */
  #retire(line: ToolQueue): void {
    this.#waiting.delete(line);
    const tenants = this.#queues.get(line.script);
    tenants?.delete(line.tenant);
    if (tenants?.size === 0) this.#queues.delete(line.script);
  }

  #turnTimeOf(script: ToolScript): TurnTimeEstimate {
    const known = this.#turnTimes.get(script);
    if (known !== undefined) return known;
    const turnTime = new TurnTimeEstimate();
    this.#turnTimes.set(script, turnTime);
    return turnTime;
  }
}
