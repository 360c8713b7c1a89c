/** Duration from which a turn is measured exactly, in milliseconds of wall time; shorter ones are charged wall time. */
const EXACT_FROM_MS = 1;

/**
 * The processor time of this thread, charged turn by turn. A turn's wall time also counts the time in which the system
 * ran something else, so it is charged only if it is too short for that to matter. Reading the exact time costs about a
 * microsecond, as much as a short turn.
 */
export class ProcessorClock {
  /** Processor time at the last reading, and the time charged since, in milliseconds. */
  #readMs = threadMs();
  #chargedMs = 0;

  /**
   * Processor time to charge to a turn that has just ended, in milliseconds, at most its wall time. A long turn is
   * charged the time since the last reading, less the charges of other turns since.
   */
  charge(wallMs: number): number {
    if (wallMs < EXACT_FROM_MS) {
      this.#chargedMs += wallMs;
      return wallMs;
    }
    const nowMs = threadMs();
    const usedMs = nowMs - this.#readMs - this.#chargedMs;
    this.#readMs = nowMs;
    this.#chargedMs = 0;
    return Math.min(wallMs, Math.max(0, usedMs));
  }

  /** Leaves out the time since the last reading: it was used for no call. */
  skip(): void {
    this.#readMs = threadMs();
    this.#chargedMs = 0;
  }
}

/** Processor time of this thread, in milliseconds. */
function threadMs(): number {
  // Makes the kernel update the times of all threads: otherwise a thread's own moves with the kernel's tick.
  process.cpuUsage();
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1e3;
}
