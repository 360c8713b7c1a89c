import type { Fault } from "../faults.ts";

/** Faults that the simulation of calls that wait must find. */
export const LEG_FAULTS: readonly Fault[] = [
  {
    title: "a run goes on with an effect, although another run has followed it",
    file: "kernel/engine/durable/call-waits.ts",
    from: 'if (answer.kind === "done" || this.isPaused) return;',
    to: "return;",
    within: 4_000,
  },
  {
    title: "the store takes what a run says that another one has followed",
    file: "kernel/store/calls/durable/durable-tables.ts",
    from: 'if (row?.state !== "running" || row.leg !== leg) return LOST;\n    const sql = "INSERT OR IGNORE',
    to: 'if (row?.state !== "running") return LOST;\n    const sql = "INSERT OR IGNORE',
    within: 4_000,
  },
  {
    title: "an effect that was announced and not answered is done again",
    file: "kernel/store/calls/durable/lost-runs.ts",
    from: "begins === null || answered.has(begins) ? [] : [begins]",
    to: "begins === null || answered.has(begins) || begins > 0 ? [] : [begins]",
    within: 500,
  },
  {
    title: "an effect happens before it is announced",
    file: "kernel/broker/capability-invoker.ts",
    from: "return isLater ? undefined : keep?.begin(step).then(() => this.#opened.requireOpen());",
    to: "void keep; return undefined;",
    within: 500,
  },
  {
    title: "a call that may be stored goes on as one that is not",
    file: "kernel/engine/durable/durable-steps.ts",
    from: 'return { kind: "unknown", message: `the store did not answer',
    to: 'return { kind: "refused", code: "store_failed", message: `the store did not answer',
    within: 4_000,
  },
  {
    title: "what a lost run has stored is not in the journal",
    file: "kernel/store/calls/durable/lost-runs.ts",
    from: "if (part !== null) journal = withPart",
    to: 'if (part === "") journal = withPart',
    within: 500,
  },
  {
    title: "a decision about one effect lets the call go on while another one is in doubt",
    file: "kernel/store/calls/durable/lost-runs.ts",
    from: 'if (waits.open(n).some(({ wait }) => wait.kind === "outcome")) return;',
    to: "",
    within: 4_000,
  },
  {
    title: "an engine that closes cancels a call that is being stored",
    file: "kernel/engine/durable/call-waits.ts",
    from: 'this.#hasEnded = !this.isStored || endOf(result, this.isStart).kind === "end";',
    to: "this.#hasEnded = true;",
    within: 4_000,
  },
  {
    title: "an engine is seen for the sake of a call that waits, and holds others that it does not know of",
    file: "kernel/engine/durable/durable.ts",
    from: "if (waits.isStart) this.onStart(-1);\n    waits.isStart = false;",
    to: "",
    within: 20_000,
  },
];
