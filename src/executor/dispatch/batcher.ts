import type { ToolScript } from "../../base/protocol/script.ts";
import type { Batch } from "./batch.ts";
import type { LocalCall } from "./local-call.ts";
import type { WorkerConnection } from "./worker-connection.ts";
import { ToolQueue } from "./tool-queue.ts";
import { TurnTimeEstimate } from "./turn-time-estimate.ts";
import { placeLine } from "./placement.ts";

/**
 * Lets calls wait for a worker, tool by tool, and sends them on together. Calls that become ready in the same turn of
 * the event loop are placed at its end, so a lone call waits for nothing; and no more is sent ahead than keeps the
 * workers busy, so that the rest can still go wherever there is room first.
 */
export class Batcher {
  readonly #lanes: ReadonlySet<WorkerConnection>;
  readonly #onBatch: (size: number) => void;
  readonly #paces = new WeakMap<ToolScript, TurnTimeEstimate>();
  readonly #lines = new Map<ToolScript, Map<string, ToolQueue>>();
  /** Lines in which calls wait, in the order of their turns: whoever had one goes behind the others. */
  readonly #waiting = new Set<ToolQueue>();
  #isScheduled = false;

  constructor(lanes: ReadonlySet<WorkerConnection>, onBatch: (size: number) => void) {
    this.#lanes = lanes;
    this.#onBatch = onBatch;
  }

  add(flight: LocalCall): void {
    const line = this.#line(flight.job.script, flight.job.tenant);
    line.add(flight);
    this.#waiting.add(line);
    this.schedule();
  }

  /** Calls that were sent and are to start again go first. */
  putBack({ script, tenant }: Batch, flights: readonly LocalCall[]): void {
    const line = this.#line(script, tenant);
    line.putBack(flights);
    this.#waiting.add(line);
    this.schedule();
  }

  /** Gives up the calls of a tool, in all of its versions, that wait; where a tenant is named, only that one's. */
  withdraw(tool: string, tenant?: string): LocalCall[] {
    const flights: LocalCall[] = [];
    for (const [script, tenants] of this.#lines) {
      if (script.name !== tool) continue;
      for (const line of tenants.values()) {
        if (tenant !== undefined && line.tenant !== tenant) continue;
        flights.push(...line.clear());
        this.#retire(line);
      }
    }
    return flights;
  }

  /** Places what waits at the end of this turn of the event loop. */
  schedule(): void {
    if (this.#isScheduled || this.#waiting.size === 0) return;
    this.#isScheduled = true;
    process.nextTick(() => {
      this.#isScheduled = false;
      this.#placeAll();
    });
  }

  /** One batch of each line in turn, until nothing fits any more. */
  #placeAll(): void {
    const nowMs = performance.now();
    // Lanes that are left to empty for somebody who needs one whole.
    const held = new Set<WorkerConnection>();
    for (let isPlaced = true; isPlaced && this.#waiting.size > 0;) {
      isPlaced = false;
      const lines = [...this.#waiting];
      for (const line of lines) {
        const isEmpty = line.isEmpty;
        if (!isEmpty && this.#placeNext(line, nowMs, held)) {
          isPlaced = true;
          // Whoever had a turn goes behind the others.
          this.#waiting.delete(line);
          this.#waiting.add(line);
        }
        if (isEmpty || line.isEmpty) this.#retire(line);
      }
    }
    for (const lane of this.#lanes) lane.flush();
  }

  #placeNext(line: ToolQueue, nowMs: number, held: Set<WorkerConnection>): boolean {
    const lane = placeLine(this.#lanes, line, nowMs, held);
    if (lane === null) return false;
    const batch = line.take();
    for (const flight of batch.flights) flight.start(lane, nowMs);
    const message = batch.message();
    if (message === null) return false;
    lane.bring(line.script, line.tenant);
    lane.begin(message.run, batch, message, nowMs);
    this.#onBatch(batch.flights.length);
    return true;
  }

  #line(script: ToolScript, tenant: string): ToolQueue {
    let tenants = this.#lines.get(script);
    if (tenants === undefined) this.#lines.set(script, (tenants = new Map()));
    let line = tenants.get(tenant);
    if (line === undefined) tenants.set(tenant, (line = new ToolQueue(script, tenant, this.#pace(script))));
    return line;
  }

  /** Lines are kept only while calls wait in them. */
  #retire(line: ToolQueue): void {
    this.#waiting.delete(line);
    const tenants = this.#lines.get(line.script);
    tenants?.delete(line.tenant);
    if (tenants?.size === 0) this.#lines.delete(line.script);
  }

  #pace(script: ToolScript): TurnTimeEstimate {
    const known = this.#paces.get(script);
    if (known !== undefined) return known;
    const pace = new TurnTimeEstimate();
    this.#paces.set(script, pace);
    return pace;
  }
}
