import { HostAccount, type HostDelta } from "../../base/tenant-account.ts";
import type { CapabilityCall, Respond } from "../../base/protocol/capability-call.ts";
import type { Broker } from "../broker.ts";
import { AskLog } from "../ask-log.ts";
import type { BrokeredCall, CallKeep } from "../brokered-call.ts";
import type { AttemptEnd, BrokerSession, RunProgress, SessionEnd, SessionSnapshot } from "../call-session.ts";
import type { Grants } from "../grants.ts";
import type { Keeps, ReplayNote, SessionStart, ToldTool } from "./messages.ts";
import { type CarryOut, hostCapability } from "./host-capability.ts";
import type { ThreadTime, TimedCall } from "./thread-time.ts";

/** Length from which a journal is not kept, in UTF-16 units. */
const JOURNAL_MAX = 1024 * 1024;

const NOTHING: HostDelta = {
  asks: 0,
  bytesAsked: 0,
  bytesAnswered: 0,
  storeWaits: 0,
  brokerMs: 0,
  journalBytes: 0,
  inFlightBytes: 0,
};

/** Parts of the thread that a served call uses. */
export interface ServingThread {
  readonly broker: Broker;
  readonly time: ThreadTime;
  readonly carryOut: CarryOut;
  /** The store of a call. */
  readonly keepOf: (call: number, keeps: Keeps) => CallKeep;
}

/** A call on the broker thread: its session, and the state of its reports to the embedder's thread. */
export class ServedCall implements TimedCall {
  readonly number: number;
  readonly tenant: string;
  readonly capabilityBytes: number;
  brokerMs = 0;
  isEnded = false;
  #isOver = false;
  /** The pipe of the worker on which it runs, and its attempt there. */
  #pipe: number | null = null;
  #attempt = 0;
  #isFenced = false;
  readonly #account: HostAccount;
  readonly #session: BrokerSession;
  readonly #time: ThreadTime;
  #told = NOTHING;

  constructor(start: SessionStart, tool: ToldTool, grants: Grants, thread: ServingThread) {
    const { broker, time, carryOut, keepOf } = thread;
    const { call, tenant } = start;
    this.number = call;
    this.tenant = tenant;
    this.capabilityBytes = start.limits.capabilityBytes;
    this.#time = time;
    this.#account = new HostAccount(tenant, broker.accounts.of(tenant));
    const brokered: BrokeredCall = {
      ...start,
      ...tool,
      callNumber: call,
      own: tool.own === null ? undefined : hostCapability(tool.own, carryOut),
      account: this.#account,
      keep: start.keeps === undefined ? undefined : keepOf(call, start.keeps),
      log: start.logging === undefined ? undefined : new AskLog(start.logging),
      callTool: () => Promise.reject(new Error("only the embedder's thread calls tools")),
    };
    this.#session = broker.open(brokered, grants);
  }

  /** All of the queue's pieces on this thread. */
  get measuredMs(): number {
    return this.#account.mainMs;
  }

  get effects(): number {
    return this.#session.effects;
  }

  /** Begins an attempt on a worker: later messages of earlier attempts are ignored. */
  begin(pipe: number, attempt: number): void {
    this.#pipe = pipe;
    this.#attempt = attempt;
    this.#isFenced = false;
  }

  isAt(pipe: number, attempt: number): boolean {
    return this.#pipe === pipe && this.#attempt === attempt && !this.#isFenced;
  }

  /** Whether another attempt has begun, or is about to. */
  isPast(pipe: number, attempt: number): boolean {
    return this.#pipe === pipe && (attempt < this.#attempt || (attempt === this.#attempt && this.#isFenced));
  }

  /** The engine has ended the call: it does not run again, and later messages of its worker are ignored. */
  close(): void {
    this.#isOver = true;
    this.#isFenced = true;
  }

  invoke(ask: CapabilityCall, respond: Respond): void {
    this.#time.begin(this);
    this.#session.invoke(ask, (response) => {
      this.#time.end(this);
      respond(response);
    });
  }

  note(note: ReplayNote): void {
    this.#session.note(note);
  }

  snapshot(progress: RunProgress): SessionSnapshot | null {
    return this.isEnded ? null : this.#session.snapshot(progress);
  }

  goOn(): void {
    this.#session.goOn();
  }

  /** The plan of a further attempt. Later messages of earlier attempts are ignored. */
  plan(): string {
    this.#isFenced = true;
    // The next attempt reports its end again.
    this.isEnded &&= this.#isOver;
    return this.#session.journal.plan();
  }

  /** May be called again: if the engine has not received the end, the call runs once more. */
  end(end: AttemptEnd): SessionEnd {
    this.isEnded = true;
    return this.#session.end(end);
  }

  /** The session's parts of the call's record, after its end. */
  tell(): Uint8Array<ArrayBuffer> | null {
    this.#time.begin(this);
    const told = this.#session.tell(JOURNAL_MAX);
    this.#time.end(this);
    return told;
  }

  /**
   * Work done and memory held for the call since the last call of this; `null` for no change. Memory that an ended call
   * still holds, for methods that have not noticed the end, is not reported: its release would not be reported either.
   */
  takeDelta(): HostDelta | null {
    const { asks, bytesAsked, bytesAnswered, storeWaits } = this.#account;
    const { journalBytes, inFlightBytes } = this.isEnded ? NOTHING : this.#account;
    const done = { asks, bytesAsked, bytesAnswered, storeWaits, brokerMs: this.brokerMs };
    const now: HostDelta = { ...done, journalBytes, inFlightBytes };
    const before = this.#told;
    this.#told = now;
    let isChanged = false;
    const changeOf = (name: keyof HostDelta): number => {
      const change = now[name] - before[name];
      isChanged ||= change !== 0;
      return change;
    };
    const delta: HostDelta = {
      asks: changeOf("asks"),
      bytesAsked: changeOf("bytesAsked"),
      bytesAnswered: changeOf("bytesAnswered"),
      storeWaits: changeOf("storeWaits"),
      brokerMs: changeOf("brokerMs"),
      journalBytes: changeOf("journalBytes"),
      inFlightBytes: changeOf("inFlightBytes"),
    };
    return isChanged ? delta : null;
  }
}
