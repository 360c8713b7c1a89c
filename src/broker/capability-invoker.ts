import {
  CapabilityRefusal,
  LimitReached,
  type OpenCall,
  type OpenCapability,
  type Refused,
} from "./capabilities/capability.ts";
import type { ErrorCode } from "../base/errors.ts";
import type { CapabilityCall } from "../base/protocol/capability-call.ts";
import { describeExcess } from "../base/json.ts";
import { CONTINUATIONS_MAX, isContinuation } from "../base/protocol/continuation.ts";
import { describeViolations } from "../base/schema/violation.ts";
import type { Decision, Grants } from "./grants.ts";
import type { LastRefusal } from "./last-refusal.ts";
import type { MethodChecks, SessionHost } from "./session-host.ts";
import type { BrokerSubject, InvokeOutcome } from "./subject.ts";
import { CODES, exchange, labelOf, MESSAGE_MAX, messageOf } from "./wording.ts";

/** One for all: to make one takes longer than most handlers do. */
const ENDED = new DOMException("the call has ended", "AbortError");

/** What the call was decided to have of a capability, and what serves it. */
interface Opened {
  readonly decision: Decision;
  open: OpenCapability | null;
}

/** Carries out what one call asks: within its grants, the schemas of methods, and its limits. It keeps no journal. */
export class CapabilityInvoker implements Disposable {
  readonly #host: SessionHost;
  readonly #subject: BrokerSubject;
  readonly #grants: Pick<Grants, "decide">;
  readonly #opened = new Map<string, Opened>();
  #call: OpenCall | null = null;
  /** Made only where a handler asks for its signal. */
  #abort: AbortController | null = null;
  #isEnded = false;
  #length = 0;
  /** What was asked of capabilities, and what only goes on with that. */
  #calls = 0;
  #continuations = 0;
  #effects = 0;
  #lastRefusal: LastRefusal | null = null;

  constructor(host: SessionHost, subject: BrokerSubject, grants: Pick<Grants, "decide">) {
    this.#host = host;
    this.#subject = subject;
    this.#grants = grants;
  }

  /** How many handlers were called: what they did cannot be undone. */
  get effects(): number {
    return this.#effects;
  }

  get lastRefusal(): LastRefusal | null {
    return this.#lastRefusal;
  }

  /** Counts an ask, and says whether it is further beyond the limits than a worker lets one be. */
  isBeyond({ capability, method }: CapabilityCall): boolean {
    if (isContinuation(capability, method)) return ++this.#continuations > CONTINUATIONS_MAX;
    return ++this.#calls > this.#subject.limits.capabilityCalls + 1;
  }

  /**
   * Carries out an ask that was counted. Never rejects: whatever goes wrong on the way, also in telling what went wrong, the tool
   * gets an answer.
   */
  async perform(ask: CapabilityCall): Promise<InvokeOutcome> {
    const askedMs = performance.now();
    try {
      return await this.#perform(ask, askedMs);
    } catch {
      this.#host.note(this.#subject, ask, "failed");
      return { kind: "failure", failure: { code: "capability_failed", message: "the broker could not answer" } };
    }
  }

  decide(name: string): Opened {
    let opened = this.#opened.get(name);
    if (opened === undefined) {
      opened = { decision: this.#grants.decide(this.#subject, name), open: null };
      this.#opened.set(name, opened);
    }
    return opened;
  }

  /** The rules that give the call something of a capability. */
  rules(name: string): readonly number[] {
    const decision = this.#opened.get(name)?.decision;
    return decision?.isGranted === true ? decision.granted.map(({ rule }) => rule) : [];
  }

  /** Tells handlers that nobody waits for them any more, and gives back what capabilities hold. */
  [Symbol.dispose](): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#abort?.abort(ENDED);
    for (const { open } of this.#opened.values()) this.#close(open);
  }

  #close(open: OpenCapability | null): void {
    try {
      this.#host.track(open?.close?.());
    } catch {
      // The call has ended, and nobody is left to tell.
    }
  }

