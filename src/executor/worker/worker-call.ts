import { CONTINUATIONS_MAX } from "../../base/protocol/capability-call.ts";
import type { Failure, ReplayPlan, RunMessage } from "../../base/protocol/messages.ts";
import type { GuestRealm } from "./guest-realm.ts";
import { ReplaySchedule } from "./replay-schedule.ts";
import type { ToolIsolate } from "./tool-isolate.ts";
import { PROGRESS_MESSAGE_MAX } from "../../guest/host.ts";

const LOG_LINES_MAX = 1_000;
/** A timer set for longer would fire at once. */
const DELAY_MAX_MS = 2 ** 31 - 1;

/** A call in flight on this worker, with what it has used of its limits. */
export class WorkerCall {
  readonly run: number;
  /** What it was started with. */
  readonly message: RunMessage;
  readonly isolate: ToolIsolate;
  readonly realm: GuestRealm;
  cpuMs = 0;
  /** What the call's clock showed when a timer fired last. */
  firedMs = 0;
  /** `+` and the output, or `-` and a failure: set when the call has ended inside its realm. */
  outcome = "";
  /** How far it has come. */
  readonly progress = new ProgressThrottle();
  #timer: { readonly handle: NodeJS.Timeout; readonly dueMs: number; readonly onDue: () => void } | null = null;
  readonly #logs: [level: string, message: string][] = [];
  #logLength = 0;
  #dropped = 0;
  /** Of its asks, those that are capability calls, and those that only go on with one. */
  #counted = 0;
  #continuations = 0;
  readonly #schedule: ReplaySchedule;
  #askLength = 0;

  constructor(run: number, message: RunMessage, isolate: ToolIsolate, realm: GuestRealm) {
    this.run = run;
    this.message = message;
    this.isolate = isolate;
    this.realm = realm;
    this.#schedule = new ReplaySchedule(message.plan === "" ? [] : (JSON.parse(message.plan) as ReplayPlan));
  }

  /** Keeps a log line if the budget allows; says whether it did. */
  log(level: string, message: string): boolean {
    this.#logLength += message.length + level.length;
    if (this.#logLength > this.message.logBytes || this.#logs.length >= LOG_LINES_MAX) {
      this.#dropped++;
      return false;
    }
    this.#logs.push([level, message]);
    return true;
  }

  get dropped(): number {
    return this.#dropped;
  }

  /** Whether it has nothing to tell but its outcome. */
  get isQuiet(): boolean {
    return this.#logs.length === 0 && this.#dropped === 0 && !this.progress.isPending;
  }

  logsJson(): string {
    return this.#logs.length === 0 ? "" : JSON.stringify(this.#logs);
  }

  /**
   * The next ask's number, or 0 when the call has used up what it may ask. One that is too many goes through: the host
   * refuses it, and tells of it.
   */
  nextAsk(length: number, isContinuation: boolean): number {
    this.#askLength += length;
    if (this.#askLength > this.message.capabilityBytes) return 0;
    if (isContinuation ? this.#continuations >= CONTINUATIONS_MAX : this.#counted > this.message.capabilityCalls)
      return 0;
    if (isContinuation) this.#continuations++;
    else this.#counted++;
    return ++this.#schedule.asked;
  }

  /** How many answers it has heard. */
  get heard(): number {
    return this.#schedule.heard;
  }

  /** An answer reaches it, given when its clock showed `nowMs`; says whether that was known when it started. */
  receive(nowMs: number): boolean {
    const wasPlanned = this.#schedule.hear();
    // A timer that it had to come before may be next.
    if (wasPlanned && this.#timer !== null) {
      const { dueMs, onDue } = this.#timer;
      this.startTimer(dueMs, dueMs - nowMs, onDue);
    }
    return wasPlanned;
  }

  /** Sets the call's one timer. `dueMs` is of the call's own clock. */
  startTimer(dueMs: number, delayMs: number, onDue: () => void): void {
    this.stopTimer();
    // While answers are planned, what is next is known, and nothing waits for its time.
    const waitMs = this.#schedule.isOver ? Math.min(Math.max(0, delayMs || 0), DELAY_MAX_MS) : 0;
    const handle = setTimeout(() => {
      if (!this.#schedule.holds(dueMs)) onDue();
    }, waitMs);
    this.#timer = { handle, dueMs, onDue };
  }

  /** When the timer is due by the call's own clock, or never. */
  get dueMs(): number {
    return this.#timer?.dueMs ?? Number.POSITIVE_INFINITY;
  }

  /** It has ended. */
  stopTimers(): void {
    this.stopTimer();
    this.progress.stop();
  }

  stopTimer(): void {
    if (this.#timer !== null) clearTimeout(this.#timer.handle);
    this.#timer = null;
  }
}

/** An outcome as the guest writes it. */
export function failed(failure: Failure): string {
  return `-${JSON.stringify(failure)}`;
}

/** Between two that are told lie so many milliseconds: people watch it, and a tool may report with every turn of a loop. */
const EVERY_MS = 50;

/** What a call says of how far it has come. The latest waits until it may be told, and takes the place of those before. */
export class ProgressThrottle {
  #latest: string | null = null;
  #sentMs = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | null = null;

  /** Takes what the guest says, which may be anything. `onDue` is called when it may be told: now or later. */
  record(progress: number, total: string, message: string, onDue: () => void): void {
    if (!Number.isFinite(progress) || message.length > PROGRESS_MESSAGE_MAX) return;
    const whole = total === "" ? Number.NaN : Number(total);
    this.#latest = JSON.stringify([progress, Number.isFinite(whole) ? whole : null, message === "" ? null : message]);
    const waitMs = this.#sentMs + EVERY_MS - performance.now();
    if (waitMs <= 0) onDue();
    else this.#timer ??= setTimeout(onDue, waitMs);
  }

  get isPending(): boolean {
    return this.#latest !== null;
  }

  /** What is to be told now, as `[progress, total, message]` in JSON. */
  take(): string | null {
    this.stop();
    const latest = this.#latest;
    this.#latest = null;
    if (latest !== null) this.#sentMs = performance.now();
    return latest;
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}
