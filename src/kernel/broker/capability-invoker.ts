import type { ErrorCode } from "../base/errors.ts";
import { HostWorkFull, type HostWorkQueue } from "../base/host-work-queue.ts";
import type { CapabilityCall, CapabilityResponse } from "../base/protocol/capability-call.ts";
import { CONTINUATIONS_MAX, isContinuation } from "../base/protocol/capability-call.ts";
import { configRemedy, type Remedy } from "../base/remedy.ts";
import { HostAccount, type TenantAccounts } from "../base/tenant-account.ts";
import type { Refused } from "./capabilities/capability.ts";
import type { BrokeredCall, CallKeep } from "./brokered-call.ts";
import { type Excess, explainExcess, isProgram } from "./capability-excess.ts";
import { type CapabilityDetails, type CapabilityOutcome, methodName } from "./capability-event.ts";
import type { Decision, Grants } from "./grants.ts";
import type { RecordedJournal } from "../base/protocol/recorded-journal.ts";
import type { BegunMethod, MethodCaller, MethodOutcome, RunningMethod } from "./method-call.ts";
import { OpenedCapabilities, type Track } from "./opened-capabilities.ts";
import { DENIED_ARGS_MAX } from "./remedies.ts";
import type { PlacedCapability } from "./thread/host-capability.ts";

/** The broker as its sessions use it. */
export interface InvokerHost {
  readonly work: HostWorkQueue;
  readonly accounts: TenantAccounts;
  readonly methods: MethodCaller;
  record(caller: BrokeredCall, call: CapabilityCall, outcome: CapabilityOutcome, details?: CapabilityDetails): void;
  readonly track: Track;
}

/** The last refusal of a call, for the call's result. */
export interface LastRefusal extends Refused {
  readonly message: string;
  readonly capability: string;
  readonly remedies?: readonly Remedy[];
}

/** The last refusal, with the data from which its remedies are made on request. */
interface NotedRefusal {
  readonly refusal: LastRefusal;
  readonly remedies: () => readonly Remedy[];
}

const NO_REMEDIES: NotedRefusal["remedies"] = () => [];

/** The decision on a capability for the call. */
interface DecidedCapability {
  readonly decision: Decision;
  /** Indices of the policy rules that grant the capability. */
  readonly rules: readonly number[];
}

type Granted = Extract<Decision, { readonly isGranted: true }>;

/** One capability call in progress. */
interface Invocation {
  readonly call: CapabilityCall;
  readonly capability: DecidedCapability;
  /** `fetch.request` */
  readonly label: string;
  readonly startMs: number;
}

/** A capability call whose handler has begun. */
interface Begun {
  readonly kind: "begun";
  readonly invocation: Invocation;
  readonly method: RunningMethod;
}

/** A capability call up to its handler's first return, or the response if it has ended; a promise during a wait. */
type Beginning = CapabilityResponse | Begun | Promise<CapabilityResponse | Begun>;

/** Maximum length of the message of a failed capability call, in characters. */
const MESSAGE_MAX = 2_000;
const LABEL_MAX = 130;
/** Memory of a journal's entry besides its texts, in bytes. */
const ENTRY_BYTES = 200;
const CODES = {
  denied: "capability_denied",
  limit: "capability_limit",
  failed: "capability_failed",
} as const satisfies Partial<Record<CapabilityOutcome, ErrorCode>>;

/**
 * Carries out the capability calls of one call within its grants, the schemas of methods, and its limits. Keeps no
 * journal.
 */
export class CapabilityInvoker implements Disposable {
  readonly account: HostAccount;
  readonly #host: InvokerHost;
  readonly #caller: BrokeredCall;
  readonly #grants: Grants;
  readonly #announce: ((step: number) => CallKeep | undefined) | undefined;
  readonly #capabilities = new Map<string, DecidedCapability>();
  readonly #opened: OpenedCapabilities;
  /** Characters of arguments and responses so far. */
  #length = 0;
  /** Bytes of the journal that the account holds. */
  #journalBytes = 0;
  #calls = 0;
  #continuations = 0;
  #effects = 0;
  #lastRefusal: NotedRefusal | null = null;

