import { setImmediate } from "node:timers/promises";
import { RecordedSession } from "../../../broker/recorded-session.ts";
import type { CapabilityResponse } from "../../../executor/executor.ts";
import {
  type Boot,
  type Checks,
  type CreateChecks,
  type Emit,
  EMIT_ASK,
  EMIT_DONE,
  EMIT_LOG,
  EMIT_TIMER,
  type Factory,
  type Guest,
  type Pure,
} from "../../../guest/host.ts";
import { type Prelude, textsOf } from "../../../base/protocol/prelude.ts";
import { isHardened, NO_CHECKS, type ToolChecks } from "../../../base/protocol/script.ts";
import type { Recording } from "../recording.ts";
import { checkCodeText, checkRuntimeText, factoryText } from "../../../executor/worker/factory-text.ts";
import { ReplaySchedule } from "../../../executor/worker/replay-schedule.ts";
import { createPure } from "../../../executor/worker/pure.ts";
import { DebuggedRealm } from "./debugged-realm.ts";

const RUN = 1;
/** Fixed failure. An exception that leaves a realm is the tool's object: reading it would run tool code outside. */
const BROKEN = '-{"code":"executor_lost","message":"the tool broke the realm that it runs in"}';

interface Arrived {
  readonly step: number;
  readonly response: CapabilityResponse;
}

/** End of a debugged call: `+` and the output's JSON, or `-` and a failure's. */
export type DebuggedOutcome = string;

/**
 * A recorded call in a context of this process, where Node's inspector can see it: the same prelude, clock, randomness
 * and responses, but without an isolate or limits.
 */
export class DebuggedCall {
  readonly #recording: Recording;
  readonly #guest: Guest;
  readonly #session: RecordedSession;
  readonly #log: (level: string, message: string) => void;
  readonly #plan: ReplaySchedule;
  /** Responses that have arrived and are not delivered yet, in order. */
  readonly #arrived: Arrived[] = [];
  /** The last delivery: each waits for the one before. */
  #settled: Promise<void> = Promise.resolve();
  #timer: { readonly handle: NodeJS.Timeout; readonly dueMs: number } | null = null;
  #end: (outcome: DebuggedOutcome) => void = () => undefined;

