/** A call as its job knows it. */
interface CarriedCall {
  readonly run: number;
  readonly attempts: number;
}

/** A job of BullMQ, as its server knows it. */
export class FleetJob {
  readonly id: string;
  /** The calls that it brings, by their numbers. */
  readonly runs: readonly number[];
  /** Those of them that have not ended. */
  readonly open: Set<number>;
  readonly sentMs: number;
  /** Whether some of its calls have been begun before in another job, of which Redis knows nothing any more. */
  readonly isAgain: boolean;
  /** The machine that started it last, and the number of that start. Messages of earlier starts are ignored. */
  machine: string | null = null;
  start = 0;
  /** Whether a machine has said how the last of its calls ended: then that one takes it out of the queue. */
  isDone = false;
  /** Whether its machine is known to be gone, and no other has it yet. */
  isLost = false;
  /** When it was last heard of, or looked for. */
  seenMs: number;
  /** Since when it is known to be missing in Redis, if it was when it was last looked for. */
  missingMs: number | null = null;

  constructor(id: string, calls: readonly CarriedCall[], nowMs: number) {
    this.id = id;
    this.runs = calls.map(({ run }) => run);
    this.open = new Set(this.runs);
    this.sentMs = nowMs;
    this.isAgain = calls.some(({ attempts }) => attempts > 0);
    this.seenMs = nowMs;
  }

  /** Whether a machine has it, as far as anybody knows. */
  get isHeard(): boolean {
    return this.machine !== null && !this.isLost;
  }
}
