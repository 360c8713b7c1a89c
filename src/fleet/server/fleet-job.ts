/** The part of a call that its job uses. */
interface CarriedCall {
  readonly callNumber: number;
  readonly isResumed: boolean;
}

/** A BullMQ job, from its server's side. */
export class FleetJob {
  readonly id: string;
  /** The numbers of its calls. */
  readonly runs: readonly number[];
  /** The numbers of its calls that have not ended. */
  readonly open: Set<number>;
  readonly sentMs: number;
  /** Whether some of its calls have begun before: in a job that is lost in Redis, or before a pause. */
  readonly isAgain: boolean;
  /** The machine that started it last, and the number of that start. Messages of earlier starts are ignored. */
  machine: string | null = null;
  start = 0;
  /** Whether a machine has reported the last of its results; that machine then removes the job from the queue. */
  isDone = false;
  /** Whether its machine is known to be lost and no other machine has taken the job. */
  isLost = false;
  /** Time of the last message about it, or of the last look in Redis. */
  seenMs: number;
  /** Time at which it was found missing in Redis; `null` if the last look found it. */
  missingMs: number | null = null;

  constructor(id: string, calls: readonly CarriedCall[], nowMs: number) {
    this.id = id;
    this.runs = calls.map(({ callNumber }) => callNumber);
    this.open = new Set(this.runs);
    this.sentMs = nowMs;
    this.isAgain = calls.some(({ isResumed }) => isResumed);
    this.seenMs = nowMs;
  }

  /** Whether a machine holds it, by this server's information. */
  get isHeard(): boolean {
    return this.machine !== null && !this.isLost;
  }
}
