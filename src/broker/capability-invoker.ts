import type { ErrorCode } from "../base/errors.ts";
import { describeExcess } from "../base/json.ts";
import type { Limits } from "../base/limits.ts";
import type { CapabilityCall, CapabilityResponse } from "../base/protocol/capability-call.ts";
import { CONTINUATIONS_MAX, isContinuation } from "../base/protocol/capability-call.ts";
import type { Validator } from "../base/schema/schema.ts";
import { describeViolations } from "../base/schema/violation.ts";
import {
  type CallBinary,
  type CallTool,
  type Capability,
  CapabilityRefusal,
  LimitReached,
  type OpenCall,
  type OpenCapability,
  type Refused,
} from "./capabilities/capability.ts";
import { type CallIdentity, type CapabilityEvent, type CapabilityOutcome, methodName } from "./capability-event.ts";
import type { Decision, Grants, GrantSubject } from "./grants.ts";

/** The call on whose behalf the broker acts. */
export interface BrokeredCall extends GrantSubject, CallIdentity {
  readonly tenant: string;
  readonly limits: Pick<Limits, "capabilityCalls" | "capabilityBytes">;
  readonly callTool: (name: string, args: Record<string, unknown>, signal: AbortSignal) => ReturnType<CallTool>;
  /** The binary, where the tool is one. */
  readonly binary?: CallBinary | undefined;
  /** Receives the events of this call, which the host also receives. */
  readonly onOutcome?: ((event: CapabilityEvent) => void) | undefined;
}

/** A method with its schemas compiled. They are compiled when the method is first called. */
export interface CheckedMethod {
  readonly input: Validator | null;
  readonly output: Validator | null;
  /** See `MethodShape`. */
  readonly isRead: (args: unknown) => boolean;
}

/** The broker as its sessions use it. */
export interface InvokerHost {
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

/** Shared by all calls: creating a DOMException takes longer than most handlers do. */
const ENDED = new DOMException("the call has ended", "AbortError");
/**
 * Maximum length of the message of a failed capability call, and of the part read of a handler's error, in characters.
 */
const MESSAGE_MAX = 2_000;
const MESSAGE_READ_MAX = 20_000;
const LABEL_MAX = 130;
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
  #calls = 0;
  #continuations = 0;
  #effects = 0;
  #lastRefusal: LastRefusal | null = null;

  constructor(host: InvokerHost, caller: BrokeredCall, grants: Grants) {
    this.#host = host;
    this.#caller = caller;
    this.#grants = grants;
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

  /**
   * Carries out a capability call that `isBeyond` has counted. Never rejects: a failure to describe a failure is a
   * response, too.
   */
  async invoke(call: CapabilityCall): Promise<CapabilityResponse> {
    const startMs = performance.now();
    try {
      return await this.#carryOut({ call, capability: this.#decide(call.capability), label: labelOf(call), startMs });
    } catch {
      this.#host.record(this.#caller, call, "failed");
      const message = "the broker could not carry out the capability call";
      const nowMs = call.nowMs + Math.round(performance.now() - startMs);
      return { kind: "failure", nowMs, failure: { code: "capability_failed", message } };
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

  async #carryOut(invocation: Invocation): Promise<CapabilityResponse> {
    const { call, capability, label } = invocation;
    const { decision } = capability;
    if (!decision.isGranted) return this.#refuse(invocation, "denied", decision.message, decision.refused);
    this.#length += call.args.length;
    const { capabilityCalls, capabilityBytes } = this.#caller.limits;
    if (this.#calls > capabilityCalls) {
      return this.#exceed(invocation, "capabilityCalls", `make ${capabilityCalls} capability calls`);
    }
    if (this.#length > capabilityBytes) return this.#exceedBytes(invocation);
    let effects = 0;
    try {
      const method = this.#host.method(decision.capability, call.method);
      if (method === undefined) return this.#fail(invocation, "failed", `${label} does not exist`);
      const excess = describeExcess(call.args);
      if (excess !== null) return this.#fail(invocation, "failed", `the arguments of ${label} are ${excess}`);
      const args: unknown = JSON.parse(call.args);
      const violations = method.input?.check(args) ?? [];
      if (violations.length > 0) {
        const message = `the arguments of ${label} do not match its schema: ${describeViolations(violations)}`;
        return this.#fail(invocation, "failed", message);
      }
      capability.open ??= decision.capability.open(this.#callToOpenFor(), valuesOf(decision));
      effects = method.isRead(args) ? 0 : 1;
      this.#effects += effects;
      return this.#respond(invocation, method, await capability.open.invoke(call.method, args));
    } catch (error) {
      if (error instanceof CapabilityRefusal) {
        // A refused capability call has no effect.
        this.#effects -= effects;
        return this.#refuse(invocation, error.outcome, error.message, error.refused);
      }
      if (error instanceof LimitReached) return this.#fail(invocation, "limit", error.message, error.code);
      return this.#fail(invocation, "failed", `${label} failed: ${messageOf(error)}`);
    }
  }

  #respond(invocation: Invocation, { output }: CheckedMethod, value: unknown): CapabilityResponse {
    const { call, capability, label, startMs } = invocation;
    const json = value === undefined ? "null" : JSON.stringify(value);
    if (typeof json !== "string") return this.#fail(invocation, "failed", `${label} returned no JSON value`);
    if (output !== null && output.check(JSON.parse(json) as unknown).length > 0) {
      return this.#fail(invocation, "failed", `${label} returned a value that does not match its schema`);
    }
    this.#length += json.length;
    if (this.#length > this.#caller.limits.capabilityBytes) return this.#exceedBytes(invocation);
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

  #exceed(invocation: Invocation, limit: keyof BrokeredCall["limits"], granted: string): CapabilityResponse {
    return this.#refuse(invocation, "limit", `a call may ${granted}`, {
      asked: invocation.label,
      granted,
      remedy: `raise limits.${limit} of the tool`,
    });
  }

  #exceedBytes(invocation: Invocation): CapabilityResponse {
    const { capabilityBytes } = this.#caller.limits;
    return this.#exceed(invocation, "capabilityBytes", `exchange ${capabilityBytes} bytes with the host`);
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

function valuesOf({ granted }: Extract<Decision, { readonly isGranted: true }>): readonly unknown[] {
  return granted.map(({ value }) => value);
}

/** Name of a capability call for its tool: without the suffix of its method. */
function labelOf({ capability, method }: CapabilityCall): string {
  return `${capability}.${methodName(method)}`.slice(0, LABEL_MAX);
}

/**
 * Message of a handler's error, without paths of the host. The error may be any value.
 */
function messageOf(error: unknown): string {
  try {
    const message: unknown = error instanceof Error ? error.message : error;
    if (typeof message !== "string") return "its handler threw an error without a message";
    return message.slice(0, MESSAGE_READ_MAX).replaceAll(/(?:\/[\w.@-]+){2,}/g, "(path)");
  } catch {
    return "its handler threw an error that cannot be read";
  }
}
