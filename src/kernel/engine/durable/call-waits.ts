import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { StoreError, toolError } from "../../base/errors.ts";
import { seedOf } from "../../base/protocol/prelude.ts";
import { type EditedCall, failure, type ToolResult, withMetadata } from "../../base/result.ts";
import type { SessionSnapshot } from "../../broker/call-session.ts";
import { CallFailure } from "../../broker/capabilities/capability.ts";
import type { CallIdle, Executor } from "../../executor/executor.ts";
import {
  isSameWait,
  isSettled,
  type NewWait,
  type PausedCall,
  type RunWait,
  type WaitKind,
  WAITS_MAX,
} from "../../store/calls/durable/durable-call.ts";
import type { DurableAnswer, JournalLine, TakeDurable } from "../../store/calls/durable/durable-step.ts";
import { HOLDER_LOST_MS } from "../../store/calls/ledger.ts";
import type { RegisteredTool } from "../../tool/registered-tool.ts";
import type { CallWaiting } from "../call/call-waiting.ts";
import type { EngineCall } from "../call/engine-call.ts";
import type { WaitingOptions } from "../call-options.ts";
import { type DurableRuns, madeOf } from "./durable-record.ts";
import { type StoredPause, storePause, takeSurely, TAKEN_OVER } from "./durable-steps.ts";
import { editedCall } from "./shown-arguments.ts";
import { refusalOf } from "./wait-answer.ts";

/** Pauses between looks at a run that is about to rest. */
const LOOK_LEAST_MS = 5;
const LOOK_MOST_MS = 500;

interface WaitParts {
  readonly take: TakeDurable;
  readonly executor: Pick<Executor, "watch" | "cancel">;
  readonly entropyKey: string;
  readonly holder: string;
  readonly waiting: Pick<WaitingOptions, "expiresMs" | "lingerMs">;
  /** Called when it has been stored, and its run ends. */
  readonly onPause: (waits: CallWaits) => void;
  /** Called when it continues with a wait that was settled while it ran. */
  readonly onSettle: (waits: CallWaits, settled: RunWait) => void;
}

interface OpenWait {
  readonly wait: NewWait;
  readonly settle: PromiseWithResolvers<RunWait>;
}

/** The state of a run, as stored when it pauses. */
type KeptRun = Pick<PausedCall, "runs" | "journal" | "plan" | "wakeMs">;

/** A call as the store knows it. */
export interface StoredLeg {
  readonly id: string;
  readonly leg: number;
  readonly isStored: boolean;
  readonly waits: readonly RunWait[];
  /** Time at which the call is cancelled, if it has not ended; `null` if it is not stored yet. */
  readonly endsMs: number | null;
  /** Processor time of earlier runs, in milliseconds. */
  readonly cpuMs: number;
}

/** `leg`: 1 for a running call, and 0 for one that waits for its start. */
export function newLeg(leg: 0 | 1): StoredLeg {
  return { id: `c_${randomBytes(12).toString("base64url")}`, leg, isStored: false, waits: [], endsMs: null, cpuMs: 0 };
}

/**
 * The waits of one run of a call. Once the run only waits, its journal and its waits are stored, and the run is ended;
 * in a later run, each wait is requested again, and is answered if it is settled.
 */
export class CallWaits implements CallWaiting {
  readonly id: string;
  readonly leg: number;
  readonly call: EngineCall;
  isStored: boolean;
  isStoring = false;
  isPaused = false;
  /** Whether it is the first run of a call that was stored before: its caller waits, and may repeat the call. */
  isStart = false;
  readonly #parts: WaitParts;
  readonly #endsMs: number | null;
  readonly #earlierMs: number;
  readonly #known = new Map<number, RunWait>();
  readonly #open = new Map<number, OpenWait>();
  /** JSON of the arguments of approved calls that a person has edited, by the steps that requested them. */
  readonly #edits = new Map<number, string>();
  /** Details of failures that the run has received, by their codes and messages. */
  readonly #details = new Map<string, object>();
  /** Journal lines of this run that are not stored yet. */
  readonly #lines: JournalLine[] = [];
  #lastLine = 0;
  #sending: Promise<void> = Promise.resolve();
  /** Time at which the store last confirmed that the run is still the call's, by `performance.now()`. */
  #confirmedMs = performance.now();
  #idle: CallIdle | null = null;
  /** Time of that report, by `performance.now()`. */
  #idleMs = 0;
  #isLooking = false;
  /** It is stored, or may be: the run gets no more answers. */
  #isOver = false;

