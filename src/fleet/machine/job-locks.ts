import { Queue } from "bullmq";
import type { Fleet } from "../wire/fleet.ts";

/** Says of jobs that this machine still has them, where nothing long can be before it. */
export class JobLocks {
  readonly #queue: Queue;
  readonly #lockMs: number;

  constructor(fleet: Fleet, protocol: number) {
    const { pulse, keys, timings } = fleet;
    this.#lockMs = Math.ceil(timings.lockMs);
    const name = fleet.queueOf(protocol);
    this.#queue = new Queue(name, { connection: pulse.client, prefix: keys.prefix, skipMetasUpdate: true });
    // What is wrong with the connection is seen by whoever needs it.
    this.#queue.on("error", () => undefined);
  }

  /** `tokens`: with which each of them was taken. Answers which are not this machine's any more. Rejects where Redis does not say. */
  extend(ids: readonly string[], tokens: readonly string[]): Promise<readonly string[]> {
    return this.#queue.backend.extendLocks([...ids], [...tokens], this.#lockMs);
  }

  close(): Promise<void> {
    return this.#queue.close();
  }
}
