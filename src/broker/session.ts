import { randomUUID } from "node:crypto";
import type { CapabilityResponse, CapabilityCall } from "../base/protocol/capability-call.ts";
import type { Delegator, Told } from "../base/protocol/delegated.ts";
import { describeExcess } from "../base/json.ts";
import { isContinuation } from "../base/protocol/continuation.ts";
import { type Delegation, ON_MACHINES, type OnMachines } from "../base/protocol/delegation.ts";
import type { Grants } from "./grants.ts";
import { Journal, type JournalEntry } from "./journal.ts";
import type { LastRefusal } from "./last-refusal.ts";
import { CapabilityInvoker } from "./capability-invoker.ts";
import { ReplayCursor } from "./replay-cursor.ts";
import type { SessionHost } from "./session-host.ts";
import type { BrokerSubject, Shared } from "./subject.ts";

/** An ask that a worker machine carries out, and has not told the answer of. */
interface Away {
  readonly ask: CapabilityCall;
  readonly resolve: (answer: CapabilityResponse) => void;
}

/** The broker's side of one call: its journal, and what it has used of its limits. */
export class BrokerSession implements Delegator, Disposable {
  readonly journal = new Journal();
  readonly #host: SessionHost;
  readonly #subject: BrokerSubject;
  readonly #performer: CapabilityInvoker;
  #replay: ReplayCursor;
  #delegation: Delegation | null = null;
  /** By their steps. */
  readonly #away = new Map<number, Away>();
  /** Capabilities of which a machine has carried something out, and whether it is gone with what it held of them. */
  readonly #elsewhere = new Set<string>();
  #isMachineLost = false;

  constructor(host: SessionHost, subject: BrokerSubject, grants: Grants) {
    this.#host = host;
    this.#subject = subject;
    this.#performer = new CapabilityInvoker(host, subject, grants);
    this.#replay = new ReplayCursor(1, this.journal);
  }