  constructor(call: EngineCall, { id, leg, isStored, waits, endsMs, cpuMs }: StoredLeg, parts: WaitParts) {
    this.#endsMs = endsMs;
    this.#earlierMs = cpuMs;
    this.call = call;
    this.id = id;
    this.leg = leg;
    this.isStored = isStored;
    this.#parts = parts;
    for (const wait of waits) if (wait.kind !== "outcome") this.#know(wait);
  }

  #know(wait: RunWait): void {
    this.#known.set(wait.step, wait);
    const edit = wait.kind === "approval" ? (wait.settled?.arguments ?? null) : null;
    if (edit !== null) this.#edits.set(wait.step, edit);
    const refusal = refusalOf(wait);
    if (refusal !== null) this.#failure(refusal.code, refusal.message, refusal.details);
  }

  /** A failure with which the run may end. */
  #failure(code: CallFailure["code"], message: string, details?: object): CallFailure {
    if (details !== undefined) this.#details.set(`${code} ${message}`, details);
    return new CallFailure(code, message, details);
  }

  explain(given: ToolResult): ToolResult {
    const edited = this.edited(0, this.call.tool);
    const result = edited === undefined ? given : withMetadata(given, { ...given.metadata, edited });
    const { error, metadata } = result;
    const details = error === null ? undefined : this.#details.get(`${error.code} ${error.message}`);
    if (error === null || details === undefined) return result;
    return failure(toolError(error.code, error.message, { ...error.details, ...details }), metadata);
  }

  /** The wait of a step in the state in which an earlier run left it. */
  known(step: number): RunWait | undefined {
    return this.#known.get(step);
  }

  /** The call itself, if its arguments were edited before its start; or the child call of a step. */
  edited(step: number, tool: RegisteredTool): EditedCall | undefined {
    const args = this.#edits.get(step);
    return args === undefined ? undefined : editedCall(args, tool);
  }

  /** Waits of this run, with their subjects. */
  get open(): readonly NewWait[] {
    return Array.from(this.#open.values(), ({ wait }) => wait);
  }

  /** Resolves when the wait is settled: in this run, or in a later one. Throws a `CallFailure` if it cannot wait. */
  wait(step: number, wait: WaitKind, expiresMs: number | null): Promise<RunWait> {
    const known = this.#known.get(step);
    const isSame = known !== undefined && isSameWait(known, wait);
    if (isSame && isSettled(known)) return Promise.resolve(known);
    const obstacle = this.obstacle();
    if (obstacle !== null) {
      const isFull = this.#open.size >= WAITS_MAX;
      return Promise.reject(this.#failure("cannot_pause", obstacle, isFull ? { bound: obstacle } : undefined));
    }
    const endsMs = this.#endsMs ?? Date.now() + this.#parts.waiting.expiresMs;
    if (!isSame && wait.kind === "time" && Date.parse(wait.until) > endsMs) {
      const bound = `the call is kept until ${new Date(endsMs).toISOString()}, by calls.expiresMs`;
      const message = `the call cannot wait until ${wait.until}: ${bound}`;
      return Promise.reject(this.#failure("cannot_pause", message, { bound }));
    }
    const openedMs = isSame ? Date.parse(known.openedAt) : Date.now();
    const ends = !isSame ? expiresMs : known.expiresAt === null ? null : Date.parse(known.expiresAt);
    const settle = Promise.withResolvers<RunWait>();
    this.#open.set(step, { wait: { step, wait, openedMs, expiresMs: ends }, settle });
    this.#parts.executor.watch?.(this.call.callNumber);
    return settle.promise;
  }

  append(part: string): void {
    this.#lines.push({ seq: ++this.#lastLine, part, begins: null });
    void this.#sendLines().catch(() => undefined);
  }

  begin(step: number, isRepeatable: boolean): Promise<void> {
    this.#lines.push({ seq: ++this.#lastLine, part: null, begins: isRepeatable ? null : step });
    return this.#sendLines();
  }

  confirm(): Promise<void> {
    const isLate = performance.now() - this.#confirmedMs > HOLDER_LOST_MS / 2;
    return isLate ? this.#sendLines(true) : Promise.resolve();
  }

  /** Stores lines in their order: earlier lines are stored once these are. */
  #sendLines(isAsked = false): Promise<void> {
    return this.#inTurn(() => this.#storeLines(isAsked));
  }

  /** Runs one operation of the store after the other. */
  #inTurn<Value>(work: () => Promise<Value>): Promise<Value> {
    const done = this.#sending.then(work);
    const ended = (): void => undefined;
    this.#sending = done.then(ended, ended);
    return done;
  }

  async #storeLines(isAsked: boolean): Promise<void> {
    const { id, leg } = this;
    const { take, executor } = this.#parts;
    if (this.#isOver) throw new CallFailure("cancelled", "the run of the call is over, as it waits");
    const lines = this.#lines.slice();
    if (lines.length === 0 && !isAsked) return;
    const askedMs = performance.now();
    let answer: DurableAnswer;
    try {
      answer = await take({ kind: "append", id, leg, lines, runs: this.#runs(), nowMs: Date.now() });
    } catch (error) {
      // They are sent again with the next ones.
      throw new CallFailure("store_failed", error instanceof StoreError ? error.message : "the call cannot be kept");
    }
    if (answer.kind === "full") throw new CallFailure("store_failed", answer.bound);
    this.#lines.splice(0, lines.length);
    if (answer.kind === "done") return void (this.#confirmedMs = askedMs);
    executor.cancel(this.call.callNumber, "outcome_unknown", TAKEN_OVER);
    throw new CallFailure("outcome_unknown", TAKEN_OVER);
  }

  onIdle(idle: CallIdle): void {
    this.#idle = idle;
    this.#idleMs = performance.now();
    if (!this.#isLooking && !this.#isOver && this.#open.size > 0) void this.#look();
  }

  release(): void {
    if (!this.isStored && !this.isStoring) this.#leave(this.open);
    this.#fail(this.isPaused ? "paused" : "cannot_pause", "the run of the call has ended");
  }

  /** Cancels child calls that are not waited for any more. A stored call's are known to the store. */
  #leave(waits: readonly NewWait[]): void {
    for (const { wait } of waits) {
      if (wait.kind !== "call") continue;
      const step = { kind: "cancel", id: wait.id, tenant: null, message: LEFT, nowMs: Date.now() } as const;
      void takeSurely(this.#parts.take, step);
    }
  }

  /** Resolves when the appended lines are stored, or cannot be. */
  sent(): Promise<void> {
    return this.#sending;
  }

  /** The reason for which the call cannot wait; `null` if it can. A child call waits with its parent. */
  obstacle(): string | null {
    const { options, parent } = this.call;
    if (parent?.waits instanceof CallWaits) {
      const obstacle = parent.waits.obstacle();
      if (obstacle !== null) return `the call that called it cannot wait: ${obstacle}`;
    }
    if (options.pause === "refuse") return "the call has to wait, and its caller has said that it must not";
    if (this.#open.size >= WAITS_MAX) return `a call may wait for ${WAITS_MAX} things at once`;
    return this.obstacleToKeeping();
  }

  /** The reason for which the call cannot continue in another run; `null` if it can. */
  obstacleToKeeping(): string | null {
    const { tool } = this.call;
    if (this.#parts.executor.watch === undefined) return "this kind of executor does not tell when a call waits";
    if (tool.own !== undefined && tool.program === undefined && tool.snippet === undefined)
      return "a program of this kind cannot wait";
    if (tool.script.isolation === "shared")
      return "calls of a tool with the isolation shared cannot wait: use another isolation";
    return null;
  }

  /** Looks at the run until it is at rest, or continues. */
  async #look(): Promise<void> {
    this.#isLooking = true;
    let pauseMs = LOOK_LEAST_MS;
    for (let idle = this.#idle; idle !== null && this.#open.size > 0 && !this.call.isSettled;) {
      if (await this.#tryPause(idle)) break;
      if (this.#idle !== idle) pauseMs = LOOK_LEAST_MS;
      idle = this.#idle;
      // Its capability calls may still be on their way to the broker.
      await delay(pauseMs);
      pauseMs = Math.min(2 * pauseMs, LOOK_MOST_MS);
    }
    this.#isLooking = false;
  }

  /** Whether the run has paused, or continues with waits that were settled meanwhile. */
  async #tryPause(idle: CallIdle): Promise<boolean> {
    const { call } = this;
    if (this.#isDueSoon(idle)) return false;
    const open = [...this.#open.keys()];
    const snapshot = (await call.session?.snapshot({ ...idle, open })) ?? null;
    if (snapshot === null) return false;
    try {
      return await this.#pause(snapshot, open, idle);
    } finally {
      if (!this.#isOver) call.session?.goOn();
    }
  }

  /** Capability calls made meanwhile wait for the store's answer. */
  async #pause(snapshot: SessionSnapshot, open: readonly number[], idle: CallIdle): Promise<boolean> {
    if (this.call.isSettled || this.#idle !== idle) return false;
    if (snapshot.kind === "refused") return this.#fail("cannot_pause", `the call cannot be kept: ${snapshot.reason}`);
    if (open.length !== this.#open.size || open.some((step) => !this.#open.has(step))) return false;
    const nowMs = Date.now();
    const { journal, plan } = snapshot;
    const dueInMs = this.#dueInMs(idle);
    const wakeMs = dueInMs === null ? null : nowMs + Math.ceil(dueInMs);
    return this.#store({ runs: this.#runs(), journal, plan, wakeMs }, idle, nowMs);
  }

  /** Time until the run's next timer, which decreases during the looks at the run. */
  #dueInMs({ dueInMs }: CallIdle): number | null {
    return dueInMs === null ? null : Math.max(0, dueInMs - (performance.now() - this.#idleMs));
  }

  /** Whether the run's next timer is so near that the run is not paused. */
  #isDueSoon(idle: CallIdle): boolean {
    const dueInMs = this.#dueInMs(idle);
    return dueInMs !== null && dueInMs <= this.#parts.waiting.lingerMs;
  }

  /** JSON of the call's runs, of which this is one. */
  #runs(): string {
    const { clockMs: startMs, seed, callNumber, tool } = this.call;
    const run = { startMs, seed: seed ?? seedOf(this.#parts.entropyKey, `${callNumber}`) };
    const cpuMs = this.#earlierMs + (this.#idle?.usedMs ?? 0);
    return JSON.stringify({ run, program: tool.program?.kept() ?? null, cpuMs } satisfies DurableRuns);
  }

  /** Stores the pause after earlier lines. Later ones wait: they are in the journal, or the run is over. */
  #store(kept: KeptRun, idle: CallIdle, nowMs: number): Promise<boolean> {
    const { id, leg, call, isStored } = this;
    const { take, waiting, holder } = this.#parts;
    return this.#inTurn(async () => {
      if (call.isSettled || this.#idle !== idle || this.#isDueSoon(idle)) return false;
      const begun = { holder, atMs: call.clockMs };
      const made = isStored ? null : { ...madeOf(call, nowMs, waiting.expiresMs), begun };
      const waits = this.open;
      this.isStoring = true;
      const outcome = await storePause(take, { id, leg, made, ...kept, waits }, nowMs);
      this.isStoring = false;
      if (outcome.kind === "refused" && !isStored && call.isSettled) this.#leave(waits);
      return this.#afterPause(outcome);
    });
  }

  #afterPause(stored: StoredPause): boolean {
    const { call } = this;
    const { executor, onPause } = this.#parts;
    switch (stored.kind) {
      case "stored":
        this.#isOver = true;
        this.isStored = true;
        // It has ended meanwhile, and its end is stored next.
        if (call.isSettled) return true;
        this.isPaused = true;
        onPause(this);
        return true;
      case "settled":
        for (const wait of stored.waits) this.#settle(wait);
        return true;
      case "refused":
        return this.#fail(stored.code, stored.message, stored.details);
      case "unknown":
        // It gets no more answers, so that it cannot do what another run may do.
        this.#isOver = true;
        this.isStored = true;
        executor.cancel(call.callNumber, "outcome_unknown", stored.message);
        return true;
      default:
        return stored satisfies never;
    }
  }

  #settle(wait: RunWait): void {
    const open = this.#open.get(wait.step);
    this.#know(wait);
    this.#open.delete(wait.step);
    open?.settle.resolve(wait);
    this.#parts.onSettle(this, wait);
  }

  /** Fails all waits, and the run continues. */
  #fail(code: CallFailure["code"], message: string, details?: object): true {
    const open = [...this.#open.values()];
    this.#open.clear();
    for (const { settle } of open) settle.reject(this.#failure(code, message, details));
    return true;
  }
}

const LEFT = "the call that asked for it has ended";
