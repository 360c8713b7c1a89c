import { randomBytes } from "node:crypto";
import { within } from "../../base/deadline.ts";
import { refusedCall, resultText, type ToolResult } from "../../base/result.ts";
import { StoreError, toolError } from "../../base/errors.ts";
import { type ClaimedCall, isSettled, type KeptCall } from "../../store/calls/durable/durable-call.ts";
import type { DurableAnswer, EndedCall, TakeDurable } from "../../store/calls/durable/durable-step.ts";
import { undoneId } from "../../store/calls/durable/undone-calls.ts";
import type { RegisteredTool } from "../../tool/registered-tool.ts";
import type { ToolRegistry } from "../../tool/registry.ts";
import type { EarlierRun } from "../call/call-waiting.ts";
import type { AdmittedCall } from "../call/engine-call.ts";
import { settleEvent } from "../telemetry/durable-events.ts";
import type { Events } from "../telemetry/events.ts";
import type { StoredLeg } from "./call-waits.ts";
import { narrowedBy, type Readmitted } from "./readmission.ts";
import { Looks } from "./looks.ts";
import {
  configHashOf,
  type DurableRecord,
  type DurableRuns,
  type PinnedTool,
  readRecord,
  readRuns,
} from "./durable-record.ts";
import { effectsOf, type Undoing } from "./undo.ts";
import { refusalOf } from "./wait-answer.ts";

/** Interval of looks for decisions of other processes while calls wait, and of heartbeats while calls run. */
const LOOK_MS = 1_000;
/**
 * Interval of looks while no call waits: shorter than the time after which a process is lost, so that calls of another
 * one are known by then. A look without a result takes a fraction of a millisecond.
 */
const IDLE_MS = 5_000;
/** Time for which a call waits for its tool to be registered, and pause between two tries. */
const TOOL_WAIT_MS = 60_000;
const TRY_MS = 5_000;
const MISSED_MAX = 1_000;
/** Processor time of all runs of a call together, as a multiple of its `cpuMs`, beyond which no other begins. */
const RUNS_CPU = 20;
/** Maximum calls that an engine knows as its own, and calls of others among which it searches for them. */
const OWN_MAX = 10_000;
const OTHERS_MAX = 1_000;
/** Maximum wait for the outcomes of running calls, while the engine closes. */
const CLOSE_MS = 5_000;

/** Identifies an engine among those with the same store. */
export function newHolder(): string {
  return randomBytes(12).toString("base64url");
}

/** Another run of a call. */
export interface Resumption {
  readonly admitted: AdmittedCall;
  readonly stored: StoredLeg;
  /** `null`: it has not run yet. */
  readonly run: EarlierRun | null;
}

export interface ResumerParts {
  readonly take: TakeDurable;
  readonly holder: string;
  readonly registry: Pick<ToolRegistry, "get">;
  readonly events: Pick<Events, "emit">;
  /** Whether it takes up calls of other engines, too. */
  readonly takesAll: boolean;
  /** Maximum number of continued runs at once. */
  readonly atOnce: number;
  /** Makes the tool of a call in its earlier version. Throws if that is impossible. */
  readonly pin: (tool: PinnedTool, record: DurableRecord, current: RegisteredTool) => RegisteredTool;
  /** The tool of a program's call. Rejects without a `ProgramHost`. */
  readonly program: (record: DurableRecord, runs: DurableRuns) => Promise<RegisteredTool>;
  /** The undoing of the call with an id, for a call that undoes it. */
  readonly undo: (undone: string, call: ClaimedCall, runs: DurableRuns) => Promise<Undoing>;
  /** Continues it, and resolves with the result of this run. */
  readonly run: (resumption: Resumption) => Promise<ToolResult>;
  /** The present permissions of the caller of a call. */
  readonly readmit: (call: ClaimedCall, record: DurableRecord) => Readmitted | "later";
  /** Called when a call has ended without a run. */
  readonly onEnd: (ended: EndedCall) => void;
}

