import type { ErrorCode } from "../base/errors.ts";
import { HostWorkFull, type HostWorkQueue } from "../base/host-work-queue.ts";
import { describeExcess } from "../base/json.ts";
import type { CapabilityCall, CapabilityResponse } from "../base/protocol/capability-call.ts";
import { CONTINUATIONS_MAX, isContinuation } from "../base/protocol/capability-call.ts";
import type { Validator } from "../base/schema/schema.ts";
import { describeViolations } from "../base/schema/violation.ts";
import { HostAccount, type TenantAccounts } from "../base/tenant-account.ts";
import {
  type Capability,
  CapabilityRefusal,
  LimitReached,
  type OpenCall,
  type OpenCapability,
  type Refused,
} from "./capabilities/capability.ts";
import type { BrokeredCall } from "./brokered-call.ts";
import { type Excess, explainExcess } from "./capability-excess.ts";
import { type CapabilityEvent, type CapabilityOutcome, methodName } from "./capability-event.ts";
import type { Decision, Grants } from "./grants.ts";

/** A method with its schemas compiled. They are compiled when the method is first called. */
export interface CheckedMethod {
  /** See `MethodShape`. */
  readonly inputBytes: number;
  readonly input: Validator | null;
  readonly output: Validator | null;
  /** See `MethodShape`. */
  readonly isRead: (args: unknown) => boolean;
}

/** The broker as its sessions use it. */
export interface InvokerHost {
  readonly work: HostWorkQueue;
  readonly accounts: TenantAccounts;
  /** The method; `undefined` where the capability has none of this name. */
  method(capability: Capability, name: string): CheckedMethod | undefined;
  record(
    caller: BrokeredCall,
    call: CapabilityCall,
    outcome: CapabilityOutcome,
    details?: Partial<CapabilityEvent>,
  ): void;
  /** Makes the broker wait, when it closes, until an ended call has released its resources. */
  track(closing: void | Promise<void>): void;
}

/** The last refusal of a call, for the call's result. */
export interface LastRefusal extends Refused {
  readonly message: string;
  readonly capability: string;
}

/** The decision on a capability for the call. The capability is opened with the first capability call that uses it. */
interface DecidedCapability {
  readonly decision: Decision;
  /** Indices of the policy rules that grant the capability. */
  readonly rules: readonly number[];
  open: OpenCapability | null;
}

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
  readonly method: CheckedMethod;
  /** What the handler returned. */
  readonly value: unknown;
  readonly effects: number;
}