  /** `announce`: stores the journal before a step that may have an effect. Default: the call is not stored. */
  constructor(
    host: InvokerHost,
    caller: BrokeredCall,
    grants: Grants,
    announce?: (step: number) => CallKeep | undefined,
  ) {
    this.#announce = announce;
    this.#host = host;
    this.#caller = caller;
    this.#grants = grants;
    this.account = caller.account ?? new HostAccount(caller.tenant, host.accounts.of(caller.tenant));
    this.#opened = new OpenedCapabilities(caller, {
      onHost: (task) => host.work.run(this.account, task),
      onWait: () => this.account.countWait(),
      grantsOf: (name) => {
        const { decision } = this.#decide(name);
        return decision.isGranted ? valuesOf(decision) : [];
      },
    });
  }

  get effects(): number {
    return this.#effects;
  }

  /** See `OpenedCapabilities`. */
  get held(): string | null {
    return this.#opened.held;
  }

  get lastRefusal(): LastRefusal | null {
    if (this.#lastRefusal === null) return null;
    const { refusal } = this.#lastRefusal;
    const remedies = this.#lastRefusal.remedies();
    return remedies.length === 0 ? refusal : { ...refusal, remedies };
  }

  /** Counts a capability call, and returns whether it exceeds the limits by more than a worker allows. */
  isBeyond({ capability, method }: CapabilityCall): boolean {
    if (isContinuation(capability, method)) return ++this.#continuations > CONTINUATIONS_MAX;
    return ++this.#calls > this.#caller.limits.capabilityCalls + 1;
  }

  /** Counts the capability calls of an earlier run, which are not carried out again. */
  recount({ asks, answers }: RecordedJournal): void {
    for (const { capability, method, args } of asks) {
      if (isContinuation(capability, method)) this.#continuations++;
      else this.#calls++;
      this.#length += args.length;
      this.hold(args.length);
    }
    for (const { payload } of answers) {
      this.#length += payload.length;
      this.hold(payload.length);
    }
  }

  /** Holds memory for an entry of the journal until the call ends; returns whether there was room for it. */
  hold(length: number): boolean {
    if (this.#opened.isEnded) return false;
    const bytes = ENTRY_BYTES + length;
    if (!this.account.hold("journalBytes", bytes)) return false;
    this.#journalBytes += bytes;
    return true;
  }

  /**
   * Carries out a capability call that `isBeyond` has counted. `isHeld`: whether the journal has room for it. Returns
   * the response, or a promise of it if its handler or its turn has to be waited for. Never throws or rejects: a
   * failure to describe a failure is a response, too. `rest`: it begins after this has resolved.
   */
  invoke(
    call: CapabilityCall,
    isHeld: boolean,
    rest?: Promise<void>,
  ): CapabilityResponse | Promise<CapabilityResponse> {
    const startMs = performance.now();
    const { length } = call.args;
    const isInFlight = this.account.hold("inFlightBytes", length);
    // Counted now: if it has to wait, later ones are counted before it begins.
    const excess = this.#count(length) ?? (isHeld && isInFlight ? null : { kind: "held" });
    const release = () => isInFlight && this.account.release("inFlightBytes", length);
    let begun: Beginning;
    try {
      begun = rest?.then(() => this.#begin(call, excess, startMs)) ?? this.#begin(call, excess, startMs);
    } catch {
      begun = this.#fault(call, startMs);
    }
    if (begun instanceof Promise || begun.kind === "begun")
      return this.#conclude(call, begun, startMs).finally(release);
    release();
    return begun;
  }

  async #conclude(
    call: CapabilityCall,
    begun: Exclude<Beginning, CapabilityResponse>,
    startMs: number,
  ): Promise<CapabilityResponse> {
    try {
      const started = await begun;
      return started.kind === "begun" ? await this.#end(started) : started;
    } catch {
      return this.#fault(call, startMs);
    }
  }

  #fault(call: CapabilityCall, startMs: number): CapabilityResponse {
    this.#host.record(this.#caller, call, "failed");
    const message = "the broker could not carry out the capability call";
    const nowMs = call.nowMs + Math.round(performance.now() - startMs);
    return { kind: "failure", nowMs, failure: { code: "capability_failed", message } };
  }

  /** Indices of the policy rules that grant a capability which the call has used. */
  rules(name: string): readonly number[] {
    return this.#capabilities.get(name)?.rules ?? [];
  }

  /** Aborts handlers that are still running, and releases the resources of capabilities. */
  [Symbol.dispose](): void {
    if (this.#opened.isEnded) return;
    this.account.release("journalBytes", this.#journalBytes);
    this.#opened.end(this.#host.track);
  }

  #decide(name: string): DecidedCapability {
    let capability = this.#capabilities.get(name);
    if (capability === undefined) {
      const { own } = this.#caller;
      const decision = own?.name === name ? ownDecision(own) : this.#grants.decide(this.#caller, name);
      const rules = decision.isGranted ? decision.granted.map(({ rule }) => rule) : [];
      capability = { decision, rules };
      this.#capabilities.set(name, capability);
    }
    return capability;
  }

  /** Counts the arguments of a capability call, and returns the limit that the call now exceeds. */
  #count(length: number): Excess | null {
    this.account.countAsk(length);
    this.#length += length;
    const { capabilityCalls, capabilityBytes } = this.#caller.limits;
    if (this.#calls > capabilityCalls) return { kind: "capabilityCalls" };
    return this.#length > capabilityBytes ? { kind: "capabilityBytes" } : null;
  }

  /** Decides on a capability call and calls its handler, in its tenant's turn. */
  #begin(call: CapabilityCall, excess: Excess | null, startMs: number): Beginning {
    const invocationOf = () => ({ call, capability: this.#decide(call.capability), label: labelOf(call), startMs });
    try {
      if (call.reply !== undefined) return this.#startAnswered(invocationOf(), excess);
      return this.#host.work.run(this.account, () => this.#start(invocationOf(), excess));
    } catch (error) {
      if (!(error instanceof HostWorkFull)) throw error;
      return this.#exceed(invocationOf(), { kind: "waiting", waitingMax: error.waitingMax });
    }
  }

  /** Begins without a wait: its worker has its answer already, so the call could end first. */
  #startAnswered(invocation: Invocation, excess: Excess | null): CapabilityResponse | Begun {
    const begun = this.#start(invocation, excess);
    this.#host.work.note(this.account, performance.now() - invocation.startMs);
    return begun;
  }

  #start(invocation: Invocation, excess: Excess | null): CapabilityResponse | Begun {
    const { decision } = invocation.capability;
    if (!decision.isGranted) return this.#refuse(invocation, "denied", decision.message, decision.refused);
    if (excess !== null) return this.#exceed(invocation, excess);
    // The call has ended while this waited. The response is discarded.
    if (this.#opened.isEnded) return this.#fail(invocation, "failed", "the call has ended");
    const begun = this.#beginMethod(invocation, decision);
    this.#effects += begun.effects;
    return begun.kind === "ended"
      ? this.#respond(invocation, begun.outcome)
      : { kind: "begun", invocation, method: begun };
  }

  #beginMethod({ call, label }: Invocation, decision: Granted): BegunMethod {
    const { method, args, step } = call;
    const { capability } = decision;
    const announce = this.#announce;
    if (capability.kind === "host") {
      // The embedder's thread announces the effect itself, once it knows that there is one.
      if (!capability.reads.includes(method)) announce?.(step);
      return capability.request(this.#caller.callNumber ?? 0, call, label, valuesOf(decision));
    }
    const open = () => this.#opened.open(capability, valuesOf(decision));
    const begins =
      announce &&
      ((isLater: boolean, isRepeatable: boolean) => {
        const keep = announce(step);
        return isLater ? undefined : keep?.begin(step, isRepeatable).then(() => this.#opened.requireOpen());
      });
    const asked = { capability, method, args, label, open, step, reply: call.reply, begins };
    return this.#host.methods.begin(asked, this.account);
  }

  async #end({ invocation, method }: Begun): Promise<CapabilityResponse> {
    const { outcome, effects } = await method.end;
    this.#effects += effects - method.effects;
    return this.#respond(invocation, outcome);
  }

  #respond(invocation: Invocation, outcome: MethodOutcome): CapabilityResponse {
    switch (outcome.kind) {
      case "value":
        return this.#succeed(invocation, outcome.json);
      case "refused":
        return this.#refuse(invocation, outcome.outcome, outcome.message, outcome.refused);
      case "too_long":
        return this.#exceed(invocation, { kind: "input", length: outcome.length, inputBytes: outcome.inputBytes });
      case "waiting":
        return this.#exceed(invocation, { kind: "waiting", waitingMax: outcome.waitingMax });
      case "limit":
        return this.#fail(invocation, "limit", outcome.message, outcome.code);
      case "failed":
        return this.#fail(invocation, "failed", outcome.message, outcome.code, outcome.details);
    }
  }

  #succeed(invocation: Invocation, json: string): CapabilityResponse {
    const { call, capability, startMs } = invocation;
    this.#length += json.length;
    if (this.#length > this.#caller.limits.capabilityBytes)
      return this.#exceed(invocation, { kind: "capabilityBytes" });
    if (!this.#opened.isEnded && !this.hold(json.length)) return this.#exceed(invocation, { kind: "held" });
    this.account.countAnswer(json.length);
    const durationMs = performance.now() - startMs;
    this.#host.record(this.#caller, call, "ok", {
      rules: capability.rules,
      answerLength: json.length,
      durationMs,
    });
    return { kind: "value", nowMs: call.nowMs + Math.round(durationMs), json };
  }

  #exceed(invocation: Invocation, excess: Excess): CapabilityResponse {
    const { reason, refused } = explainExcess(excess, invocation.label, this.#caller);
    const { kind } = excess;
    const isOfCall = kind === "capabilityCalls" || kind === "capabilityBytes";
    const path = isProgram(this.#caller) ? ["codeMode", "limits", kind] : ["limits", kind];
    const remedies = isOfCall ? () => [configRemedy(path, this.#caller.limits[kind] * 2)] : NO_REMEDIES;
    return this.#refuse(invocation, "limit", reason, refused, remedies);
  }

  #refuse(
    invocation: Invocation,
    outcome: "denied" | "limit",
    reason: string,
    refused: Refused,
    remedies: NotedRefusal["remedies"] = outcome === "denied" ? this.#remediesOf(invocation) : NO_REMEDIES,
  ): CapabilityResponse {
    const { asked, granted, remedy } = refused;
    const text = `${reason}; asked for: ${asked}; granted: ${granted}; to grant it, ${remedy}`;
    const response = this.#fail(invocation, outcome, text);
    const { message } = response.failure;
    const refusal = { message, capability: invocation.call.capability.slice(0, 64), asked, granted, remedy };
    this.#lastRefusal = { refusal, remedies };
    return response;
  }

  #remediesOf({ call: { capability, args } }: Invocation): NotedRefusal["remedies"] {
    const denied = { capability, args: args.length > DENIED_ARGS_MAX ? "{}" : args };
    return () => this.#grants.remedies(this.#caller, denied);
  }

  #fail(
    { call, capability: { rules }, startMs }: Invocation,
    outcome: keyof typeof CODES,
    text: string,
    code: ErrorCode = CODES[outcome],
    details?: object,
  ): Extract<CapabilityResponse, { kind: "failure" }> {
    const durationMs = performance.now() - startMs;
    // A pause leaves the capability call open: the run that gets the answer records its outcome.
    if (code !== "paused") this.#host.record(this.#caller, call, outcome, { rules, durationMs, code });
    const message = text.slice(0, MESSAGE_MAX);
    const failure = { code, message, ...(details === undefined ? {} : { details }) };
    return { kind: "failure", nowMs: call.nowMs + Math.round(durationMs), failure };
  }
}

/** A capability that a call brings with it needs no rule. */
function ownDecision(capability: PlacedCapability): Decision {
  return { isGranted: true, capability, granted: [] };
}

function valuesOf({ granted }: Granted): readonly unknown[] {
  return granted.map(({ value }) => value);
}

/** Name of a capability call for its tool: without the suffix of its method. */
function labelOf({ capability, method }: CapabilityCall): string {
  return `${capability}.${methodName(method)}`.slice(0, LABEL_MAX);
}
