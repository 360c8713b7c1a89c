/** A call as the thread works for it. */
export interface TimedCall {
  /** Measured time of its pieces of work, in all, in milliseconds. */
  readonly measuredMs: number;
  /** Its processor time on the thread, in all, in milliseconds. */
  brokerMs: number;
}

interface WorkOfCall {
  /** Number of its methods that run on this thread. */
  running: number;
  /** Number of those that have run since the time was shared out last, and `measuredMs` at that time. */
  methods: number;
  sharedMs: number;
}

/**
 * The processor time of the broker thread. Most of a request's cost lies between the measured pieces, in sockets and
 * streams: it is shared out by the number of methods that ran.
 */
export class ThreadTime {
  readonly #calls = new Map<TimedCall, WorkOfCall>();
  /** Processor time of the thread that has been shared out; its start is charged to no call. */
  #sharedMs = threadMs();

  /** A method of the call begins. */
  begin(call: TimedCall): void {
    const work = this.#calls.get(call);
    if (work === undefined) this.#calls.set(call, { running: 1, methods: 1, sharedMs: call.measuredMs });
    else {
      work.running++;
      work.methods++;
    }
  }

  end(call: TimedCall): void {
    const work = this.#calls.get(call);
    if (work !== undefined && work.running > 0) work.running--;
  }

  /** Called when the call has ended, and its time was shared out. */
  forget(call: TimedCall): void {
    this.#calls.delete(call);
  }

  /** Charges the time since it was shared out last to the calls that were at work. */
  shareOut(): void {
    if (this.#calls.size === 0) return;
    const nowMs = threadMs();
    const usedMs = nowMs - this.#sharedMs;
    this.#sharedMs = nowMs;
    let [measuredMs, methods] = [0, 0];
    for (const [call, work] of this.#calls) {
      measuredMs += call.measuredMs - work.sharedMs;
      methods += work.methods;
    }
    // On a busy machine the measured pieces contain time in which another thread ran.
    const factor = Math.min(1, usedMs / measuredMs) || 0;
    const eachMs = Math.max(0, usedMs - measuredMs) / Math.max(1, methods);
    for (const [call, work] of this.#calls) {
      call.brokerMs += (call.measuredMs - work.sharedMs) * factor + work.methods * eachMs;
      work.sharedMs = call.measuredMs;
      work.methods = work.running;
      if (work.running === 0) this.#calls.delete(call);
    }
  }
}

/** Processor time of this thread, in milliseconds. */
function threadMs(): number {
  // Makes the kernel update the times of all threads: otherwise a thread's own moves with the kernel's tick.
  process.cpuUsage();
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
