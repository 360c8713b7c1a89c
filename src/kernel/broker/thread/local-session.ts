import type { CapabilityCall, Respond } from "../../base/protocol/capability-call.ts";
import { HostAccount } from "../../base/tenant-account.ts";
import { AskLog } from "../ask-log.ts";
import type { Broker } from "../broker.ts";
import type { AttemptEnd, BrokerSession, RunProgress, SessionEnd, SessionSnapshot } from "../call-session.ts";
import type { Grants } from "../grants.ts";
import type { EngineSession, HostedCall } from "./host-session.ts";
import type { ReplayNote } from "./messages.ts";

/** Length from which a journal is not kept: it is written on the embedder's thread. */
const JOURNAL_MAX = 32 * 1024;

/**
 * The session of a call that may use nothing but handlers of the embedder's thread. It is on that thread, as the round
 * trip to another one takes longer than most handlers.
 */
export class LocalSession implements EngineSession {
  readonly account: HostAccount;
  readonly #caller: HostedCall;
  readonly #session: BrokerSession;

  constructor(broker: Broker, caller: HostedCall, grants: Grants) {
    this.account = caller.account ?? new HostAccount(caller.tenant, broker.accounts.of(caller.tenant));
    this.#caller = caller;
    const { logging } = caller;
    const log = logging === undefined ? undefined : new AskLog(logging);
    this.#session = broker.open({ ...caller, account: this.account, log }, grants);
  }

  /** Its worker has no pipe for it. */
  begin(): void {}

  ask(ask: CapabilityCall, respond: Respond): void {
    const { trace } = this.#caller;
    const isKnown = this.#session.journal.find(ask.step) !== undefined;
    if (trace === null || isKnown) this.#session.invoke(ask, respond);
    else trace.handle(ask, () => this.#session.invoke(ask, respond));
  }

  note(note: ReplayNote): void {
    this.#session.note(note);
  }

  plan(): Promise<string> {
    return Promise.resolve(this.#session.journal.plan());
  }

  snapshot(progress: RunProgress): Promise<SessionSnapshot | null> {
    return Promise.resolve(this.#session.snapshot(progress));
  }

  goOn(): void {
    this.#session.goOn();
  }

  end(end: AttemptEnd): SessionEnd {
    return this.#session.end(end);
  }

  take(isKept: boolean): Uint8Array<ArrayBuffer> | null {
    return isKept ? this.#session.tell(JOURNAL_MAX) : null;
  }
}
