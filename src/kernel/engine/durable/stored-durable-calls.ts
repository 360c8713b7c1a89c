import { setTimeout as delay } from "node:timers/promises";
import { GloveboxError, StoreError, toolError } from "../../base/errors.ts";
import type { JsonValue } from "../../base/json.ts";
import { writeAny } from "../../base/json-writer.ts";
import { isAmong } from "../../base/name-patterns.ts";
import { SIGNAL_NAME } from "../../broker/capabilities/pause.ts";
import { refusedCall, resultText, type ToolResult } from "../../base/result.ts";
import {
  CALL_STATES,
  type CallWait,
  type Decision,
  type DurableAnswer,
  type DurableCall,
  type DurablePage,
  type MadeDecision,
  type TakeDurable,
} from "../../store/calls/durable/durable-call.ts";
import type { ToolRegistry } from "../../tool/registry.ts";
import type { Events } from "../telemetry/events.ts";
import type { ArgumentChecks } from "./argument-check.ts";
import { pausedResult } from "./durable.ts";
import {
  type Decider,
  DecisionConflict,
  type DurableCalls,
  type DurableFilter,
  type DurableOfWhom,
  WAIT_MAX_MS,
} from "./durable-calls.ts";

const LIMIT_DEFAULT = 50;
const LIMIT_MAX = 200;
const POLL_MS = 250;
const ID_MAX = 128;
const REASON_MAX = 1_000;
const ACTOR_MAX = 256;
const PAYLOAD_MAX = 64 * 1024;
const DECISIONS_MAX = 32;
const SIGNAL = new RegExp(SIGNAL_NAME);
const ANYBODY: Decider = { key: null };

interface Parts {
  readonly take: TakeDurable;
  readonly registry: Pick<ToolRegistry, "get">;
  readonly events: Pick<Events, "emit">;
  readonly checks: ArgumentChecks;
  /** Something was settled. */
  readonly onSettled: () => void;
}

/** Durable calls as they are kept: who reads them, and who decides. */
export class StoredDurableCalls implements DurableCalls {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async list({ state, tool, tenant, tools, limit = LIMIT_DEFAULT, cursor }: DurableFilter = {}): Promise<DurablePage> {
    if (!Number.isInteger(limit) || limit < 1 || limit > LIMIT_MAX)
      throw new RangeError(`limit is an integer from 1 to ${LIMIT_MAX}`);
    if (state !== undefined && !CALL_STATES.includes(state))
      throw new RangeError(`state is one of ${CALL_STATES.join(", ")}`);
    for (const [name, text] of Object.entries({ tool, tenant, cursor }))
      if (text !== undefined && (typeof text !== "string" || text.length > 256))
        throw new RangeError(`${name} is one text of at most 256 characters`);
    const of = { state: state ?? null, tenant: tenant ?? null, tool: tool ?? null, limit, cursor: cursor ?? null };
    const answer = await this.#parts.take({ kind: "list", query: of });
    if (answer.kind !== "page") throw new StoreError("the store cannot list what it has");
    const { calls, cursor: next } = answer.page;
    return { calls: calls.filter((call) => isAmong(tools, call.tool)), cursor: next };
  }

  async get(id: string, { tenant, tools }: DurableOfWhom = {}): Promise<DurableCall | undefined> {
    if (typeof id !== "string" || id.length > ID_MAX) return undefined;
    const answer = await this.#parts.take({ kind: "get", id, tenant: tenant ?? null });
    return answer.kind === "call" && isAmong(tools, answer.call.tool) ? answer.call : undefined;
  }

