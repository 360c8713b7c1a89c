import fc from "fast-check";
import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { digestOf, isSame, Journal, ReplayCursor } from "../../../../src/kernel/broker/journal.ts";
import { holdingsBuffer, WorkerHoldings } from "../../../../src/kernel/base/protocol/holdings.ts";
import type { ToHost } from "../../../../src/kernel/base/protocol/messages.ts";
import { textsOf } from "../../../../src/kernel/base/protocol/prelude.ts";
import { shareTexts } from "../../../../src/kernel/base/protocol/shared-texts.ts";
import type { ToolScript } from "../../../../src/kernel/base/protocol/script.ts";
import { turnRecordBuffer, TurnSlot } from "../../../../src/kernel/base/protocol/turn-record.ts";
import { decodeToHost, encodeToWorker } from "../../../../src/kernel/base/protocol/wire.ts";
import { DEFAULT_LIMITS } from "../../../../src/kernel/base/limits.ts";
import { WorkerSession } from "../../../../src/kernel/executor/worker/worker-session.ts";
import { isolationWith } from "../../../../src/kernel/executor/worker/isolation.ts";
import { WorkerRuntimes } from "../../../../src/kernel/executor/worker/worker-runtime.ts";
import { loadPrelude } from "../../../../src/kernel/tool/runtimes/prelude.ts";
import { script } from "../jobs.ts";

/** A worker in this thread: what it is sent, and how much of that it reads at once, is up to the test. */
let worker: WorkerSession;
let onText: (text: string) => void = () => undefined;
let lastCall = 0;

beforeAll(async () => {
  const [turnRecord, holdings] = [turnRecordBuffer(1), holdingsBuffer(1)];
  const prelude = await loadPrelude();
  const settings = {
    prelude,
    parts: shareTexts(textsOf(prelude.parts)),
    entropyKey: "a key",
    turnRecord,
    holdings,
    warmIsolates: 4,
    spinMs: 0,
  };
  const slot = new TurnSlot(turnRecord, 0, undefined);
  const links = { toHost: (text: string) => onText(text), toBroker: null };
  const open = isolationWith(await WorkerRuntimes.import([]));
  worker = new WorkerSession(settings, slot, new WorkerHoldings(holdings, 0), links, open);
  worker.onLine(encodeToWorker({ kind: "load", script: LINES }).slice(0, -1));
});
afterAll(() => worker.close());

type Step = readonly [kind: "ask" | "timer" | "hops", count: number];

/** Lines of steps, side by side. What the order of all steps was is printed, with the time that each saw. */
const LINES: ToolScript = script(`async ({ lines }, { host }) => {
  const seen = [];
  await Promise.all(lines.map(async (line, at) => {
    for (const [nth, [kind, count]] of line.entries()) {
      if (kind === "timer") await new Promise((done) => setTimeout(done, count));
      // Continuations of answers that came together run in another order where some take longer to get to their next step.
      else if (kind === "hops") for (let n = 0; n < count; n++) await null;
      else await host.world.ask([at, nth]).catch(({ code }) => code);
      console.log(at + ":" + nth + " at " + Date.now());
      seen.push(at + ":" + nth);
    }
  }));
  return seen.join(" ");
}`);

/** The host's side of a call that is started again and again, as the dispatcher and the broker have it. */
class ReplayedCall {
  readonly journal = new Journal();
  /** Answers on their way to the worker, and messages on their way to the host. */
  toWorker: string[] = [];
  toHost: ToHost[] = [];
  output: string | null = null;
  /** What goes wrong in a further start: another request, or another order of what is printed before a request. */
  readonly differences: string[] = [];
  /** What the call had printed when it made its requests. */
  readonly #printedBefore: string[] = [];
  /** What the host has read of what an attempt printed. */
  printed: string[] = [];
  readonly open: number[] = [];
  readonly #lines: readonly (readonly Step[])[];
  readonly #startMs = Date.now();
  #callNumber = 0;
  #attempt = 0;
  #cursor = new ReplayCursor(0, this.journal);

