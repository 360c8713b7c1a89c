import { GloveboxError, StoreError, toolError } from "../../base/errors.ts";
import { isObject, type JsonValue } from "../../base/json.ts";
import { DEFAULT_LIMITS } from "../../base/limits.ts";
import { isAmong } from "../../base/name-patterns.ts";
import { SIGNAL_NAME } from "../../broker/capabilities/pause.ts";
import { refusedCall, type ToolResult } from "../../base/result.ts";
import type { CallWait, Decision, DurableCall, DurableCallDetail } from "../../store/calls/durable/durable-call.ts";
import type { DurableAnswer, DurablePage, MadeDecision, TakeDurable } from "../../store/calls/durable/durable-step.ts";
import { HOST_TOOLS } from "../../tool/program/program.ts";
import { writeArguments } from "../call/arguments.ts";
import type { CancelEvent } from "../telemetry/durable-events.ts";
import type { Events } from "../telemetry/events.ts";
import type { ArgumentChecks } from "./argument-check.ts";
import type { EffectParts } from "./call-effects.ts";
import { CallReader } from "./call-reader.ts";
import { pausedResult } from "./durable.ts";
import {
  type Decider,
  DecisionConflict,
  type DurableCalls,
  type DurableFilter,
  type DurableOfWhom,
  type EndWait,
  type LinkedCall,
  type UndoReport,
  type UndoWait,
  WAIT_MAX_MS,
} from "./durable-calls.ts";
import { type LinkedWait, linkObstacle, readToken } from "./decision-links.ts";
import type { ResolvedTarget } from "./notify-options.ts";
import { answerText, dataText } from "./effect-answer.ts";
import { keepsHidden } from "./shown-arguments.ts";
import { effectsOf, hasFailed } from "./undo.ts";

/** Pauses between looks for the end of a call, which another process may cause. */
const LOOK_LEAST_MS = 50;
const LOOK_MOST_MS = 1_000;
/** Maximum callers that wait for ends; further ones are answered at once. */
const WAITING_MAX = 1_000;
const REASON_MAX = 1_000;
const ACTOR_MAX = 256;
const DECISIONS_MAX = 32;
const SIGNAL = new RegExp(SIGNAL_NAME);
const DECISIONS = ["approve", "refuse", "happened", "did_not_happen"] satisfies Decision["decision"][];
const ANYBODY: Decider = { key: null };

interface Parts extends EffectParts {
  readonly take: TakeDurable;
  readonly events: Pick<Events, "emit">;
  readonly checks: ArgumentChecks;
  /** Called when a wait was settled. */
  readonly onSettled: () => void;
  /** Called when a call was made in the store. */
  readonly onMade: (id: string) => void;
  /** Targets of notifications, whose links decide. */
  readonly notified: readonly ResolvedTarget[];
}