/** Continues calls whose waits are settled. */
export class Resumer {
  readonly #parts: ResumerParts;
  readonly #looks = new Looks(
    () => this.#look(),
    () => this.#pauseMs(),
  );
  #heart: NodeJS.Timeout | undefined;
  /** Runs, and the holder that claimed each. */
  readonly #running = new Map<Promise<void>, string>();
  /** Replaced if the outcome of a claim is unknown: its call is then lost with the old holder. */
  #holder: string;
  /** Stored calls in their first runs. */
  #started = 0;
  /** Time at which the clock next settles a wait of a call; `null` if none waits. */
  #wakeMs: number | null = null;
  /** Ids of calls that this engine has stored, if it takes up no others. */
  readonly #own = new Set<string>();
  /** Time at which the tool of a call was first missing. */
  readonly #missed = new Map<string, { readonly sinceMs: number; readonly nextMs: number }>();

  constructor(parts: ResumerParts) {
    this.#parts = parts;
    this.#holder = parts.holder;
  }

  /** Looks for ready calls. */
  look(): void {
    this.#looks.ask();
  }

  /** Looks again for calls whose tools were missing. */
  lookAgain(): void {
    this.#missed.clear();
    this.look();
  }

  /** Called when the engine has stored a call. */
  own(id: string): void {
    if (this.#parts.takesAll) return;
    if (this.#own.size >= OWN_MAX) this.#own.clear();
    this.#own.add(id);
  }

  /**
   * Called at the begin and the end of a stored call's first run: meanwhile, heartbeats show that the process lives.
   */
  started(by: 1 | -1): void {
    this.#started += by;
    this.#heart ??= setInterval(() => void this.#beat(), LOOK_MS).unref();
  }

  /** Takes no more calls. */
  stop(): void {
    this.#looks.stop();
  }

  /** Resolves when the outcomes of its calls are stored, or cannot be in time: then another process finds them. */
  async close(): Promise<void> {
    this.stop();
    await within(CLOSE_MS, this.#ended());
    clearInterval(this.#heart);
  }

  async #ended(): Promise<void> {
    await this.#looks.ended();
    await Promise.all(this.#running.keys());
  }

  async #look(): Promise<void> {
    try {
      await this.#begin();
    } catch {
      // The store cannot be used now: the next look retries.
      this.#wakeMs = Date.now() + LOOK_MS;
    }
  }

  /** Time until the next look. */
  #pauseMs(): number {
    // The end of each run requests a look.
    if (this.#running.size >= this.#parts.atOnce) return LOOK_MS;
    const isWaiting = this.#wakeMs !== null || this.#running.size > 0 || this.#missed.size > 0;
    const dueMs = Math.max(0, (this.#wakeMs ?? Infinity) - Date.now());
    return Math.min(dueMs, isWaiting ? LOOK_MS : IDLE_MS);
  }

  async #begin(): Promise<void> {
    const { take, takesAll, atOnce } = this.#parts;
    const room = atOnce - this.#running.size;
    if (room <= 0) return;
    // Calls whose tools are missing must not block others.
    const most = room + Math.min(this.#missed.size, MISSED_MAX) + (takesAll ? 0 : OTHERS_MAX);
    const nowMs = Date.now();
    const due = await take({ kind: "due", most, nowMs });
    if (due.kind !== "ready") return;
    this.#wakeMs = due.wakeMs;
    for (const call of due.lost) this.#tellLost(call);
    for (const id of due.ids) {
      if ((this.#missed.get(id)?.nextMs ?? 0) > nowMs || this.#running.size >= atOnce) continue;
      if (this.#looks.isStopped) return;
      if (!takesAll && !this.#own.has(id)) continue;
      const holder = this.#holder;
      const claimed = await this.#claim(id, holder, nowMs);
      if (claimed.kind === "claimed") this.#start(claimed.call, holder);
    }
  }

  async #claim(id: string, holder: string, nowMs: number): Promise<DurableAnswer> {
    try {
      return await this.#parts.take({ kind: "claim", id, holder, nowMs });
    } catch (error) {
      if (error instanceof StoreError && error.isUnanswered) this.#holder = newHolder();
      throw error;
    }
  }

  #tellLost({ id, callId, tool, tenant, waits }: KeptCall): void {
    const asked = waits.flatMap((wait) => (wait.kind === "outcome" && wait.state === "open" ? [wait.asked] : []));
    if (asked.length > 0) this.#parts.events.emit("call:doubt", { id, callId, tool, tenant, asked });
  }

  #start(call: ClaimedCall, holder: string): void {
    this.#heart ??= setInterval(() => void this.#beat(), LOOK_MS).unref();
    const running = this.#run(call)
      .catch(() => undefined)
      .finally(() => {
        this.#running.delete(running);
        this.look();
      });
    this.#running.set(running, holder);
  }

  async #beat(): Promise<void> {
    const { take, holder: starter } = this.#parts;
    const holders = new Set(this.#running.values());
    if (this.#started > 0) holders.add(starter);
    for (const holder of holders) await take({ kind: "see", holder, nowMs: Date.now() }).catch(() => undefined);
  }

  async #run(claimed: ClaimedCall): Promise<void> {
    const { take, events, onEnd } = this.#parts;
    const { id, leg, callId, tool, tenant, readyForMs } = claimed;
    const tell = (outcome: string): void =>
      events.emit("call:resume", { id, callId, tool, tenant, legs: leg, outcome, readyForMs });
    const made = await this.#resumption(claimed);
    if (made === "later") {
      await take({ kind: "release", id, leg, nowMs: Date.now() });
      return;
    }
    this.#missed.delete(id);
    if ("admitted" in made) {
      tell("resumed");
      this.#tellSettled(claimed);
      this.#tellUndone(claimed, await this.#parts.run(made));
      return;
    }
    tell(made.error?.code ?? "ended");
    const result = resultText(made);
    const answer = await take({ kind: "end", id, leg, result, isFailed: !made.success, nowMs: Date.now() });
    if (answer.kind === "done") onEnd({ ...claimed, result });
  }

  /** Reports the settled waits of the call. */
  #tellSettled(claimed: ClaimedCall): void {
    for (const wait of claimed.waits.slice(claimed.heardWaits)) {
      const event = settleEvent(claimed, wait);
      if (event !== null) this.#parts.events.emit("call:settle", event);
    }
  }

  /** Reports the outcomes of effects, if the call undoes another and has ended. */
  #tellUndone({ id, callId, tool, tenant }: ClaimedCall, result: ToolResult): void {
    const [undone, effects] = [undoneId(id), effectsOf(result)];
    if (undone === null || effects === null) return;
    const outcomes = effects.map(({ outcome }) => outcome);
    this.#parts.events.emit("call:undone", { id: undone, callId, tool, tenant, outcomes });
  }

  /** The next run of a call, or its result if it cannot continue; `later`: its tool is missing. */
  async #resumption(claimed: ClaimedCall): Promise<Resumption | ToolResult | "later"> {
    const { id, callId, tool: name, waits } = claimed;
    const ends = (code: Parameters<typeof toolError>[0], message: string, details?: unknown): ToolResult =>
      refusedCall({ id: callId, name }, toolError(code, message, details), callId);
    let record: DurableRecord;
    let runs: DurableRuns;
    try {
      record = readRecord(claimed.record);
      runs = readRuns(claimed.runs);
    } catch {
      return ends("diverged", "the call was kept by another version, or is damaged, and cannot go on");
    }
    const undone = undoneId(id);
    if (undone !== null) {
      try {
        return await this.#undoing(undone, claimed, record, runs);
      } catch (error) {
        if (!this.#isMissed(id)) return "later";
        const why = error instanceof StoreError ? error.message : "what the call has done cannot be read";
        return ends("store_failed", why);
      }
    }
    const readmitted = this.#parts.readmit(claimed, record);
    if (readmitted === "later") return this.#miss(id);
    if (readmitted.kind === "refused") return ends(readmitted.code, readmitted.message);
    const gate = waits.find(({ step }) => step === 0);
    if (gate !== undefined && gate.state !== "approved") {
      if (!isSettled(gate)) return "later";
      const refusal = refusalOf(gate);
      return refusal === null ? "later" : ends(refusal.code, refusal.message, refusal.details);
    }
    const mostMs = RUNS_CPU * record.limits.cpuMs;
    if ((runs.cpuMs ?? 0) >= mostMs)
      return ends("cpu_limit", `the runs of the call have used ${mostMs} ms of processor time together`);
    const tool = await this.#toolOf(claimed, record, runs);
    if (typeof tool === "string") return tool === "later" ? tool : ends("diverged", tool);
    if (tool === null) return ends("tool_not_found", `the tool "${name}" is not registered any more`);
    const edited = gate?.settled?.arguments ?? null;
    const args = edited ?? record.args;
    const { limits, command, parentCallId } = record;
    const options = narrowedBy(record.options, readmitted.options);
    const admitted = { callId, tool, args, command: command ?? undefined, limits, options, parent: null, parentCallId };
    return resumptionOf(admitted, claimed, runs);
  }

  async #undoing(undone: string, claimed: ClaimedCall, record: DurableRecord, runs: DurableRuns): Promise<Resumption> {
    const { tool, args } = await this.#parts.undo(undone, claimed, runs);
    // Its tools are those of the undoing, not those that the call's program might call.
    const { tools: _tools, undo: _undo, ...options } = record.options;
    const { limits } = tool;
    const admitted = { callId: claimed.callId, tool, args, command: undefined, limits, options, parent: null };
    return resumptionOf(admitted, claimed, runs);
  }

  /** The tool with which the call began; `null` if it is not registered any more, or the reason if none exists. */
  async #toolOf(
    { id, tool: name, tenant, script }: ClaimedCall,
    record: DurableRecord,
    runs: DurableRuns,
  ): Promise<RegisteredTool | string | null> {
    try {
      if (record.isProgram) return await this.#parts.program(record, runs);
    } catch {
      return "its program cannot be run here";
    }
    const current = this.#parts.registry.get(name, tenant);
    if (current === undefined) return this.#isMissed(id) ? null : "later";
    if (configHashOf(current) !== record.tool.configHash) return `the config of the tool "${name}" is another now`;
    if (current.info.digest === record.tool.digest) return current;
    if (script === null) return `the tool "${name}" is another version now, and its own was not kept`;
    try {
      return this.#parts.pin(JSON.parse(script) as PinnedTool, record, current);
    } catch {
      return `the version of the tool "${name}" with which the call began cannot be run any more`;
    }
  }

  /** Whether a call has waited long enough for its tool: tools may be registered after the engine's start. */
  #isMissed(id: string): boolean {
    this.#miss(id);
    return Date.now() - (this.#missed.get(id)?.sinceMs ?? 0) > TOOL_WAIT_MS;
  }

  /** Delays the next claim of the call. */
  #miss(id: string): "later" {
    const nowMs = Date.now();
    if (this.#missed.size > MISSED_MAX) this.#missed.clear();
    const { sinceMs } = this.#missed.get(id) ?? { sinceMs: nowMs };
    this.#missed.set(id, { sinceMs, nextMs: nowMs + TRY_MS });
    return "later";
  }
}

function resumptionOf(
  admitted: AdmittedCall,
  { id, leg, waits, journal, plan, expiresMs: endsMs }: ClaimedCall,
  { run, cpuMs = 0 }: DurableRuns,
): Resumption {
  return {
    admitted,
    stored: { id, leg, isStored: true, waits, endsMs, cpuMs },
    run: run === null ? null : { ...run, journal, plan },
  };
}
