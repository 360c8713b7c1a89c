import { type CapabilityCall, DIVERGED, type Respond } from "../base/protocol/capability-call.ts";
import type { CallSession, SessionEnd } from "./call-session.ts";
import type { LastRefusal } from "./capability-invoker.ts";
import type { RecordedJournal } from "../base/protocol/recorded-journal.ts";
import { isSame, Journal, ReplayCursor } from "./journal.ts";

/** Responds to the capability calls of a call from its recording. Calls no handler. */
export class RecordedSession implements CallSession {
  readonly journal: Journal;
  readonly #lastRefusal: LastRefusal | null;
  #replay: ReplayCursor;

  constructor(journal: RecordedJournal, lastRefusal: LastRefusal | null) {
    this.#lastRefusal = lastRefusal;
    // A capability call without a response at the end of the recorded call gets no response.
    this.journal = Journal.from(journal, true);
    this.#replay = new ReplayCursor(1, this.journal);
  }

  invoke(call: CapabilityCall, respond: Respond): void {
    if (call.attempt !== this.#replay.attempt) this.#replay = new ReplayCursor(call.attempt, this.journal);
    const entry = this.journal.find(call.step);
    if (entry !== undefined && isSame(entry, call)) return this.#replay.ask(call.step, respond);
    const message = `${DIVERGED}the call made another capability call at step ${call.step} than the recorded one`;
    respond({ kind: "diverged", message });
  }

  /** No handler runs, so there are no effects. Fewer capability calls than recorded show as a different result. */
  end(): SessionEnd {
    return { effects: 0, lastRefusal: this.#lastRefusal, isBehind: false, journal: null };
  }
}
