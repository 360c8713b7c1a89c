import type { CapabilityResponse, CapabilityCall } from "../base/protocol/capability-call.ts";
import type { Grants } from "./grants.ts";
import { Journal, type JournalEntry } from "./journal.ts";
import type { LastRefusal } from "./last-refusal.ts";
import { CapabilityInvoker } from "./capability-invoker.ts";
import { ReplayCursor } from "./replay-cursor.ts";
import type { SessionHost } from "./session-host.ts";
import type { BrokerSubject } from "./subject.ts";

/** The broker's side of one call: its journal, and what it has used of its limits. */
export class BrokerSession implements Disposable {
  readonly journal = new Journal();
  readonly #host: SessionHost;
  readonly #subject: BrokerSubject;
  readonly #performer: CapabilityInvoker;
  #replay: ReplayCursor;

  constructor(host: SessionHost, subject: BrokerSubject, grants: Grants) {
    this.#host = host;
    this.#subject = subject;
    this.#performer = new CapabilityInvoker(host, subject, grants);
    this.#replay = new ReplayCursor(1, this.journal);
  }

  /** How many handlers were called, or may have been: what they did cannot be undone. */
  get effects(): number {
    return this.#performer.effects;
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
      this.#host.note(this.#subject, ask, "replayed", { rules: this.#performer.rules(ask.capability) });
      return this.#replay.give(known);
    }
    // The guest counts its steps, so only what is no guest of ours leaves one out.
    if (ask.step !== this.journal.size + 1) return Promise.resolve(this.#diverge(ask));
    // The worker lets one through that is too many, so that it is told: more come only from what is no worker of ours.
    if (this.#performer.isBeyond(ask)) return Promise.resolve(this.#diverge(ask));
    const answer = this.#perform(ask);
    const { step, capability, method, args, heard } = ask;
    const entry: JournalEntry = { step, capability, method, args, ...(heard === undefined ? {} : { heard }), answer };
    this.journal.append(entry);
    return this.#replay.give(entry);
  }

  [Symbol.dispose](): void {
    this.#performer[Symbol.dispose]();
  }

  async #perform(ask: CapabilityCall): Promise<CapabilityResponse> {
    const askedMs = performance.now();
    const said = await this.#performer.perform(ask);
    const nowMs = ask.nowMs + Math.round(performance.now() - askedMs);
    const given: CapabilityResponse = { ...said, nowMs };
    this.journal.noteAnswer(ask.step, given);
    return given;
  }

  #diverge(ask: CapabilityCall): CapabilityResponse {
    this.#host.note(this.#subject, ask, "diverged");
    const message =
      "the call was run again after its executor was lost and asked for something else than before at step " + ask.step;
    return { kind: "diverged", message };
  }
}

/** Who answers one call: a broker, or a recording. */
export type CallSession = Pick<BrokerSession, "journal" | "effects" | "lastRefusal" | "isBehind" | "ask"> & Disposable;
