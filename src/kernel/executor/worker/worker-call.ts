import { TIMER_MAX_MS } from "../../base/deadline.ts";
import { CONTINUATIONS_MAX } from "../../base/protocol/capability-call.ts";
import {
  type CapabilityCallMessage,
  type ChildTicket,
  type Failure,
  type IdleMessage,
  type RunMessage,
  type RunTerms,
  type SettleMessage,
  settleMessage,
} from "../../base/protocol/messages.ts";
import { CallClock } from "./call-clock.ts";
import type { GuestRealm } from "./guest-realm.ts";
import { ReplaySchedule } from "./replay-schedule.ts";
import type { ToolIsolate } from "./tool-isolate.ts";
import { NOTHING_TOLD } from "./outcome.ts";
import { PROGRESS_MESSAGE_MAX } from "../../guest/host.ts";

/** Place of the command in a call of a `RunMessage`. */
const COMMAND_AT = 5;
const LOG_LINES_MAX = 1_000;
/** Maximum number of reported turns. */
const TURNS_MAX = 200;
/** Maximum number of responses that share a turn, and their length in characters: two copies exist while they cross. */
const TOGETHER_MAX = 128;
const TOGETHER_LENGTH = 256 * 1024;

/** A capability call that waits for its response: its name, and its time by the call's clock and by the worker's. */
interface AskedMethod {
  readonly capability: string;
  readonly method: string;
  readonly nowMs: number;
  readonly askedMs: number;
}

/** A child call of a call of this worker that this worker may run. */
export interface AskedChild {
  readonly ask: CapabilityCallMessage;
  readonly ticket: ChildTicket;
  /** Its arguments as JSON. */
  readonly args: string;
  /** Time of its request, by `performance.now()`. */
  readonly askedMs: number;
}

/** Number of a turn: the call's, or minus that of the call for which its worker has started it. */
export function turnNumberOf(callNumber: number, { parent }: Pick<RunMessage, "parent">): number {
  return parent === undefined ? callNumber : -parent;
}

