import { parseForWriting, parseWithBigInts } from "../../base/exact-json.ts";
import { type ToolError, toolError } from "../../base/errors.ts";
import { emptyMetadata, failure, readResult, type ToolResult, writableOutput } from "../../base/result.ts";
import { type AskedPause, CallFailure, type ChildCallEnd } from "../../broker/capabilities/capability.ts";
import type { Policy } from "../../broker/policy.ts";
import type { BrokerClient } from "../../broker/thread/broker-client.ts";
import type { Executor } from "../../executor/executor.ts";
import type { RunWait, WaitKind } from "../../store/calls/durable/durable-call.ts";
import type { TakeDurable } from "../../store/calls/durable/durable-step.ts";
import { undoId } from "../../store/calls/durable/undone-calls.ts";
import type { RegisteredTool } from "../../tool/registered-tool.ts";
import type { ToolRegistry } from "../../tool/registry.ts";
import { writeArguments } from "../call/arguments.ts";
import type { KeptTarget } from "../call/child-call.ts";
import { isRepeatableByName } from "../call/effect-name.ts";
import type { EngineCall } from "../call/engine-call.ts";
import type { WaitingOptions } from "../call-options.ts";
import { isRepeatable } from "../call/idempotency.ts";
import type { Scheduler } from "../schedule/scheduler.ts";
import { settleEvent } from "../telemetry/durable-events.ts";
import type { Events } from "../telemetry/events.ts";
import { ArgumentChecks } from "./argument-check.ts";
import { CallWaits, newLeg, type StoredLeg } from "./call-waits.ts";
import { digestOf, madeOf, unrun } from "./durable-record.ts";
import { storeEnd, storePause, storeStart } from "./durable-steps.ts";
import { isDurable, mayNeedApproval, type NeededApproval, neededApproval } from "./gate.ts";
import { shownArguments } from "./shown-arguments.ts";
import { undoBelow } from "./undo-below.ts";
import { answerOf, askedWait, refusalOf } from "./wait-answer.ts";

/** Parts of an engine for pausing calls. */
export interface DurableParts {
  readonly take: TakeDurable;
  readonly registry: Pick<ToolRegistry, "get">;
  readonly broker: Pick<BrokerClient, "accounts" | "grants" | "capabilities">;
  readonly executor: Executor;
  readonly scheduler: Scheduler;
  readonly events: Events;
  readonly nextCallNumber: () => number;
  readonly entropyKey: string;
  /** Identifies the engine among those with the same store. */
  readonly holder: string;
  readonly waiting: WaitingOptions;
}

/** The decision on a call before its start. */
export type Gated =
  | { readonly kind: "open" }
  | { readonly kind: "refused"; readonly error: ToolError }
  | { readonly kind: "paused"; readonly error: ToolError };

/** Calls that wait for people, signals and times: before their start, and in their runs. */
export class Durable {
  readonly checks: ArgumentChecks;
  readonly #parts: DurableParts;
  /** Called when a stored call begins its first run, or has ended it. */
  onStart: (by: 1 | -1) => void = () => undefined;
  /** Called when this engine has stored a call. */
  onPause: (id: string) => void = () => undefined;
  /** Called when a call was stored, or has ended: waiting readers may look. */
  onChange: (id: string) => void = () => undefined;

  constructor(parts: DurableParts) {
    this.#parts = parts;
    const { executor, scheduler, nextCallNumber, broker } = parts;
    this.checks = new ArgumentChecks({ executor, scheduler, nextCallNumber, accounts: broker.accounts });
  }