  constructor(lines: readonly (readonly Step[])[]) {
    this.#lines = lines;
  }

  /** Starts it, as if its worker had been lost with all that was on its way. */
  start(): void {
    if (this.#callNumber > 0) worker.onLine(`c\t${this.#callNumber}`);
    const callNumber = (this.#callNumber = ++lastCall);
    [this.toWorker, this.toHost, this.printed] = [[], [], []];
    this.#cursor = new ReplayCursor(++this.#attempt, this.journal);
    onText = (text) => this.toHost.push(...text.split("\n").slice(0, -1).map(decodeToHost));
    const { cpuMs, outputBytes, logBytes, capabilityCalls, capabilityBytes } = DEFAULT_LIMITS;
    const calls = `[[${callNumber},"id",${this.#startMs},${outputBytes},${JSON.stringify({ lines: this.#lines })}]]`;
    const what = { kind: "run", callNumber, runs: `${callNumber}` } as const;
    const limits = { cpuMs, outputBytes, logBytes, capabilityCalls, capabilityBytes };
    const how = { stream: true, ownIsolate: false, asksHost: false, tellsTurns: false };
    this.#read(
      encodeToWorker({
        ...what,
        terms: { key: LINES.key, tenant: "", ...limits, ...how },
        hasLongIntegers: true,
        attempt: this.#attempt,
        plan: this.journal.plan(),
        tickets: "",
        calls,
      }),
    );
  }

  #read(...lines: readonly string[]): void {
    for (const line of lines) worker.onLine(line.slice(0, -1));
    worker.onPause();
  }

  /** The worker reads so many answers at once. */
  readInWorker(count: number): void {
    this.#read(...this.toWorker.splice(0, count));
  }

  /** The host reads so many messages. */
  readInHost(count: number): void {
    for (const message of this.toHost.splice(0, count)) this.#receive(message);
  }

  #receive(message: ToHost): void {
    if (!("callNumber" in message) || message.callNumber !== this.#callNumber) return;
    switch (message.kind) {
      case "ask":
        return this.#ask(message);
      case "log":
        return void this.printed.push(...message.lines);
      case "timed":
        return this.journal.recordTime(message.step, message.nowMs);
      case "late":
        return this.journal.recordLate(message.fired, message.nowMs);
      case "together":
        return this.journal.recordTogether(message.at, message.count);
      case "done":
        this.output = message.payload;
        return;
      default:
        return;
    }
  }

  #ask(request: Extract<ToHost, { readonly kind: "ask" }>): void {
    const { step, deliveredCount, capability, method, args } = request;
    const known = this.journal.find(step);
    const printed = this.printed.join("\n");
    if (known === undefined) {
      this.journal.append({ step, deliveredCount, capability, method, args: digestOf(args) });
      this.open.push(step);
      this.#printedBefore.push(printed);
    } else {
      if (!isSame(known, { ...request, attempt: this.#attempt })) this.differences.push(`${step}: ${args}`);
      const before = this.#printedBefore[step - 1];
      if (before !== printed) this.differences.push(`${step}: printed\n${printed}\ninstead of\n${before}`);
    }
    const callNumber = this.#callNumber;
    const attempt = this.#attempt;
    this.#cursor.ask(step, (response) => {
      if (response.kind === "diverged") throw new Error(response.message);
      const ok = response.kind === "value";
      const payload = ok ? response.json : JSON.stringify(response.failure);
      const { nowMs } = response;
      this.toWorker.push(encodeToWorker({ kind: "settle", callNumber, attempt, step, ok, nowMs, payload }));
    });
  }

  /** Answers the request that has waited longest, or another one. */
  answer(nth: number): void {
    const [step] = this.open.splice(nth % this.open.length, 1);
    if (step === undefined) return;
    const nowMs = Date.now();
    const failure = { code: "capability_denied", message: "no" } as const;
    this.journal.recordResponse(
      step,
      step % 3 === 0 ? { kind: "failure", nowMs, failure } : { kind: "value", nowMs, json: `${step}` },
    );
    this.#cursor.deliver();
  }
}

