/**
 * Durations that the members of a fleet agree on, all in milliseconds. Servers and worker machines of one fleet need
 * the same values: one member waits for renewals by another.
 */
export interface FleetTimings {
  /** Interval between two heartbeats of a member. */
  readonly beatMs: number;
  /** Lifetime of a heartbeat: a member is missing once it has expired. */
  readonly seenMs: number;
  /** Interval at which a member reads the heartbeats of others, and a server looks for missing jobs. */
  readonly lookMs: number;
  /** Age up to which a machine relies on a server's heartbeat without reading it again. */
  readonly freshMs: number;
  /** Time for which a server must be missing before a machine ends its calls. */
  readonly goneMs: number;
  /** Time for which a machine refuses new jobs of a lost server. */
  readonly goneForMs: number;
  /** Interval at which a machine counts servers whose messages it cannot read. */
  readonly foreignMs: number;
  /**
   * Time for which a machine keeps the result of a call with a key: a server with a later heartbeat has received it.
   */
  readonly acknowledgedMs: number;
  /** Lifetime of a machine's lock on a job: without renewal another machine takes the job. */
  readonly lockMs: number;
  /** Interval between two renewals of a machine's locks. */
  readonly lockRenewMs: number;
  /** Interval at which a machine looks for jobs with an expired lock. */
  readonly stalledMs: number;
  /** Silence after which a server looks for a job in Redis. */
  readonly silentMs: number;
  /** Interval at which a machine repeats capability calls without a response. */
  readonly repeatMs: number;
  /** Time in which a server must answer a machine's request about a job or a tool. */
  readonly answerMs: number;
  /** Longest duration of a blocking read. */
  readonly blockMs: number;
  /** Lifetime of a lease at a cap of the fleet. */
  readonly leaseMs: number;
  /** Interval between two renewals of a server's leases. */
  readonly leaseRenewMs: number;
  /** Time for which a server keeps its place among the waiters of a cap. */
  readonly waiterMs: number;
  /** Interval at which a server requests room at a cap again. */
  readonly retryMs: number;
  /** Interval at which a member extends the lifetime of BullMQ's keys. */
  readonly keepMs: number;
}

export const FLEET_TIMINGS: FleetTimings = {
  beatMs: 1_000,
  seenMs: 5_000,
  lookMs: 1_000,
  freshMs: 3_000,
  goneMs: 10_000,
  goneForMs: 60_000,
  foreignMs: 5_000,
  acknowledgedMs: 8_000,
  lockMs: 5_000,
  lockRenewMs: 1_500,
  stalledMs: 2_000,
  silentMs: 3_000,
  repeatMs: 2_000,
  answerMs: 10_000,
  blockMs: 2_000,
  leaseMs: 20_000,
  leaseRenewMs: 2_000,
  waiterMs: 3_500,
  retryMs: 1_000,
  keepMs: 10_000,
};

/** The default timings, each multiplied by a factor, so that tests run faster. Throws a `RangeError`. */
export function scaled(factor: number): FleetTimings {
  const entries = Object.entries(FLEET_TIMINGS).map(([name, ms]: [string, number]) => [name, ms * factor]);
  return checkTimings(Object.fromEntries(entries) as Record<keyof FleetTimings, number>);
}

/** Returns valid timings unchanged. Throws a `RangeError` that names the violated relation. */
export function checkTimings(timings: FleetTimings): FleetTimings {
  const { beatMs, seenMs, lookMs, freshMs, goneMs, acknowledgedMs, silentMs } = timings;
  const { lockMs, lockRenewMs, leaseMs, leaseRenewMs, waiterMs, retryMs } = timings;
  const relations: Readonly<Record<string, boolean>> = {
    "every duration is positive": Object.values(timings).every((ms: number) => ms > 0 && ms < Infinity),
    "seenMs > 3 × beatMs": seenMs > 3 * beatMs,
    "freshMs < seenMs": freshMs < seenMs,
    "goneMs > seenMs + 2 × lookMs": goneMs > seenMs + 2 * lookMs,
    "acknowledgedMs > seenMs + lookMs": acknowledgedMs > seenMs + lookMs,
    "silentMs > 2 × lookMs": silentMs > 2 * lookMs,
    "lockMs > 3 × lockRenewMs": lockMs > 3 * lockRenewMs,
    // Machines run the calls of a lost server until the loss is certain, and those calls need their leases until then.
    "leaseMs > seenMs + goneMs + lookMs": leaseMs > seenMs + goneMs + lookMs,
    "leaseMs > 3 × leaseRenewMs": leaseMs > 3 * leaseRenewMs,
    "waiterMs > 3 × retryMs": waiterMs > 3 * retryMs,
  };
  for (const [relation, holds] of Object.entries(relations)) {
    if (!holds) throw new RangeError(`the fleet's timings must hold: ${relation}`);
  }
  return timings;
}