  constructor(prelude: Prelude, recording: Recording, log: (level: string, message: string) => void) {
    this.#recording = recording;
    this.#log = log;
    this.#session = new RecordedSession(recording, recording.refusal);
    this.#plan = new ReplaySchedule(this.#session.journal.plan());
    const { tool, seed } = recording;
    const script = { ...tool, key: "recorded", checks: tool.checks ?? NO_CHECKS };
    const { text, ownNames, facts } = factoryText(script);
    const realm = new DebuggedRealm(`tool:${tool.name}`);
    const texts = textsOf(prelude.parts);
    const boot = realm.evaluate(prelude.core, "glovebox:prelude") as Boot;
    const factory = realm.evaluate(text, `tool:${tool.name}`, -1) as Factory;
    const emit: Emit = (kind, _run, a, b, c, nowMs) => this.#onEmit(kind, a, b, c, nowMs);
    const isShared = tool.isolation === "shared";
    this.#guest = boot(
      realm.wrap(emit, 0) as Emit,
      realm.wrap(
        createPure(
          () => seed,
          (name) => texts[name] ?? "",
        ),
        "",
      ) as Pure,
      null,
      isHardened(script),
      null,
      factory,
      ownNames,
      facts,
      isShared,
      checksIn(realm, prelude, script.checks),
    );
  }

  /** Runs the call to its end. A call that waits for a response that was not recorded never ends. */
  run(): Promise<DebuggedOutcome> {
    const { call, limits, startMs } = this.#recording;
    return new Promise((resolve) => {
      this.#end = resolve;
      const command = call.command === null ? "" : `,${JSON.stringify(call.command)}`;
      const calls = `[[${RUN},${JSON.stringify(call.id)},${startMs},${limits.outputBytes},${call.arguments}${command}]]`;
      this.#turn(() => {
        const answer: unknown = this.#guest.start(calls, true);
        const [outcome = ""] = typeof answer === "string" ? answer.split("\t") : [BROKEN];
        if (outcome !== "") resolve(outcome);
      });
    });
  }

  /** Runs code of the realm; every entry goes through here. */
  #turn(act: () => void): void {
    try {
      act();
    } catch {
      this.#end(BROKEN);
    }
  }

  #onEmit(kind: number, a: string | number, b: string, c: string, nowMs: number): number {
    switch (kind) {
      case EMIT_DONE:
        this.#end(String(a));
        return 0;
      case EMIT_LOG:
        this.#log(String(a), b);
        return 0;
      case EMIT_TIMER:
        this.#setTimer(Number(a), nowMs);
        return 0;
      case EMIT_ASK:
        return this.#ask(String(a), b, c, nowMs);
      default:
        return 0;
    }
  }

  #ask(capability: string, method: string, args: string, nowMs: number): number {
    const step = ++this.#plan.asked;
    this.#session.invoke({ step, attempt: 1, nowMs, capability, method, args }, (response) => {
      if (response.kind === "diverged") return this.#end(`-${JSON.stringify({ code: "executor_lost", ...response })}`);
      this.#arrived.push({ step, response });
      this.#settled = this.#settled.then(() => this.#settle());
    });
    return step;
  }

  /**
   * Delivers the next responses as the worker does: each turn ends before the next begins, timers due before a response
   * fire first, and responses that shared a turn wait for the last of them.
   */
  async #settle(): Promise<void> {
    await setImmediate();
    const [next] = this.#arrived;
    if (next === undefined) return;
    for (; this.#timer !== null && this.#timer.dueMs <= next.response.nowMs; await setImmediate()) this.#fire();
    const count = this.#plan.plannedCount || 1;
    if (count > this.#arrived.length) return;
    const arrived = this.#arrived.splice(0, count);
    const isPlanned = this.#plan.deliver(count);
    const nowMs = arrived.reduce((latestMs, { response }) => Math.max(latestMs, response.nowMs), next.response.nowMs);
    if (isPlanned && this.#timer !== null) this.#setTimer(this.#timer.dueMs, nowMs);
    const asks = arrived.map(({ step, response }) => (response.kind === "value" ? step : -step)).join(",");
    const payloads = arrived.map(({ response }) => payloadOf(response)).join("\n");
    this.#turn(() => this.#guest.settle(RUN, asks, payloads, nowMs));
  }

  #setTimer(dueMs: number, nowMs: number): void {
    if (this.#timer !== null) clearTimeout(this.#timer.handle);
    const waitMs = this.#plan.isOver ? Math.max(0, dueMs - nowMs || 0) : 0;
    const handle = setTimeout(() => {
      if (!this.#plan.holds(dueMs)) this.#fire();
    }, waitMs);
    this.#timer = { handle, dueMs };
  }

  #fire(): void {
    const timer = this.#timer;
    if (timer === null) return;
    clearTimeout(timer.handle);
    this.#timer = null;
    const { plannedMs = timer.dueMs } = this.#plan.fire();
    this.#turn(() => this.#guest.fire(RUN, plannedMs));
  }
}

function payloadOf(response: CapabilityResponse): string {
  return response.kind === "value" ? response.json : JSON.stringify(response.failure);
}

/** The tool's checks in the realm. All are in one: a debugged tool can change nothing but its own view. */
function checksIn(realm: DebuggedRealm, prelude: Prelude, checks: ToolChecks): Checks | null {
  if (checks.input === "" && checks.output === "") return null;
  const create = realm.evaluate(checkRuntimeText(prelude.checks), "glovebox:checks") as CreateChecks;
  return create(undefined, realm.evaluate(checkCodeText(checks), "glovebox:schemas"));
}