/** Shared by all calls: creating a DOMException takes longer than most handlers do. */
const ENDED = new DOMException("the call has ended", "AbortError");
/** Maximum length of the part read of a handler's error, in characters. */
const MESSAGE_READ_MAX = 20_000;
/** Maximum length of the message of a failed capability call, in characters. */
const MESSAGE_MAX = 2_000;
const LABEL_MAX = 130;
/** Maximum number of values in the arguments of a capability call. */
const VALUES_MAX = 100_000;
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
  readonly #capabilities = new Map<string, DecidedCapability>();
  #openCall: OpenCall | null = null;
  /** Created when a handler first reads its signal. */
  #abort: AbortController | null = null;
  #isEnded = false;
  /** Characters of arguments and responses so far. */
  #length = 0;
  /** Bytes of the journal that the account holds. */
  #journalBytes = 0;
  #calls = 0;
  #continuations = 0;
  #effects = 0;
  #lastRefusal: LastRefusal | null = null;

  constructor(host: InvokerHost, caller: BrokeredCall, grants: Grants) {
    this.#host = host;
    this.#caller = caller;
    this.#grants = grants;
    this.account = caller.account ?? new HostAccount(caller.tenant, host.accounts.of(caller.tenant));
  }

  get effects(): number {
    return this.#effects;
  }

  get lastRefusal(): LastRefusal | null {
    return this.#lastRefusal;
  }

  /** Counts a capability call, and returns whether it exceeds the limits by more than a worker allows. */
  isBeyond({ capability, method }: CapabilityCall): boolean {
    if (isContinuation(capability, method)) return ++this.#continuations > CONTINUATIONS_MAX;
    return ++this.#calls > this.#caller.limits.capabilityCalls + 1;
  }

  /** Holds memory for an entry of the journal until the call ends; returns whether there was room for it. */
  hold(length: number): boolean {
    if (this.#isEnded) return false;
    const bytes = ENTRY_BYTES + length;
    if (!this.account.hold("journalBytes", bytes)) return false;
    this.#journalBytes += bytes;
    return true;
  }

  /**
   * Carries out a capability call that `isBeyond` has counted. `isHeld`: whether the journal has room for it. Never
   * rejects: a failure to describe a failure is a response, too.
   */
  async invoke(call: CapabilityCall, isHeld: boolean): Promise<CapabilityResponse> {
    const startMs = performance.now();
    const { length } = call.args;
    const isInFlight = this.account.hold("inFlightBytes", length);
    // Counted now: where it has to wait, later ones are counted before it begins.
    const excess = this.#count(length) ?? (isHeld && isInFlight ? null : { kind: "held" });
    try {
      const begun = await this.#begin(call, excess, startMs);
      return begun.kind === "begun" ? await this.#end(begun) : begun;
    } catch {
      this.#host.record(this.#caller, call, "failed");
      const message = "the broker could not carry out the capability call";
      const nowMs = call.nowMs + Math.round(performance.now() - startMs);
      return { kind: "failure", nowMs, failure: { code: "capability_failed", message } };
    } finally {
      if (isInFlight) this.account.release("inFlightBytes", length);
    }
  }

  /** Indices of the policy rules that grant a capability which the call has used. */
  rules(name: string): readonly number[] {
    return this.#capabilities.get(name)?.rules ?? [];
  }

  /** Aborts handlers that are still running, and releases the resources of capabilities. */
  [Symbol.dispose](): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.account.release("journalBytes", this.#journalBytes);
    this.#abort?.abort(ENDED);
    for (const { open } of this.#capabilities.values()) this.#close(open);
  }

  #close(open: OpenCapability | null): void {
    try {
      this.#host.track(open?.close?.());
    } catch {
      // The call has ended, so nothing can report the error.
    }
  }

  #decide(name: string): DecidedCapability {
    let capability = this.#capabilities.get(name);
    if (capability === undefined) {
      const decision = this.#grants.decide(this.#caller, name);
      const rules = decision.isGranted ? decision.granted.map(({ rule }) => rule) : [];
      capability = { decision, rules, open: null };
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
  #begin(
    call: CapabilityCall,
    excess: Excess | null,
    startMs: number,
  ): CapabilityResponse | Begun | Promise<CapabilityResponse | Begun> {
    const invocationOf = () => ({ call, capability: this.#decide(call.capability), label: labelOf(call), startMs });
    try {
      return this.#host.work.run(this.account, () => this.#start(invocationOf(), excess));
    } catch (error) {
      if (!(error instanceof HostWorkFull)) throw error;
      return this.#exceed(invocationOf(), { kind: "waiting", waitingMax: error.waitingMax });
    }
  }

  #start(invocation: Invocation, excess: Excess | null): CapabilityResponse | Begun {
    const { call, capability, label } = invocation;
    const { decision } = capability;
    if (!decision.isGranted) return this.#refuse(invocation, "denied", decision.message, decision.refused);
    if (excess !== null) return this.#exceed(invocation, excess);
    // It waited longer than its call lived. Nobody gets the response.
    if (this.#isEnded) return this.#fail(invocation, "failed", "the call has ended");
    let effects = 0;
    try {
      const method = this.#host.method(decision.capability, call.method);
      if (method === undefined) return this.#fail(invocation, "failed", `${label} does not exist`);
      if (call.args.length > method.inputBytes) {
        return this.#exceed(invocation, { kind: "input", length: call.args.length, inputBytes: method.inputBytes });
      }
      const tooMuch = describeExcess(call.args, VALUES_MAX);
      if (tooMuch !== null) return this.#fail(invocation, "failed", `the arguments of ${label} are ${tooMuch}`);
      const args: unknown = JSON.parse(call.args);
      const violations = method.input?.check(args) ?? [];
      if (violations.length > 0) {
        const message = `the arguments of ${label} do not match its schema: ${describeViolations(violations)}`;
        return this.#fail(invocation, "failed", message);
      }
      capability.open ??= decision.capability.open(this.#callToOpenFor(), valuesOf(decision));
      effects = method.isRead(args) ? 0 : 1;
      this.#effects += effects;
      const value = capability.open.invoke(call.method, args);
      return isThenable(value)
        ? { kind: "begun", invocation, method, value, effects }
        : this.#respond(invocation, method, value);
    } catch (error) {
      return this.#failWith(invocation, error, effects);
    }
  }

  /** Waits for a handler, and responds in its tenant's turn. */
  async #end({ invocation, method, value, effects }: Begun): Promise<CapabilityResponse> {
    const { work } = this.#host;
    let settled: () => CapabilityResponse;
    try {
      const returned = await value;
      settled = () => this.#respond(invocation, method, returned);
    } catch (error) {
      settled = () => this.#failWith(invocation, error, effects);
    }
    try {
      return await work.run(this.account, settled);
    } catch (error) {
      return this.#failWith(invocation, error, 0);
    }
  }

  #failWith(invocation: Invocation, error: unknown, effects: number): CapabilityResponse {
    if (error instanceof CapabilityRefusal) {
      // A refused capability call has no effect.
      this.#effects -= effects;
      return this.#refuse(invocation, error.outcome, error.message, error.refused);
    }
    if (error instanceof LimitReached) return this.#fail(invocation, "limit", error.message, error.code);
    return this.#fail(invocation, "failed", `${invocation.label} failed: ${messageOf(error)}`);
  }

  #respond(invocation: Invocation, { output }: CheckedMethod, value: unknown): CapabilityResponse {
    const { call, capability, label, startMs } = invocation;
    const json = value === undefined ? "null" : JSON.stringify(value);
    if (typeof json !== "string") return this.#fail(invocation, "failed", `${label} returned no JSON value`);
    if (output !== null && output.check(JSON.parse(json) as unknown).length > 0) {
      return this.#fail(invocation, "failed", `${label} returned a value that does not match its schema`);
    }
    this.#length += json.length;
    if (this.#length > this.#caller.limits.capabilityBytes)
      return this.#exceed(invocation, { kind: "capabilityBytes" });
    if (!this.#isEnded && !this.hold(json.length)) return this.#exceed(invocation, { kind: "held" });
    this.account.countAnswer(json.length);
    const durationMs = performance.now() - startMs;
    this.#host.record(this.#caller, call, "ok", {
      rules: capability.rules,
      answerLength: json.length,
      durationMs,
    });
    return { kind: "value", nowMs: call.nowMs + Math.round(durationMs), json };
  }

  #callToOpenFor(): OpenCall {
    if (this.#openCall !== null) return this.#openCall;
    const { callId, tool, tenant, callTool, binary } = this.#caller;
    const signal = () => this.#signal();
    this.#openCall = {
      callId,
      tool,
      callTool: (name, args) => callTool(name, args, this.#signal()),
      onHost: (task) => this.#host.work.run(this.account, task),
      grantsOf: (name) => {
        const { decision } = this.#decide(name);
        return decision.isGranted ? valuesOf(decision) : [];
      },
      get signal() {
        return signal();
      },
      ...(tenant === "" ? {} : { tenant }),
      ...(binary === undefined ? {} : { binary }),
    };
    return this.#openCall;
  }

  #signal(): AbortSignal {
    this.#abort ??= new AbortController();
    if (this.#isEnded) this.#abort.abort(ENDED);
    return this.#abort.signal;
  }

  #exceed(invocation: Invocation, excess: Excess): CapabilityResponse {
    const { reason, refused } = explainExcess(excess, invocation.label, this.#caller.limits);
    return this.#refuse(invocation, "limit", reason, refused);
  }

  #refuse(invocation: Invocation, outcome: "denied" | "limit", reason: string, refused: Refused): CapabilityResponse {
    const { asked, granted, remedy } = refused;
    const text = `${reason}; asked for: ${asked}; granted: ${granted}; to grant it, ${remedy}`;
    const response = this.#fail(invocation, outcome, text);
    const { message } = response.failure;
    this.#lastRefusal = { message, capability: invocation.call.capability.slice(0, 64), asked, granted, remedy };
    return response;
  }

  #fail(
    { call, capability: { rules }, startMs }: Invocation,
    outcome: keyof typeof CODES,
    text: string,
    code: ErrorCode = CODES[outcome],
  ): Extract<CapabilityResponse, { kind: "failure" }> {
    const durationMs = performance.now() - startMs;
    this.#host.record(this.#caller, call, outcome, { rules, durationMs });
    const message = text.slice(0, MESSAGE_MAX);
    return { kind: "failure", nowMs: call.nowMs + Math.round(durationMs), failure: { code, message } };
  }
}

function isThenable(value: unknown): boolean {
  return typeof value === "object" && value !== null && "then" in value;
}

function valuesOf({ granted }: Extract<Decision, { readonly isGranted: true }>): readonly unknown[] {
  return granted.map(({ value }) => value);
}

/** Name of a capability call for its tool: without the suffix of its method. */
function labelOf({ capability, method }: CapabilityCall): string {
  return `${capability}.${methodName(method)}`.slice(0, LABEL_MAX);
}

/** Message of a handler's error, without paths of the host. The error may be any value. */
function messageOf(error: unknown): string {
  try {
    const message: unknown = error instanceof Error ? error.message : error;
    if (typeof message !== "string") return "its handler threw an error without a message";
    return message.slice(0, MESSAGE_READ_MAX).replaceAll(/(?:\/[\w.@-]+){2,}/g, "(path)");
  } catch {
    return "its handler threw an error that cannot be read";
  }
}
