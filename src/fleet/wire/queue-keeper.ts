import { answerOf } from "../redis/reply.ts";
import type { Fleet } from "./fleet.ts";

/** BullMQ's keys of a queue besides its jobs: lists of ids, counters, settings. BullMQ sets no expiry on them. */
const PARTS = ["active", "events", "id", "marker", "meta", "pc", "prioritized", "stalled", "wait"] as const;
/** Their lifetime after the last member of the fleet has left. */
const TTL_MS = 3_600_000;

/** Extends the lifetime of a fleet's queue while the fleet has a member, so that its keys expire afterwards. */
export class QueueKeeper {
  readonly #fleet: Fleet;
  readonly #queue: string;
  #timer: NodeJS.Timeout | undefined;

  constructor(fleet: Fleet, protocol: number) {
    this.#fleet = fleet;
    this.#queue = fleet.queueOf(protocol);
  }

  start(): void {
    this.#timer ??= setInterval(() => void this.#keep(), this.#fleet.timings.keepMs);
    void this.#keep();
  }

  /** Extends the lifetimes a last time. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#keep();
  }

  async #keep(): Promise<void> {
    const { connection, keys } = this.#fleet;
    await answerOf(connection, (client) => {
      const pipeline = client.pipeline();
      for (const part of PARTS) pipeline.pexpire(keys.of(this.#queue, part), TTL_MS);
      return pipeline.exec();
    });
  }
}