/** Durable calls in their store: for readers and deciders. */
export class StoredDurableCalls implements DurableCalls {
  readonly #parts: Parts;
  readonly #reader: CallReader;
  /** Callers that wait for the end of a call, by its id. */
  readonly #waiting = new Map<string, Set<() => void>>();
  #waitingCount = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#reader = new CallReader(parts);
  }

  list(filter?: DurableFilter): Promise<DurablePage> {
    return this.#reader.list(filter);
  }

  get(id: string, whose?: DurableOfWhom): Promise<DurableCallDetail | undefined> {
    return this.#reader.detail(id, whose);
  }

  async result(
    id: string,
    whose: DurableOfWhom = {},
    { waitMs = 0, signal }: EndWait = {},
  ): Promise<ToolResult | undefined> {
    const untilMs = performance.now() + Math.min(Math.max(0, waitMs), WAIT_MAX_MS);
    for (let pauseMs = LOOK_LEAST_MS; ; pauseMs = Math.min(2 * pauseMs, LOOK_MOST_MS)) {
      const call = await this.#found(id, whose, pauseMs === LOOK_LEAST_MS);
      if (call === undefined || "success" in call) return call;
      if (call.result !== null) return call.result;
      const leftMs = untilMs - performance.now();
      if (leftMs <= 0 || signal?.aborted === true || this.#waitingCount >= WAITING_MAX) {
        const open = call.waits.filter(({ state }) => state === "open");
        return pausedResult(id, call.callId, call.tool, open);
      }
      await this.#wait(id, Math.min(leftMs, pauseMs), signal);
    }
  }

  /** A call, or its result if it cannot be read any more: it cannot continue. */
  async #found(id: string, whose: DurableOfWhom, isChecked: boolean): Promise<DurableCall | ToolResult | undefined> {
    try {
      return await this.#reader.get(id, whose, isChecked);
    } catch (error) {
      if (!(error instanceof StoreError && error.isDamaged)) throw error;
      return refusedCall({ id }, toolError("store_failed", error.message));
    }
  }

  /** Called when a call has ended, or waits again: its waiting readers look. */
  tell(id: string): void {
    for (const wake of this.#waiting.get(id) ?? []) wake();
  }

  #wait(id: string, ms: number, signal: AbortSignal | undefined): Promise<void> {
    const waiting = this.#waiting.get(id) ?? new Set();
    this.#waiting.set(id, waiting);
    this.#waitingCount++;
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", wake);
        if (!waiting.delete(wake)) return;
        this.#waitingCount--;
        if (waiting.size === 0) this.#waiting.delete(id);
        resolve();
      };
      const timer = setTimeout(wake, ms);
      waiting.add(wake);
      signal?.addEventListener("abort", wake);
    });
  }

  async decide(
    id: string,
    given: Decision | readonly Decision[],
    by: Decider = ANYBODY,
  ): Promise<DurableCall | undefined> {
    const decisions = readDecisions(given);
    const call = await this.#reader.get(id, by);
    if (call === undefined) return undefined;
    const made: MadeDecision[] = [];
    for (const decision of decisions) {
      const wait = waitOf(call, decision);
      requireMay(call, wait, by);
      const values = await this.#valuesFor(call, wait, decision);
      made.push({ ...decision, ...values, wait: wait.step, by: by.key });
    }
    const nowMs = Date.now();
    const answer = await this.#parts.take({ kind: "decide", id, tenant: by.tenant ?? null, decisions: made, nowMs });
    const decided = this.#callOf(answer);
    if (decided === undefined) return undefined;
    const event = eventOf(decided, by);
    for (const { wait: step, decision, actor = null, arguments: args } of made) {
      const wait = decided.waits.find((one) => one.kind === "approval" && one.step === step);
      const digest = wait?.kind === "approval" ? wait.digest : null;
      this.#parts.events.emit("call:decide", { ...event, step, decision, actor, digest, isEdited: args !== null });
    }
    return decided;
  }

  async signal(
    id: string,
    name: string,
    payload: JsonValue = null,
    by: Decider = ANYBODY,
  ): Promise<DurableCall | undefined> {
    if (typeof name !== "string" || !SIGNAL.test(name))
      throw new RangeError("the name of a signal has 1 to 128 letters, digits, or _ . : -");
    const text = dataText("the payload of a signal", payload);
    if ((await this.#reader.get(id, by)) === undefined) return undefined;
    const of = { id, tenant: by.tenant ?? null, name, payload: text, by: by.key };
    const signalled = this.#callOf(await this.#parts.take({ kind: "signal", ...of, nowMs: Date.now() }));
    if (signalled !== undefined) this.#parts.events.emit("call:signal", { ...eventOf(signalled, by), name });
    return signalled;
  }

  async cancel(id: string, reason?: string, by: Decider = ANYBODY): Promise<DurableCall | undefined> {
    const call = await this.#reader.get(id, by);
    if (call === undefined) return undefined;
    const why = reason === undefined ? "" : `: ${String(reason).slice(0, REASON_MAX)}`;
    const message = `the call was cancelled while it waited${why}`;
    const cancel = { kind: "cancel", id, tenant: by.tenant ?? null, message, nowMs: Date.now() } as const;
    const cancelled = this.#callOf(await this.#parts.take(cancel));
    if (cancelled !== undefined) this.#parts.events.emit("call:cancel", eventOf(cancelled, by));
    return cancelled;
  }

  async undo(
    id: string,
    by: Decider = ANYBODY,
    { again = false, ...options }: UndoWait = {},
  ): Promise<UndoReport | undefined> {
    if ((await this.#reader.get(id, by)) === undefined) return undefined;
    let undo = await this.#undoing(id, by, null);
    if (again && undo !== undefined && hasFailed(undo.result)) undo = await this.#undoing(id, by, undo.id);
    if (undo === undefined) return undefined;
    this.#parts.events.emit("call:undo", { ...eventOf(undo, by), id });
    const result = await this.result(undo.id, by, { waitMs: WAIT_MAX_MS, ...options });
    const { state } = (await this.#reader.get(undo.id, by)) ?? undo;
    const error = result?.error ?? null;
    return { id: undo.id, state, effects: effectsOf(result), error: error?.code === "paused" ? null : error };
  }

  /** The last call that undoes another, or after it the next one. */
  async #undoing(id: string, by: Decider, after: string | null): Promise<DurableCall | undefined> {
    const step = { kind: "undo", id, tenant: by.tenant ?? null, after, nowMs: Date.now() } as const;
    const answer = await this.#parts.take(step);
    if (answer.kind === "done" && answer.call !== null) this.#parts.onMade(answer.call.id);
    return this.#callOf(answer);
  }

  async byLink(token: string): Promise<LinkedCall | undefined> {
    const link = readToken(token, this.#parts.notified);
    if (link === null) return undefined;
    const { id, step, target, expiresMs } = link;
    const call = await this.#reader.get(id);
    const found = call?.waits.filter((one): one is LinkedWait => one.kind === "approval" && one.step === step) ?? [];
    const wait = found.find(link.isFor);
    if (call === undefined || wait === undefined) return undefined;
    if (wait.state !== "open") return { kind: "gone", reason: `it is ${wait.state} already` };
    if (expiresMs <= Date.now()) return { kind: "gone", reason: "the link has expired" };
    const reason = linkObstacle(wait);
    if (reason !== null) return { kind: "forbidden", reason };
    const actor = `link:${target.host}`;
    return {
      kind: "open",
      call,
      wait,
      decide: (decision, digest) => this.decide(id, { wait: step, decision, digest, actor }),
    };
  }

  async #valuesFor(call: DurableCall, wait: DecidedWait, decision: Decision): Promise<DecisionValues> {
    switch (decision.decision) {
      case "refuse":
      case "did_not_happen":
        return NO_VALUES;
      case "happened":
        return { ...NO_VALUES, data: answerText(wait, decision.answer ?? null) };
      case "approve":
        // The store refuses a decision of another kind.
        return wait.kind === "approval" ? this.#approvedValues(call, wait, decision) : NO_VALUES;
    }
  }

  /** A person approves the shown version of the tool, with arguments that match its schema. */
  async #approvedValues(
    call: DurableCall,
    wait: CallWait & { readonly kind: "approval" },
    { arguments: given, data }: Decision,
  ): Promise<DecisionValues> {
    if (wait.tool === null && given !== undefined)
      throw new RangeError("arguments are for the approval of a tool; the call itself asks for this one: send data");
    const values = { arguments: null, data: await this.#parts.checks.dataOf(call, wait, data) };
    if (wait.tool === null) return values;
    // `undefined`: only another process has it.
    const tool = this.#parts.registry.get(wait.tool, call.tenant);
    if (tool !== undefined && tool.info.digest !== wait.version && wait.state === "open") {
      const words = `the tool "${wait.tool}" is another version than the one that was shown: refuse it, or cancel the call and make it again`;
      throw new DecisionConflict(words, call);
    }
    if (!isObject(given)) return values;
    if (HOST_TOOLS.has(wait.tool)) throw new RangeError("the arguments of a program cannot be edited: refuse it");
    const text = writeArguments(given, tool?.limits ?? DEFAULT_LIMITS);
    if (typeof text !== "string") throw new GloveboxError(text.code, text.message);
    if (tool === undefined || wait.state !== "open") return { ...values, arguments: text };
    if (keepsHidden(text, tool)) {
      const words =
        "a value of the arguments was hidden, and [redacted] stands for it: write the value, or approve without edits";
      throw new GloveboxError("invalid_arguments", words);
    }
    const { limits } = tool;
    const subject = { callId: call.callId, tool, tenant: call.tenant, limits, options: {}, parent: null };
    const checked = await this.#parts.checks.check(subject, text);
    if (checked.kind === "valid") return { ...values, arguments: text };
    const { code, message, violations } = checked.failure;
    throw new GloveboxError(code, message, violations && { violations });
  }

  #callOf(answer: DurableAnswer): DurableCall | undefined {
    switch (answer.kind) {
      case "done":
        this.#parts.onSettled();
        if (answer.call !== null) this.tell(answer.call.id);
        return answer.call === null ? undefined : this.#reader.read(answer.call);
      case "conflict":
        throw new DecisionConflict(answer.message, this.#reader.read(answer.call));
      default:
        return undefined;
    }
  }
}

/** Values of a decision, as JSON. */
type DecisionValues = Pick<MadeDecision, "arguments" | "data">;

const NO_VALUES: DecisionValues = { arguments: null, data: null };

/** A wait that a person decides. */
type DecidedWait = CallWait & { readonly kind: "approval" | "outcome" };

/** The event's data about a call and the key that acted on it. */
function eventOf({ id, callId, tool, tenant }: DurableCall, { key }: Decider): CancelEvent {
  return { id, callId, tool, tenant, key };
}

function readDecisions(given: Decision | readonly Decision[]): readonly Decision[] {
  const decisions: readonly unknown[] = Array.isArray(given) ? given : [given];
  if (decisions.length === 0 || decisions.length > DECISIONS_MAX)
    throw new RangeError(`there are 1 to ${DECISIONS_MAX} decisions`);
  return decisions.map((one) => readDecision(one));
}

function readDecision(given: unknown): Decision {
  if (typeof given !== "object" || given === null) throw new RangeError("a decision is an object");
  const {
    wait,
    decision,
    digest,
    arguments: args,
    reason,
    actor,
  } = given as { readonly [Name in keyof Decision]: unknown };
  if (!DECISIONS.some((known) => known === decision)) throw new RangeError(`decision is ${DECISIONS.join(", ")}`);
  if (wait !== undefined && !Number.isInteger(wait)) throw new RangeError("wait is the step of a wait");
  if (digest !== undefined && typeof digest !== "string") throw new RangeError("digest is a text");
  if (args !== undefined && !isObject(args)) throw new RangeError("arguments is an object");
  requireText("reason", reason, REASON_MAX);
  requireText("actor", actor, ACTOR_MAX);
  return given as Decision;
}

function requireText(name: string, value: unknown, most: number): void {
  if (value === undefined || (typeof value === "string" && value.length <= most)) return;
  throw new RangeError(`${name} is a text of at most ${most} characters`);
}

function waitOf(call: DurableCall, { wait, decision }: Decision): DecidedWait {
  const isOutcome = decision === "happened" || decision === "did_not_happen";
  const kind = isOutcome ? "outcome" : "approval";
  const words = isOutcome ? "outcome of an effect" : "approval";
  const all = call.waits.filter((one): one is DecidedWait => one.kind === kind);
  const open = all.filter(({ state }) => state === "open");
  // The only one may already be settled by the same decision.
  const meant = open.length === 0 ? all : open;
  const found = wait === undefined ? meant : all.filter(({ step }) => step === wait);
  const [one] = found;
  if (one === undefined)
    throw new DecisionConflict(`the call waits for no ${words}${wait === undefined ? "" : " there"}`, call);
  if (found.length > 1)
    throw new DecisionConflict(`the call waits for more than one ${words}: name one by its wait`, call);
  return one;
}

function requireMay(call: DurableCall, wait: DecidedWait, { key }: Decider): void {
  // Every key with the role may report the outcome.
  if (key === null || wait.kind === "outcome") return;
  const { by, self } = wait;
  if (by.length > 0 && !isAmong(by, key))
    throw new GloveboxError("forbidden", `the key "${key}" is not one of those that may decide this`);
  if (call.key === key && !self) throw new GloveboxError("forbidden", "the key that made a call may not decide it");
}