  /** How many handlers were called, or may have been: what they did cannot be undone. */
  get effects(): number {
    let away = 0;
    for (const { ask } of this.#away.values()) if (this.#performer.isWrite(ask)) away++;
    return this.#performer.effects + away;
  }

  get lastRefusal(): LastRefusal | null {
    return this.#performer.lastRefusal;
  }

  /** Whether the call's last start ended without having asked all that an earlier one had. */
  isBehind(attempt: number): boolean {
    const { attempt: last, asked } = this.#replay;
    return last === attempt ? asked < this.journal.size : this.journal.size > 0;
  }

  /** Answers an ask: from the journal where the call has asked it before, else from the world. Never rejects. */
  ask(ask: CapabilityCall): Promise<CapabilityResponse> {
    if (ask.attempt !== this.#replay.attempt) this.#replay = new ReplayCursor(ask.attempt, this.journal);
    const known = this.journal.find(ask.step);
    if (known !== undefined) {
      if (known.capability !== ask.capability || known.method !== ask.method || known.args !== ask.args) {
        return Promise.resolve(this.#diverge(ask));
      }
      if (this.#isMachineLost) this.#takeOver(ask.step);
      this.#host.note(this.#subject, ask, "replayed", { rules: this.#performer.rules(ask.capability) });
      return this.#replay.give(known);
    }
    // The guest counts its steps, so only what is no guest of ours leaves one out.
    if (ask.step !== this.journal.size + 1) return Promise.resolve(this.#diverge(ask));
    // The worker lets one through that is too many, so that it is told: more come only from what is no worker of ours.
    if (this.#performer.isBeyond(ask)) return Promise.resolve(this.#diverge(ask));
    // A machine of ours leaves to us what it may not carry out.
    if (ask.isDelegated === true && !this.#isForMachine(ask)) return Promise.resolve(this.#diverge(ask));
    if (ask.used !== undefined) this.#performer.noteUsed(ask.capability, ask.used);
    const answer = ask.isDelegated === true ? this.#leave(ask) : this.#perform(ask);
    const { step, capability, method, args, heard } = ask;
    const entry: JournalEntry = { step, capability, method, args, ...(heard === undefined ? {} : { heard }), answer };
    this.journal.append(entry);
    return this.#replay.give(entry);
  }

  /** What the machine that runs the call may carry out: the same each time. */
  get delegation(): Delegation {
    return (this.#delegation ??= this.#delegate());
  }

  /** Itself, where the machine that runs the call may carry something out. */
  get delegator(): Delegator | null {
    return Object.keys(this.delegation.grants).length === 0 ? null : this;
  }

  /** What came of an ask that was left to a machine. */
  tell(told: Told): void {
    const away = this.#away.get(told.step);
    if (away === undefined || this.#isMachineLost) return;
    this.#away.delete(told.step);
    const { answer, step, attempt, heard } = told;
    if (answer === null) return void this.#perform(away.ask, this.#share(away.ask)).then(away.resolve);
    // It bounds what it carries out, beside what is carried out here: only what is no machine of ours has more to tell.
    if (this.#performer.isTooLong(answer)) {
      const astray = this.#diverge(away.ask);
      this.journal.noteAnswer(step, astray);
      return away.resolve(astray);
    }
    this.#elsewhere.add(away.ask.capability);
    this.#performer.noteTold(away.ask, told);
    // It is taken in where the call heard it: what was given it since was still on its way there.
    if (heard === undefined || attempt !== this.#replay.attempt) this.journal.noteAnswer(step, answer);
    else this.journal.insertAnswer(this.#replay.skip(step, heard), step, answer);
    away.resolve(answer);
  }

  /** The machine that has carried something out for the call is heard no more: what it has not told, is carried out here. */
  loseMachine(): void {
    this.#isMachineLost = true;
  }

  [Symbol.dispose](): void {
    this.#performer[Symbol.dispose]();
  }

  #delegate(): Delegation {
    const grants: { [name in OnMachines]?: readonly unknown[] } = {};
    const stores: { [name in OnMachines]?: string } = {};
    for (const name of ON_MACHINES) {
      const { decision } = this.#performer.decide(name);
      if (!decision.isGranted || decision.capability.portable === undefined) continue;
      const values = decision.granted.filter(({ onMachines }) => onMachines).map(({ value }) => value);
      if (values.length === 0) continue;
      const store = decision.capability.storeId?.();
      if (store === null) continue;
      grants[name] = values;
      if (store !== undefined) stores[name] = store;
    }
    // A machine has no secrets, so it could neither send one nor keep one out of an answer.
    if (this.#performer.decide("secrets").decision.isGranted) delete grants.fetch;
    return { name: randomUUID(), grants, stores };
  }

  /** Whether the machine that runs the call may carry an ask out, by what it was granted. */
  #isForMachine({ capability, method, args }: CapabilityCall): boolean {
    if (this.#isMachineLost || !Object.hasOwn(this.delegation.grants, capability)) return false;
    const { decision } = this.#performer.decide(capability);
    const parsed = parse(args);
    if (!decision.isGranted || parsed === null) return false;
    return (decision.capability.portable?.(method, parsed.value) ?? null) !== null;
  }

  #leave(ask: CapabilityCall): Promise<CapabilityResponse> {
    const { promise, resolve } = Promise.withResolvers<CapabilityResponse>();
    this.#away.set(ask.step, { ask, resolve });
    return promise;
  }

  #takeOver(step: number): void {
    const away = this.#away.get(step);
    if (away === undefined) return;
    this.#away.delete(step);
    // It may have happened: by its name it happens once.
    void this.#perform(away.ask, this.#share(away.ask)).then(away.resolve);
  }

  #share(ask: CapabilityCall): Shared {
    const isRepeatable = !this.#performer.isWrite(ask);
    return isRepeatable || !this.#isMachineLost ? { isRepeatable } : { once: onceOf(this.delegation, ask.step) };
  }

  async #perform(ask: CapabilityCall, shared?: Shared): Promise<CapabilityResponse> {
    const askedMs = performance.now();
    const said = await this.#performer.perform(ask, shared);
    const nowMs = ask.nowMs + Math.round(performance.now() - askedMs);
    const given: CapabilityResponse =
      said.kind === "failure" && this.#isOfLost(ask) ? this.#mourn(ask) : { ...said, nowMs };
    this.journal.noteAnswer(ask.step, given);
    return given;
  }

  /** Whether an ask goes on with what may have been lost with a machine. */
  #isOfLost({ capability, method }: CapabilityCall): boolean {
    return this.#isMachineLost && this.#elsewhere.has(capability) && isContinuation(capability, method);
  }

  #mourn(ask: CapabilityCall): CapabilityResponse {
    this.#host.note(this.#subject, ask, "diverged");
    return { kind: "diverged", message: "the worker machine was lost that had begun what the call asks more of" };
  }

  #diverge(ask: CapabilityCall): CapabilityResponse {
    this.#host.note(this.#subject, ask, "diverged");
    const message =
      "the call was run again after its executor was lost and asked for something else than before at step " + ask.step;
    return { kind: "diverged", message };
  }
}

/** The value of a JSON text; `null` where it is none, or would take more memory than its length tells. */
function parse(text: string): { readonly value: unknown } | null {
  if (describeExcess(text) !== null) return null;
  try {
    return { value: JSON.parse(text) };
  } catch {
    return null;
  }
}

/** Who answers one call: a broker, or a recording. */
export type CallSession = Pick<BrokerSession, "journal" | "effects" | "lastRefusal" | "isBehind" | "ask"> &
  Partial<Pick<BrokerSession, "delegator">> &
  Disposable;

/** By which name what a step writes is written once, wherever it is carried out. */
export function onceOf({ name }: Delegation, step: number): string {
  return `${name}/${step}`;
}