/** A call in flight on this worker, with its use of its limits. */
export class WorkerCall {
  readonly callNumber: number;
  /** The message that started it. */
  readonly message: RunMessage;
  readonly terms: RunTerms;
  readonly isolate: ToolIsolate;
  readonly realm: GuestRealm;
  cpuMs = 0;
  /** The call's clock at the last firing of a timer. */
  firedMs = 0;
  /** `+` and the output, or `-` and a failure; empty until the call has ended inside its realm. */
  outcome = "";
  /** Whether the check of its arguments refused them. */
  isRefused = false;
  /** Whether it has sent the broker messages by its worker's pipe, and the capability calls that wait there. */
  hasSent = false;
  readonly unanswered = new Map<number, AskedMethod>();
  /** Child calls that may run in this worker and have not yet; steps that wait for the host. */
  readonly children: AskedChild[] = [];
  readonly awaited = new Set<number>();
  /** Whether the host is told when it only waits. */
  isWatched = false;
  /** Length of the answers of child calls that have run here, in characters. */
  answeredLength = 0;
  /** Responses that have arrived and are not delivered yet, in order. */
  readonly arrived: SettleMessage[] = [];
  /** The call's progress reports. */
  readonly progress = new ProgressThrottle();
  #timer: {
    readonly handle: NodeJS.Timeout;
    readonly dueMs: number;
    /** Time at which it fires, by `performance.now()`. */
    readonly firesMs: number;
    readonly onDue: () => void;
  } | null = null;
  /** Its log lines, each as JSON, and the number of those that were sent. */
  readonly #logs: string[] = [];
  #loggedCount = 0;
  #logLength = 0;
  #dropped = 0;
  /** Numbers of its capability calls, and of requests that only continue one. */
  #counted = 0;
  #continuations = 0;
  readonly #turns: [atMs: number, cpuMs: number][] = [];
  readonly #schedule: ReplaySchedule;
  #clock: CallClock | null = null;
  #askLength = 0;
  #told: Set<string> | null = null;

  constructor(callNumber: number, message: RunMessage, isolate: ToolIsolate, realm: GuestRealm) {
    this.callNumber = callNumber;
    this.message = message;
    this.terms = message.terms;
    this.isolate = isolate;
    this.realm = realm;
    this.#schedule = new ReplaySchedule(message.plan);
  }

  /** Error codes that it has from outside of its realm. */
  get told(): ReadonlySet<string> {
    return this.#told ?? NOTHING_TOLD;
  }

  /** Records that the host has failed one of its capability calls. */
  tell(code: string): void {
    (this.#told ??= new Set()).add(code);
  }

  /** Ends it with a failure that is not its realm's. */
  fail(failure: Failure): void {
    this.tell(failure.code);
    this.outcome = failed(failure);
  }

  noteTurn(startedMs: number, cpuMs: number): void {
    if (!this.terms.tellsTurns) return;
    const last = this.#turns.length < TURNS_MAX ? undefined : this.#turns.at(-1);
    if (last === undefined) this.#turns.push([performance.timeOrigin + startedMs, cpuMs]);
    else last[1] += cpuMs;
  }

  /** Its turns, as its end reports them. */
  turnsText(): string {
    return this.#turns.map(([atMs, cpuMs]) => `${atMs.toFixed(1)} ${cpuMs.toFixed(3)}`).join(",");
  }

  /** Stores a log line, redacted, if the limits allow. */
  log(level: string, message: string): void {
    this.#logLength += message.length + level.length;
    if (this.#logLength > this.terms.logBytes || this.#logs.length >= LOG_LINES_MAX) this.#dropped++;
    else this.#logs.push(JSON.stringify([level, this.#redact(message)]));
  }

  /** The log lines since the last time, each as JSON. */
  takeLines(): readonly string[] {
    const lines = this.#logs.slice(this.#loggedCount);
    this.#loggedCount = this.#logs.length;
    return lines;
  }

  /** Records a progress report from the guest, redacted. Calls `onDue` when it may be sent. */
  report(progress: number, total: string, message: string, onDue: () => void): void {
    if (message.length <= PROGRESS_MESSAGE_MAX) this.progress.record(progress, total, this.#redact(message), onDue);
  }

  #redact(text: string): string {
    return this.isolate.redactor?.text(text) ?? text;
  }

  /** Whether it calls a command of the tool, which has no schemas. */
  get isCommand(): boolean {
    return commandsOf(this.message).has(this.callNumber);
  }

  /** Whether its output is over the limit, which is refused without a look at it. */
  get isTooLong(): boolean {
    return this.outcome.length > this.terms.outputBytes + 1;
  }

  get dropped(): number {
    return this.#dropped;
  }

  /** Whether it has nothing to send but its outcome. */
  get isQuiet(): boolean {
    return this.#logs.length === 0 && this.#dropped === 0 && !this.progress.isPending && !this.hasSent;
  }

  logsJson(): string {
    return this.#logs.length === 0 ? "" : `[${this.#logs.join(",")}]`;
  }

  /**
   * The number of the next capability call; 0 beyond the limits, and without arguments: these were too long to cross.
   * The first one over the limit passes: the host refuses and reports it.
   */
  nextAsk(length: number, isContinuation: boolean): number {
    this.#askLength += length;
    const isOver = isContinuation
      ? this.#continuations >= CONTINUATIONS_MAX
      : this.#counted > this.terms.capabilityCalls;
    if (length === 0 || isOver || this.#askLength > this.terms.capabilityBytes) {
      this.tell("capability_limit");
      return 0;
    }
    if (isContinuation) this.#continuations++;
    else this.#counted++;
    return ++this.#schedule.asked;
  }

  /** Whether its limits have room for its capability calls, and for an answer of this length from this worker. */
  hasRoomFor(length: number): boolean {
    const { capabilityCalls, capabilityBytes } = this.terms;
    return this.#counted <= capabilityCalls && this.#askLength + this.answeredLength + length <= capabilityBytes;
  }

  /** The responses to capability calls that wait for a broker that has ended, in order. */
  failUnanswered(): readonly SettleMessage[] {
    const { callNumber } = this;
    const { attempt } = this.message;
    return Array.from(this.unanswered, ([step, { capability, method, nowMs: givenMs, askedMs }]) => {
      const message = `${capability}.${method} failed: the broker ended; call the tool again`;
      const failure: Failure = { code: "capability_failed", message };
      const nowMs = givenMs + Math.round(performance.now() - askedMs);
      return settleMessage({ callNumber, attempt, step }, { kind: "failure", nowMs, failure });
    });
  }

  /** Number of responses delivered to it. */
  get deliveredCount(): number {
    return this.#schedule.deliveredCount;
  }

  /** The arrived responses for the next turn. None while one is in transit that shared this turn in the first run. */
  takeResponses(): readonly SettleMessage[] {
    const count = this.#schedule.plannedCount || this.#countTogether();
    return count > this.arrived.length ? [] : this.arrived.splice(0, count);
  }

  /** Number of arrived responses that may share a turn: no timer is due between them. */
  #countTogether(): number {
    let [count, length] = [0, 0];
    for (const { payload, nowMs } of this.arrived) {
      length += payload.length;
      if (count > 0 && (count === TOGETHER_MAX || length > TOGETHER_LENGTH || this.dueMs <= nowMs)) break;
      count++;
    }
    return count;
  }

  /** Delivers so many responses at `nowMs` of the call's clock; returns whether they were planned. */
  receive(count: number, nowMs: number): boolean {
    this.#clock?.hear(nowMs);
    const wasPlanned = this.#schedule.deliver(count);
    // The responses may have held a timer that is due next.
    if (wasPlanned && this.#timer !== null) {
      const { dueMs, onDue } = this.#timer;
      this.startTimer(dueMs, dueMs - nowMs, onDue);
    }
    return wasPlanned;
  }

  /** In a turn that began at `realMs` of `performance.now()`, the call's clock is `nowMs`. */
  readClock(nowMs: number, realMs: number): void {
    // Ignores a forged time.
    if (!Number.isFinite(nowMs)) return;
    // One that runs again continues at the real time, regardless of its begin.
    this.#clock ??=
      this.message.plan === "" ? new CallClock(nowMs, realMs) : new CallClock(Date.now(), performance.now());
  }

  /** The time at which a timer fires, and the number of the call's timer turns if the clock did not wait for it. */
  timeOfTimer(dueMs: number): { readonly nowMs: number; readonly late: number | null } {
    const { fired, plannedMs, isFree } = this.#schedule.fire();
    const nowMs = plannedMs ?? (isFree ? this.#clock?.timeOf(dueMs) : undefined) ?? dueMs;
    return { nowMs, late: nowMs > dueMs && plannedMs === undefined ? fired : null };
  }

  /** Sets the call's one timer. `dueMs` is on the call's own clock. */
  startTimer(dueMs: number, delayMs: number, onDue: () => void): void {
    this.stopTimer();
    // While responses are planned, the order is known, so no timer waits in real time.
    const realMs = this.message.plan === "" ? delayMs : Math.min(delayMs, dueMs - Date.now());
    const waitMs = this.#schedule.isOver ? Math.min(Math.max(0, realMs || 0), TIMER_MAX_MS) : 0;
    const handle = setTimeout(() => {
      if (!this.#schedule.holds(dueMs)) onDue();
    }, waitMs);
    this.#timer = { handle, dueMs, firesMs: performance.now() + waitMs, onDue };
  }

  /** The timer's due time on the call's own clock, or infinity. */
  get dueMs(): number {
    return this.#timer?.dueMs ?? Number.POSITIVE_INFINITY;
  }

  /** Message to the host about a call that only waits; `null` for any other. */
  idle(): Omit<IdleMessage, "kind"> | null {
    const isBusy = this.outcome !== "" || this.arrived.length > 0 || this.children.length > 0;
    if (isBusy || !this.#schedule.isOver) return null;
    const { callNumber, message, deliveredCount: delivered, cpuMs: usedMs } = this;
    const dueInMs = this.#timer === null ? -1 : Math.max(0, Math.ceil(this.#timer.firesMs - performance.now()));
    return { callNumber, attempt: message.attempt, asked: this.#schedule.asked, delivered, dueInMs, usedMs };
  }

  /** Stops all timers of an ended call. */
  stopTimers(): void {
    this.stopTimer();
    this.progress.stop();
  }

  stopTimer(): void {
    if (this.#timer !== null) clearTimeout(this.#timer.handle);
    this.#timer = null;
  }
}

/** An outcome in the guest's form. */
export function failed(failure: Failure): string {
  return `-${JSON.stringify(failure)}`;
}

/**
 * Minimum interval between two progress messages, in milliseconds: people watch them, and a tool may report in every
 * iteration of a loop.
 */
const EVERY_MS = 50;

/** Throttles a call's progress reports: only the latest one waits. */
class ProgressThrottle {
  #latest: string | null = null;
  #sentMs = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | null = null;

  /** Records a report from the guest, with untrusted values. Calls `onDue` when it may be sent: now or later. */
  record(progress: number, total: string, message: string, onDue: () => void): void {
    if (!Number.isFinite(progress)) return;
    const whole = total === "" ? Number.NaN : Number(total);
    this.#latest = JSON.stringify([progress, Number.isFinite(whole) ? whole : null, message === "" ? null : message]);
    const waitMs = this.#sentMs + EVERY_MS - performance.now();
    if (waitMs <= 0) onDue();
    else this.#timer ??= setTimeout(onDue, waitMs);
  }

  get isPending(): boolean {
    return this.#latest !== null;
  }

  /** The report to send now, as `[progress, total, message]` in JSON. */
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

/** Numbers of the calls of commands by message, which is read once for all of its calls. */
const COMMANDS = new WeakMap<RunMessage, ReadonlySet<unknown>>();

function commandsOf(message: RunMessage): ReadonlySet<unknown> {
  let commands = COMMANDS.get(message);
  if (commands === undefined) {
    const calls = JSON.parse(message.calls) as readonly (readonly unknown[])[];
    commands = new Set(calls.filter((call) => typeof call[COMMAND_AT] === "string").map(([callNumber]) => callNumber));
    COMMANDS.set(message, commands);
  }
  return commands;
}