  async #perform(ask: CapabilityCall, askedMs: number): Promise<InvokeOutcome> {
    const { capabilityCalls, capabilityBytes } = this.#subject.limits;
    const opened = this.decide(ask.capability);
    const { decision } = opened;
    if (!decision.isGranted) return this.#refuse(ask, askedMs, "denied", decision.message, decision.refused);
    this.#length += ask.args.length;
    if (this.#calls > capabilityCalls) return this.#exceed(ask, askedMs, `ask the host ${capabilityCalls} times`);
    if (this.#length > capabilityBytes) return this.#exceed(ask, askedMs, exchange(capabilityBytes));
    const label = labelOf(ask);
    try {
      return await this.#invoke(ask, askedMs, opened, decision, label);
    } catch (error) {
      if (error instanceof CapabilityRefusal) {
        return this.#refuse(ask, askedMs, error.outcome, error.message, error.refused);
      }
      if (error instanceof LimitReached) return this.#fail(ask, askedMs, "limit", error.message, error.code);
      return this.#fail(ask, askedMs, "failed", `${label} failed: ${messageOf(error, this.#host.redact)}`);
    }
  }

  async #invoke(
    ask: CapabilityCall,
    askedMs: number,
    opened: Opened,
    { capability, granted }: Extract<Decision, { isGranted: true }>,
    label: string,
  ): Promise<InvokeOutcome> {
    const fail = (message: string) => this.#fail(ask, askedMs, "failed", message);
    const checks = this.#host.checks(capability, ask.method);
    if (checks === undefined) return fail(`there is no ${label}`);
    const excess = describeExcess(ask.args);
    if (excess !== null) return fail(`${label} was called with arguments ${excess}`);
    const args: unknown = JSON.parse(ask.args);
    const wrong = checks.input?.check(args) ?? [];
    if (wrong.length > 0) return fail(`${label} was called with wrong arguments: ${describeViolations(wrong)}`);
    const open = (opened.open ??= capability.open(
      this.#openCall(),
      granted.map(({ value }) => value),
    ));
    if (checks.isRead) return this.#answer(ask, askedMs, checks, await open.invoke(ask.method, args), label);
    this.#effects++;
    try {
      return this.#answer(ask, askedMs, checks, await open.invoke(ask.method, args), label);
    } catch (error) {
      // What was refused has not happened.
      if (error instanceof CapabilityRefusal) this.#effects--;
      throw error;
    }
  }

  #answer(ask: CapabilityCall, askedMs: number, checks: MethodChecks, value: unknown, label: string): InvokeOutcome {
    const fail = (message: string) => this.#fail(ask, askedMs, "failed", message);
    const written = value === undefined ? "null" : JSON.stringify(value);
    if (typeof written !== "string") return fail(`${label} gave no JSON value`);
    // Whatever a handler, a file or a variable holds, no secret reaches a tool.
    const json = this.#host.redact(written);
    const odd = checks.output?.check(JSON.parse(json) as unknown) ?? [];
    if (odd.length > 0) return fail(`${label} gave a value that its schema does not allow`);
    this.#length += json.length;
    const { capabilityBytes } = this.#subject.limits;
    if (this.#length > capabilityBytes) return this.#exceed(ask, askedMs, exchange(capabilityBytes));
    const durationMs = performance.now() - askedMs;
    const rules = this.rules(ask.capability);
    this.#host.note(this.#subject, ask, "ok", { rules, answerLength: json.length, durationMs });
    return { kind: "value", json };
  }

  #openCall(): OpenCall {
    if (this.#call !== null) return this.#call;
    const { callId, tool, tenant, callTool, binary } = this.#subject;
    const signal = () => this.#signal();
    this.#call = {
      callId,
      tool,
      callTool: (name, args) => callTool(name, args, this.#signal()),
      grantsOf: (name) => {
        const { decision } = this.decide(name);
        return decision.isGranted ? decision.granted.map(({ value }) => value) : [];
      },
      get signal() {
        return signal();
      },
      ...(tenant === "" ? {} : { tenant }),
      ...(binary === undefined ? {} : { binary }),
    };
    return this.#call;
  }

  #signal(): AbortSignal {
    this.#abort ??= new AbortController();
    if (this.#isEnded) this.#abort.abort(ENDED);
    return this.#abort.signal;
  }

  #exceed(ask: CapabilityCall, askedMs: number, what: string): InvokeOutcome {
    return this.#refuse(ask, askedMs, "limit", `a call may ${what}`, {
      asked: labelOf(ask),
      granted: what,
      remedy: "raise limits.capabilityCalls or limits.capabilityBytes of the tool",
    });
  }

  #refuse(
    ask: CapabilityCall,
    askedMs: number,
    outcome: "denied" | "limit",
    why: string,
    refused: Refused,
  ): InvokeOutcome {
    const { redact } = this.#host;
    const [asked, granted, remedy] = [refused.asked, refused.granted, refused.remedy].map(redact) as [
      string,
      string,
      string,
    ];
    const message = `${why}; asked for: ${asked}; granted: ${granted}; to grant it, ${remedy}`;
    const said = this.#fail(ask, askedMs, outcome, message);
    const capability = ask.capability.slice(0, 64);
    if (said.kind === "failure") {
      this.#lastRefusal = { message: said.failure.message, capability, asked, granted, remedy };
    }
    return said;
  }

  #fail(
    ask: CapabilityCall,
    askedMs: number,
    outcome: keyof typeof CODES,
    message: string,
    code: ErrorCode = CODES[outcome],
  ): InvokeOutcome {
    const durationMs = performance.now() - askedMs;
    this.#host.note(this.#subject, ask, outcome, { rules: this.rules(ask.capability), durationMs });
    const failure = { code, message: this.#host.redact(message).slice(0, MESSAGE_MAX) };
    return { kind: "failure", failure };
  }
}