const steps = (kinds: readonly Step[0][]): fc.Arbitrary<Step[][]> =>
  fc.array(
    fc.array(fc.tuple(fc.constantFrom(...kinds), fc.integer({ min: 1, max: 4 })), { minLength: 1, maxLength: 6 }),
    {
      minLength: 2,
      maxLength: 6,
    },
  );

type Happening = readonly [what: "host" | "worker" | "answer" | "kill" | "wait", count: number];
const happenings: fc.Arbitrary<Happening[]> = fc.array(
  fc.tuple(
    fc.oneof(
      { weight: 8, arbitrary: fc.constantFrom("host" as const, "worker" as const) },
      { weight: 6, arbitrary: fc.constant("answer" as const) },
      { weight: 1, arbitrary: fc.constantFrom("kill" as const, "wait" as const) },
    ),
    fc.integer({ min: 1, max: 6 }),
  ),
  { minLength: 20, maxLength: 80 },
);

/** Has it all happen to a call, then lets it come to its end. */
async function play(call: ReplayedCall, all: readonly Happening[], onKill: () => void): Promise<void> {
  call.start();
  for (const [what, count] of all) {
    if (what === "host") call.readInHost(count);
    else if (what === "worker") call.readInWorker(count);
    else if (what === "answer") for (let n = 0; n < count; n++) call.answer(count);
    else if (what === "wait") await sleep(count);
    else {
      onKill();
      call.start();
    }
    if (call.output !== null) return;
  }
  for (let looks = 0; call.output === null && looks < 1_000; looks++) {
    call.readInHost(Infinity);
    call.answer(0);
    if (looks % 2 === 0) call.readInWorker(2);
    await (looks % 8 === 0 ? sleep(1) : setImmediate());
  }
}

/** Lines without their times: after the last request, which nobody knows of, a timer may be late in one start alone. */
function inOrder(lines: readonly string[]): readonly string[] {
  return lines.map((line) => line.replace(/ at \d+/, ""));
}

test("a call that is started again and again asks for the same, after the same steps, whatever answers come together", async () => {
  let shared = 0;
  await fc.assert(
    fc.asyncProperty(steps(["ask", "ask", "timer", "hops"]), happenings, async (lines, all) => {
      const call = new ReplayedCall(lines);
      await play(call, all, () => undefined);
      shared += call.journal.together.length;
      expect([call.differences, call.output]).toEqual([[], expect.any(String)]);
      // And so does one that is started again at its end.
      const { output, printed } = call;
      const { length: lateCount } = call.journal.late;
      call.output = null;
      await play(call, [], () => undefined);
      expect([call.differences, call.output]).toEqual([[], expect.any(String)]);
      // Timers that were late in this start alone, as a busy machine has it, share a turn with those that follow.
      if (call.journal.late.length === lateCount)
        expect([call.output, inOrder(call.printed)]).toEqual([output, inOrder(printed)]);
      else expect(inOrder(call.printed).toSorted()).toEqual(inOrder(printed).toSorted());
    }),
    { numRuns: 200 },
  );
  expect(shared).toBeGreaterThan(50);
}, 300_000);

test("nor does it print in another order what somebody has seen already", async () => {
  await fc.assert(
    fc.asyncProperty(steps(["ask", "ask", "hops"]), happenings, async (lines, all) => {
      const call = new ReplayedCall(lines);
      const seen: string[][] = [];
      await play(call, all, () => void seen.push(call.printed));
      expect([call.differences, call.output]).toEqual([[], expect.any(String)]);
      for (const printed of seen) expect(call.printed.slice(0, printed.length)).toEqual(printed);
    }),
    { numRuns: 200 },
  );
}, 300_000);
