/** A fault that the simulation must find: a text of a source, and what stands in its place. */
export interface Fault {
  readonly title: string;
  /** Below `src`. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
  /** Number of seeds in which it is found, at most. */
  readonly within: number;
}

/** Faults that were put in to see whether the simulation can fail. */
const TRIED: readonly Fault[] = [
  {
    title: "what an earlier attempt still asks counts",
    file: "kernel/broker/thread/served-call.ts",
    from: "this.#isFenced = true;\n    // Whoever",
    to: "// Whoever",
    within: 4_000,
  },
  {
    title: "the journal does not know a capability call again",
    file: "kernel/broker/call-session.ts",
    from: "if (known !== undefined) {",
    to: "if (known !== undefined && call.step !== 2) {",
    within: 500,
  },
  {
    title: "an effect is carried out twice",
    file: "kernel/broker/method-call.ts",
    from: "const returned = announced === undefined ? invoke() : announced.then(invoke);",
    to: "if (effects > 0) invoke(); const returned = invoke();",
    within: 50,
  },
  {
    title: "two answers are swapped on their way to a call",
    file: "kernel/executor/worker/worker-call.ts",
    from: "this.arrived.splice(0, count)",
    to: "this.arrived.splice(-count, count)",
    within: 500,
  },
  {
    title: "the answers of a journal are given in another order",
    file: "kernel/broker/journal.ts",
    from: "if (next === undefined || next.asked > this.#asked) return;",
    to: "if (next === undefined) return;",
    within: 3_000,
  },
  {
    title: "the broker forgets no session",
    file: "kernel/broker/thread/thread-server.ts",
    from: "if (!isHeld) this.#calls.delete(number);",
    to: "",
    within: 50,
  },
  {
    title: "the engine does not confirm the end of a session",
    file: "kernel/broker/thread/host-session.ts",
    from: 'this.#run.outbox.pushLater({ kind: "end", call: this.callNumber, end: { attempt: 0 } });',
    to: "",
    within: 50,
  },
  {
    title: "a call that has lost its worker is not started again",
    file: "kernel/executor/dispatch/dispatcher.ts",
    from: "call.startAgain(performance.now());\n    this.#batcher.add(call);",
    to: "call.startAgain(performance.now());",
    within: 100,
  },
  {
    title: "a call is tried again after an effect",
    file: "kernel/engine/call/conclude.ts",
    from: "if (effects === 0) return toolError(code, message, wait ?? undefined);",
    to: "if (effects < 9) return toolError(code, message, wait ?? undefined);",
    within: 8_000,
  },
  {
    title: "a slot is not released where its call was cancelled",
    file: "kernel/engine/call/call-pipeline.ts",
    from: "if (call.isSettled && call.lingering === 0) call.slot?.release();",
    to: "",
    within: 500,
  },
  {
    title: "a capability call is charged twice",
    file: "kernel/broker/thread/served-call.ts",
    from: "this.#told = now;",
    to: "",
    within: 500,
  },
  {
    title: "a worker does not tell the broker of a shared turn",
    file: "kernel/executor/worker/deliveries.ts",
    from: 'if (count > 1) this.#host.post(call, { kind: "together"',
    to: 'if (count > 99) this.#host.post(call, { kind: "together"',
    within: 500,
  },
  {
    title: "a broker's end is not told to the calls that wait for it",
    file: "kernel/broker/thread/host-session.ts",
    from: "this.#end?.resolve(this.#lostEnd());",
    to: "",
    within: 500,
  },
  {
    title: "the host does not hear of a child call that the worker of its parent has run",
    file: "kernel/executor/worker/child-calls.ts",
    from: "this.#host.broker.add(call, { ...ask, reply: { ...end, ...times, answeredMs } });",
    to: "",
    within: 500,
  },
];

/** Faults that the simulation has found. */
const FOUND: readonly Fault[] = [
  {
    title: "an answer to an earlier attempt reaches a later one on the same worker",
    file: "kernel/executor/worker/deliveries.ts",
    from: "if (call?.message.attempt !== attempt) return;",
    to: "if (call === undefined) return;",
    within: 20_000,
  },
  {
    title: "a call that runs again repeats its effects after the broker has fallen",
    file: "kernel/broker/thread/host-session.ts",
    from: "if ((this.#isRepeating || isKept) && this.#end === null) this.caller.onLost?.();",
    to: "",
    within: 500,
  },
  {
    title: "a call that is cancelled between two attempts, the first of which the broker saw end, has no end",
    file: "kernel/broker/thread/served-call.ts",
    from: "this.isEnded &&= this.#isOver;\n    return",
    to: "return",
    within: 20_000,
  },
  {
    title: "bytes of methods that outlive their call are held for ever",
    file: "kernel/broker/thread/served-call.ts",
    from: "this.isEnded ? NOTHING : this.#account",
    to: "this.#account",
    within: 500,
  },
  {
    title: "the first capability call after one that was lost with a broker is taken for a divergence",
    file: "kernel/broker/journal.ts",
    from: "return this.#entries.length === 0 || step ===",
    to: "return step ===",
    within: 500,
  },
  {
    title: "a call runs again without what it had asked of a lost broker",
    file: "kernel/broker/thread/host-session.ts",
    from: "ask.step > 1) this.#isBroken = true;",
    to: "ask.step > 1) this.#isBroken = false;",
    within: 20_000,
  },
  {
    title: "a call that is kept begins again with a plan that is made after its end",
    file: "kernel/broker/thread/served-call.ts",
    from: "this.isEnded &&= this.#isOver;",
    to: "this.isEnded = false;",
    within: 20_000,
  },
  {
    title: "a call runs again without what it was answered between two brokers",
    file: "kernel/broker/thread/host-session.ts",
    from: "this.#isIncomplete = true;",
    to: "",
    within: 20_000,
  },
  {
    title: "the end of an earlier attempt is taken for that of the last one",
    file: "kernel/broker/thread/host-session.ts",
    from: 'this.#ended = null;\n        this.#isRepeating = message.plan !== "";',
    to: 'this.#isRepeating = message.plan !== "";',
    within: 40_000,
  },
  {
    title: "work of a cancelled call lingers in a closed engine",
    file: "kernel/executor/dispatch/dispatcher.ts",
    from: "this.#lingering.endAll();",
    to: "",
    within: 40_000,
  },
];

export const FAULTS: readonly Fault[] = [...TRIED, ...FOUND];
