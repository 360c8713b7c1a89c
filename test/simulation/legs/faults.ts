import type { Fault } from "../faults.ts";

/** Faults that the simulation of calls that wait must find. */
export const LEG_FAULTS: readonly Fault[] = [
  {
    title: "an effect that was announced and not answered is done again",
    file: "kernel/store/calls/durable/lost-runs.ts",
    from: "begins === null || answered.has(begins) ? [] : [begins]",
    to: "begins === null || answered.has(begins) || begins > 0 ? [] : [begins]",
    within: 100,
  },
  {
    title: "an effect happens before it is announced",
    file: "kernel/broker/capability-invoker.ts",
    from: "return isLater ? undefined : keep?.begin(step, isRepeatable).then(() => this.#opened.requireOpen());",

    to: "void keep; void isRepeatable; return undefined;",
    within: 100,
  },
  {
    title: "what a lost run has stored is not in the journal",
    file: "kernel/store/calls/durable/lost-runs.ts",
    from: "if (part !== null) journal = withPart",
    to: 'if (part === "") journal = withPart',
    within: 100,
  },
  {
    title: "a decision about one effect lets the call go on while another one is in doubt",
    file: "kernel/store/calls/durable/lost-runs.ts",
    from: 'if (waits.open(n).some(({ wait }) => wait.kind === "outcome")) return;',
    to: "",
    within: 4_000,
  },
  {
    title: "a run goes on while its pause is stored",
    file: "kernel/broker/call-session.ts",
    from: "reply === undefined ? this.#rest?.promise : undefined",
    to: "undefined",
    within: 4_000,
  },
  {
    title: "a run that ends while its pause is stored has not ended for the store",
    file: "kernel/store/calls/durable/durable-tables.ts",
    from: 'new Set(["running", "paused", "ready"])',
    to: 'new Set(["running"])',
    within: 4_000,
  },
  {
    title: "a run that another one has followed stores more",
    file: "kernel/store/calls/durable/durable-tables.ts",
    from: 'if (row?.state !== "running" || row.leg !== leg) return LOST;',
    to: "if (row === undefined) return LOST;",
    within: 4_000,
  },
  {
    title: "a call is claimed that another engine runs",
    file: "kernel/store/calls/durable/durable-tables.ts",
    from: 'if (row?.state !== "ready") return LOST;',
    to: 'if (row === undefined || row.state === "ended") return LOST;',
    within: 100,
  },
  {
    title: "a call that has waited for too long waits on",
    file: "kernel/store/calls/durable/durable-tables.ts",
    from: 'if (row.state === "paused" && row.ends_ms <= nowMs) return',
    to: 'if (row.state === "paused" && nowMs < 0) return',
    within: 4_000,
  },
  {
    title: "a lost call is in doubt about a call below it that is kept",
    file: "kernel/store/calls/durable/lost-runs.ts",
    from: 'kind === "call" && state !== "void"',
    to: 'kind === "call" && state !== "void" && n < 0',
    within: 100,
  },
];