  async result(
    id: string,
    whose: DurableOfWhom = {},
    { waitMs = 0, signal }: { readonly waitMs?: number; readonly signal?: AbortSignal } = {},
  ): Promise<ToolResult | undefined> {
    const untilMs = performance.now() + Math.min(Math.max(0, waitMs), WAIT_MAX_MS);
    for (;;) {
      const call = await this.get(id, whose);
      if (call === undefined) return undefined;
      if (call.state === "ended") return call.result as ToolResult;
      const leftMs = untilMs - performance.now();
      if (leftMs <= 0 || signal?.aborted === true) {
        return pausedResult(
          id,
          call.callId,
          call.tool,
          call.waits.filter(({ state }) => state === "open"),
        );
      }
      await delay(Math.min(leftMs, POLL_MS), undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
    }
  }

  async decide(
    id: string,
    given: Decision | readonly Decision[],
    by: Decider = ANYBODY,
  ): Promise<DurableCall | undefined> {
    const decisions = readDecisions(given);
    const call = await this.get(id, by);
    if (call === undefined) return undefined;
    const made: MadeDecision[] = [];
    for (const decision of decisions) {
      const wait = waitOf(call, decision);
      if (wait.kind !== "approval") throw new DecisionConflict("the call does not wait for an approval there", call);
      requireMay(call, wait, by);
      if (decision.decision === "approve" && wait.state === "open") await this.#requireFit(call, wait, decision);
      made.push({ ...decision, wait: wait.step, by: by.key });
    }
    const nowMs = Date.now();
    const answer = await this.#parts.take({ kind: "decide", id, tenant: by.tenant ?? null, decisions: made, nowMs });
    const decided = this.#callOf(answer);
    if (decided === undefined) return undefined;
    const { callId, tool, tenant } = decided;
    for (const { wait = 0, decision, actor = null } of made)
      this.#parts.events.emit("call:decide", { id, callId, tool, tenant, step: wait, decision, key: by.key, actor });
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
    const text = writeAny(payload);
    if (text.length > PAYLOAD_MAX)
      throw new RangeError(`the payload of a signal has at most ${PAYLOAD_MAX} characters`);
    if ((await this.get(id, by)) === undefined) return undefined;
    const of = { id, tenant: by.tenant ?? null, name, payload: text, by: by.key };
    return this.#callOf(await this.#parts.take({ kind: "signal", ...of, nowMs: Date.now() }));
  }

  async cancel(id: string, reason?: string, by: Decider = ANYBODY): Promise<DurableCall | undefined> {
    const call = await this.get(id, by);
    if (call === undefined) return undefined;
    const why = reason === undefined ? "" : `: ${String(reason).slice(0, REASON_MAX)}`;
    const error = toolError("cancelled", `the call was cancelled while it waited${why}`);
    const result = resultText(refusedCall({ id: call.callId, name: call.tool }, error, call.callId));
    return this.#callOf(
      await this.#parts.take({ kind: "cancel", id, tenant: by.tenant ?? null, result, nowMs: Date.now() }),
    );
  }

  /** A person approves what they were shown: this version of the tool, and arguments that fit it. */
  async #requireFit(
    call: DurableCall,
    wait: CallWait & { readonly kind: "approval" },
    decision: Decision,
  ): Promise<void> {
    if (wait.tool === null) return;
    const tool = this.#parts.registry.get(wait.tool, call.tenant);
    // Another process has it.
    if (tool === undefined) return;
    if (tool.info.digest !== wait.version) {
      const words = `the tool "${wait.tool}" is another version than the one that was shown: refuse it, or cancel the call and make it again`;
      throw new DecisionConflict(words, call);
    }
    if (decision.arguments === undefined) return;
    const { limits } = tool;
    const subject = { callId: call.callId, tool, tenant: call.tenant, limits, options: {}, parent: null };
    const checked = await this.#parts.checks.check(subject, writeAny(decision.arguments));
    if (checked.kind === "valid") return;
    const { code, message, violations } = checked.failure;
    throw new GloveboxError(code, message, violations && { violations });
  }

  #callOf(answer: DurableAnswer): DurableCall | undefined {
    switch (answer.kind) {
      case "done":
        this.#parts.onSettled();
        return answer.call ?? undefined;
      case "conflict":
        throw new DecisionConflict(answer.message, answer.call);
      default:
        return undefined;
    }
  }
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
  if (decision !== "approve" && decision !== "refuse") throw new RangeError("decision is approve or refuse");
  if (wait !== undefined && !Number.isInteger(wait)) throw new RangeError("wait is the step of a wait");
  if (digest !== undefined && typeof digest !== "string") throw new RangeError("digest is a text");
  if (args !== undefined && (typeof args !== "object" || args === null || Array.isArray(args)))
    throw new RangeError("arguments is an object");
  requireText("reason", reason, REASON_MAX);
  requireText("actor", actor, ACTOR_MAX);
  return given as Decision;
}

function requireText(name: string, value: unknown, most: number): void {
  if (value === undefined || (typeof value === "string" && value.length <= most)) return;
  throw new RangeError(`${name} is a text of at most ${most} characters`);
}

function waitOf(call: DurableCall, { wait }: Decision): CallWait {
  const approvals = call.waits.filter(({ kind }) => kind === "approval");
  const open = approvals.filter(({ state }) => state === "open");
  // The only one may have been decided so before.
  const meant = open.length === 0 ? approvals : open;
  const found = wait === undefined ? meant : call.waits.filter(({ step }) => step === wait);
  const [one] = found;
  if (one === undefined) throw new DecisionConflict("the call waits for no approval", call);
  if (found.length > 1) throw new DecisionConflict("the call waits for several approvals: name one by its wait", call);
  return one;
}

function requireMay(call: DurableCall, { by, self }: CallWait & { readonly kind: "approval" }, { key }: Decider): void {
  if (key === null) return;
  if (by.length > 0 && !isAmong(by, key))
    throw new GloveboxError("forbidden", `the key "${key}" is not one of those that may decide this`);
  if (call.key === key && !self) throw new GloveboxError("forbidden", "the key that made a call may not decide it");
}