  /**
   * Checks a call's arguments, and whether it needs an approval: then it is stored, and has to be decided. `asked`: the
   * reason of a listener that requests one.
   */
  async gate(call: EngineCall, asked: string | null): Promise<Gated> {
    const needed = await this.#needed(call, call.args, asked);
    if ("kind" in needed) return needed;
    const { approval, args } = needed;
    if (call.options.pause === "refuse") return refused("cannot_pause", `${WAITS} ${approval.message}, ${MUST_NOT}`);
    const obstacle = call.parent === null ? null : this.waitsOf(call.parent).obstacle();
    if (obstacle !== null) return refused("cannot_pause", `${WAITS} ${approval.message}; ${obstacle}`);
    call.args = args;
    const leg = newLeg(0);
    const wait = this.#approvalWait(leg.id, 0, call.tool, args, approval);
    const nowMs = Date.now();
    const expiresMs = approval.expiresMs === null ? null : nowMs + approval.expiresMs;
    const waits = [{ step: 0, wait, openedMs: nowMs, expiresMs }];
    const made = madeOf(call, nowMs, this.#parts.waiting.expiresMs);
    const paused = { ...unrun(call), id: leg.id, leg: 0, made, waits, wakeMs: null };
    const stored = await storePause(this.#parts.take, paused, nowMs);
    if (stored.kind === "refused") return refused(stored.code, stored.message, stored.details);
    if (stored.kind === "unknown") return refused("outcome_unknown", stored.message);
    this.#tell(call, leg.id, 0, [wait]);
    return { kind: "paused", error: pausedError(leg.id, [wait]) };
  }

  /** As `gate`, and stores a durable call before it begins. */
  async admit(call: EngineCall, asked: string | null): Promise<Gated> {
    const mayWait = asked !== null || mayNeedApproval(call.tool, this.#policy, call.tenant);
    const gated: Gated = mayWait ? await this.gate(call, asked) : { kind: "open" };
    return gated.kind === "open" && isDurable(call.options) ? this.#start(call) : gated;
  }

  async #start(call: EngineCall): Promise<Gated> {
    const { take, holder, waiting } = this.#parts;
    const leg = newLeg(1);
    const nowMs = Date.now();
    const waits = this.waitsOf(call, { ...leg, isStored: true, endsMs: nowMs + waiting.expiresMs });
    const obstacle = waits.obstacleToKeeping();
    const stored =
      obstacle === null
        ? await storeStart(
            take,
            {
              ...unrun(call),
              id: leg.id,
              leg: 1,
              made: madeOf(call, nowMs, waiting.expiresMs),
              waits: [],
              wakeMs: null,
            },
            holder,
          )
        : ({ kind: "refused", code: "cannot_pause", message: obstacle, details: undefined } as const);
    if (stored.kind === "stored") {
      waits.isStart = true;
      this.onStart(1);
      return { kind: "open" };
    }
    call.waits = null;
    const message = `the call cannot be kept: ${stored.message}`;
    return stored.kind === "refused"
      ? refused(stored.code, message, stored.details)
      : refused("outcome_unknown", message);
  }

  /** The waits of a run; made at its first wait. */
  waitsOf(call: EngineCall, stored?: StoredLeg): CallWaits {
    if (call.waits instanceof CallWaits) return call.waits;
    if (call.parent !== null) this.waitsOf(call.parent);
    const onPause = (waits: CallWaits): void => this.#onPause(waits);
    const onSettle = (waits: CallWaits, wait: RunWait): void => this.#onSettle(waits, wait);
    return (call.waits = new CallWaits(call, stored ?? newLeg(1), { ...this.#parts, onPause, onSettle }));
  }

  /** Waits on behalf of a tool or a program, and resolves with the answer. Throws a `CallFailure`. */
  async pause(call: EngineCall, step: number, asked: AskedPause): Promise<unknown> {
    if (asked.kind === "time" && asked.untilMs <= Date.now()) return null;
    const waits = this.waitsOf(call);
    if (asked.kind === "approval" && asked.schema !== null && waits.known(step) === undefined)
      await this.checks.requireSchema(call.tenant, asked.schema);
    const expiresMs = asked.kind === "time" || asked.expiresMs === null ? null : Date.now() + asked.expiresMs;
    const settled = await waits.wait(step, askedWait(waits.id, step, asked), expiresMs);
    return answerOf(settled);
  }

  /**
   * Runs a child call, after an approval if necessary, and waits for one that pauses. `run` gets approved arguments.
   */
  async child(
    parent: EngineCall,
    tool: RegisteredTool | undefined,
    args: Record<string, unknown>,
    step: number,
    run: (args: Record<string, unknown>) => Promise<ChildCallEnd & { readonly pausedId?: string }>,
  ): Promise<ChildCallEnd> {
    const known = parent.waits instanceof CallWaits ? parent.waits.known(step) : undefined;
    if (known?.kind === "call") return this.endOfChild(parent, step, known.id, tool);
    let approved = args;
    if (tool !== undefined && mayNeedApproval(tool, this.#policy, parent.tenant)) {
      const decided = await this.#approveChild(parent, tool, args, step);
      if ("code" in decided) return { result: { ok: false, ...decided } };
      approved = decided.args;
    }
    if (parent.waits?.isStored === true && !isRepeatable(tool)) {
      await parent.waits.begin(step, tool !== undefined && isRepeatableByName(tool));
      if (parent.isSettled) throw new CallFailure("cancelled", "the call has ended");
    }
    const { pausedId, ...end } = await run(approved);
    return pausedId === undefined ? toldOf(parent, step, tool, end) : this.endOfChild(parent, step, pausedId, tool);
  }

  /** Undoes a stored child of the call that `parent` undoes, and waits for the end: a paused child has a record. */
  async undoKept(parent: EngineCall, target: KeptTarget, step: number): Promise<ChildCallEnd> {
    const waits = this.waitsOf(parent);
    const known = waits.known(step);
    const begun = known?.kind === "call" ? known : await undoBelow(this.#parts.take, target, { id: waits.id, step });
    if ("result" in begun) return begun;
    this.onPause(begun.id);
    this.onChange(begun.id);
    return this.endOfChild(parent, step, begun.id);
  }

  /** Waits for a child call that has paused. */
  async endOfChild(parent: EngineCall, step: number, id: string, tool?: RegisteredTool): Promise<ChildCallEnd> {
    const { settled } = await this.waitsOf(parent).wait(step, { kind: "call", id }, null);
    // Any state other than `done` is the end of the call itself.
    if (settled === null || settled.data === null) throw new CallFailure("cancelled", "the call has ended");
    const result = readResult(settled.data);
    const { success, error, metadata } = result;
    const { callId, edited } = metadata;
    const told = { callId, ...(edited === undefined ? {} : { edited }) };
    if (success || error === null)
      return toldOf(parent, step, tool, { ...told, result: { ok: true, output: writableOutput(result) } });
    return toldOf(parent, step, tool, { ...told, result: { ok: false, code: error.code, message: error.message } });
  }

  async #approveChild(
    parent: EngineCall,
    tool: RegisteredTool,
    given: Record<string, unknown>,
    step: number,
  ): Promise<{ readonly args: Record<string, unknown> } | ChildRefusal> {
    const { tenant, options, callId } = parent;
    const { limits } = tool;
    const text = writeArguments(given, limits);
    if (typeof text !== "string") return refusedAs(text);
    const call = { callId, tool, tenant, limits, options, parent };
    const needed = await this.#needed(call, text, null);
    if ("kind" in needed) return needed.kind === "open" ? { args: given } : refusedAs(needed.error);
    const { approval, args } = needed;
    const waits = this.waitsOf(parent);
    const wait = this.#approvalWait(waits.id, step, tool, args, approval);
    const expiresMs = approval.expiresMs === null ? null : Date.now() + approval.expiresMs;
    try {
      const decided = await waits.wait(step, wait, expiresMs);
      const refusal = refusalOf(decided);
      if (refusal !== null) return refusal;
      if (decided.state !== "approved") throw new CallFailure("cancelled", "the call has ended");
      return { args: parseWithBigInts(decided.settled?.arguments ?? args) as Record<string, unknown> };
    } catch (error) {
      if (error instanceof CallFailure && error.code !== "paused") return refusedAs(error);
      throw error;
    }
  }

  /** The approval that a call needs, with its arguments and their defaults; or the decision without one. */
  async #needed(
    call: Parameters<ArgumentChecks["check"]>[0],
    given: string,
    asked: string | null,
  ): Promise<Gated | { readonly approval: NeededApproval; readonly args: string }> {
    // Whether an undoing needs an approval depends on the arguments of the undone call.
    const undone = call.tool.isUndoer === true ? (parseForWriting(given) as Readonly<Record<string, unknown>>) : null;
    const checked = await this.checks.check(call, undone === null ? given : JSON.stringify(undone["input"] ?? {}));
    if (checked.kind === "invalid") {
      const { code, message, violations } = checked.failure;
      return { kind: "refused", error: toolError(code, message, violations && { violations }) };
    }
    const { args } = checked;
    const approval = await neededApproval(call, args, { policy: this.#policy, checks: this.checks, asked });
    if (approval === null) return { kind: "open" };
    if (undone === null) return { approval, args };
    const output = JSON.stringify(undone["output"] ?? null);
    const message = `to undo a call: ${approval.message}`;
    return { approval: { ...approval, message }, args: `{"input":${args},"output":${output}}` };
  }

  #approvalWait(id: string, step: number, tool: RegisteredTool, args: string, needed: NeededApproval): WaitKind {
    const { from, message, self, by } = needed;
    const { name, digest: version } = tool.info;
    const digest = digestOf(id, step, tool, args);
    return {
      kind: "approval",
      tool: name,
      version,
      arguments: shownArguments(args, tool),
      digest,
      message,
      schema: null,
      from,
      self,
      by,
    };
  }

  /** Stores the end of a stored call. Returns the result for its caller: `paused` if it continues. */
  async end({ waits, options }: EngineCall, result: ToolResult): Promise<ToolResult> {
    if (!(waits instanceof CallWaits)) return result;
    const { id } = waits;
    await waits.sent();
    if (!waits.isStored) return result;
    const end = await storeEnd(this.#parts.take, waits, result, waits.isStart);
    this.#endStart(waits);
    if (options.undo === "onFailure") this.onPause(undoId(id));
    this.onChange(id);
    return end ?? failure(pausedError(id, []), result.metadata);
  }

  /** The first run of a call that was stored before it is over. */
  #endStart(waits: CallWaits): void {
    if (waits.isStart) this.onStart(-1);
    waits.isStart = false;
  }

  #onSettle({ id, call: { callId, tool, tenant } }: CallWaits, wait: RunWait): void {
    const event = settleEvent({ id, callId, tool: tool.info.name, tenant }, wait);
    if (event !== null) this.#parts.events.emit("call:settle", event);
  }

  /** Ends the call's paused run. */
  #onPause(waits: CallWaits): void {
    const { call, id, leg } = waits;
    this.#endStart(waits);
    const kinds = waits.open.map(({ wait }) => wait);
    this.#tell(call, id, leg, kinds);
    this.#parts.executor.cancel(call.callNumber, "paused", pausedError(id, kinds).message);
  }

  #tell({ callId, tool, tenant }: EngineCall, id: string, leg: number, waits: readonly WaitKind[]): void {
    const kinds = waits.map(({ kind }) => kind);
    this.onPause(id);
    this.#parts.events.emit("call:pause", { id, callId, tool: tool.info.name, tenant, legs: leg, waits: kinds });
    this.onChange(id);
  }

  get #policy(): Policy {
    return this.#parts.broker.grants.policy;
  }
}

/** The end of a child call, with the edits of the person who approved it. */
function toldOf(parent: EngineCall, step: number, tool: RegisteredTool | undefined, end: ChildCallEnd): ChildCallEnd {
  const edited = tool !== undefined && parent.waits instanceof CallWaits ? parent.waits.edited(step, tool) : undefined;
  return edited === undefined ? end : { ...end, edited };
}

/** The reason for which a child call does not run, as the calling tool gets it. */
type ChildRefusal = Pick<CallFailure, "code" | "message"> & { readonly details?: object | undefined };

function refusedAs({ code, message, details }: ChildRefusal): ChildRefusal {
  return { code, message, ...(details === undefined ? {} : { details }) };
}

const WAITS = "the call has to wait:";
const MUST_NOT = "and its caller has said that it must not";

/** The error of a call that waits. */
function pausedError(id: string, waits: readonly WaitKind[]): ToolError {
  const words = waits.slice(0, 3).map(wordsOf).join(", and ");
  return toolError("paused", `the call waits${words === "" ? "" : ` for ${words}`}; it is kept as ${id}`, { id });
}

export function pausedResult(id: string, callId: string, tool: string, waits: readonly WaitKind[]): ToolResult {
  return failure(pausedError(id, waits), emptyMetadata(callId, tool, 0));
}

function wordsOf(wait: WaitKind): string {
  switch (wait.kind) {
    case "approval":
      return wait.tool === null ? `an approval: ${wait.message}` : `the approval of ${wait.tool}: ${wait.message}`;
    case "signal":
      return `the signal ${wait.name}`;
    case "time":
      return `the time ${wait.until}`;
    case "call":
      return `the call ${wait.id}`;
    case "outcome":
      return `somebody who knows whether ${wait.asked} happened`;
  }
}

function refused(code: ToolError["code"], message: string, details?: unknown): Gated {
  return { kind: "refused", error: toolError(code, message, details) };
}
