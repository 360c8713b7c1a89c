import type { CapabilityCall, CapabilityRequest } from "../capabilities/capability.ts";
import type { CapabilityMethod, CustomCapability } from "../capabilities/custom.ts";
import type { ErrorCode } from "../errors.ts";
import type { Answer, Ask } from "../executor/executor.ts";
import { describeExcess } from "../json.ts";
import type { Limits } from "../limits.ts";
import { compileSchema, type Validator } from "../tool/schema.ts";
import { describeViolations } from "../tool/violation.ts";
import { Journal } from "./journal.ts";
import { allows, isGiven, type Policy } from "./policy.ts";
import { Replay } from "./replay.ts";

interface CompiledMethod {
  readonly handler: CapabilityMethod["handler"];
  readonly input: Validator | null;
  readonly output: Validator | null;
}

/** What happened to a capability call, for events and metrics. */
export interface CapabilityOutcome {
  readonly capability: string;
  readonly method: string;
  readonly callId: string;
  readonly tool: string;
  readonly outcome: "ok" | "denied" | "failed" | "limit" | "replayed" | "diverged";
}

/** The call on whose behalf the broker acts. */
export interface BrokerSubject {
  readonly callId: string;
  readonly tool: string;
  readonly tags: readonly string[];
  readonly tenant: string;
  /** What the tool asks for. */
  readonly requested: CapabilityRequest;
  /** What the call is narrowed to, where it is. */
  readonly narrowed: CapabilityRequest | undefined;
  readonly limits: Pick<Limits, "capabilityCalls" | "capabilityBytes">;
}

const MESSAGE_MAX = 1_000;
/** One for all: to make one takes longer than most handlers do. */
const ENDED = new DOMException("the call has ended", "AbortError");

/** Grants and carries out what tools ask of the host: all authority goes through here, and everything is journaled. */
export class Broker {
  readonly #methods = new Map<string, ReadonlyMap<string, CompiledMethod>>();
  readonly #policy: Policy;
  readonly #onOutcome: (outcome: CapabilityOutcome) => void;

  constructor(
    capabilities: readonly CustomCapability[],
    policy: Policy,
    onOutcome: (outcome: CapabilityOutcome) => void,
  ) {
    this.#policy = policy;
    this.#onOutcome = onOutcome;
    for (const capability of capabilities) {
      const methods = new Map<string, CompiledMethod>();
      for (const [name, { handler, input, output }] of Object.entries(capability.methods)) {
        methods.set(name, {
          handler,
          input: input === undefined ? null : compileSchema(input, "inputSchema"),
          output: output === undefined ? null : compileSchema(output, "outputSchema"),
        });
      }
      this.#methods.set(capability.name, methods);
    }
  }

  open(subject: BrokerSubject): BrokerSession {
    return new BrokerSession(this, subject);
  }

  /** Granted = requested ∩ policy ∩ narrowed. Answers why not, or nothing. */
  refusal({ tool, tags, tenant, requested, narrowed }: BrokerSubject, capability: string): string | null {
    const name = capability.slice(0, 64);
    if (!isGiven(requested, capability)) return `tool "${tool}" does not ask for the capability "${name}"`;
    if (!allows(this.#policy, { tool, tags, tenant }, capability)) {
      return `no policy rule allows the capability "${name}" to tool "${tool}"`;
    }
    if (narrowed !== undefined && !isGiven(narrowed, capability)) return `this call was not given "${name}"`;
    return this.#methods.has(capability) ? null : `there is no capability "${name}" in this engine`;
  }

  method(capability: string, method: string): CompiledMethod | undefined {
    return this.#methods.get(capability)?.get(method);
  }

  note(subject: BrokerSubject, ask: Ask, outcome: CapabilityOutcome["outcome"]): void {
    const { callId, tool } = subject;
    this.#onOutcome({ capability: ask.capability, method: ask.method, callId, tool, outcome });
  }
}

/** An answer before its time is known. */
type Said = Omit<Extract<Answer, { kind: "value" }>, "nowMs"> | Omit<Extract<Answer, { kind: "failure" }>, "nowMs">;

/** The broker's side of one call: its journal, and what it has used of its limits. */
export class BrokerSession implements Disposable {
  readonly journal = new Journal();
  readonly #broker: Broker;
  readonly #subject: BrokerSubject;
  /** Made only where a handler asks for its signal. */
  #abort: AbortController | null = null;
  #isEnded = false;
  #length = 0;
  #effects = 0;
  #replay: Replay;

  constructor(broker: Broker, subject: BrokerSubject) {
    this.#broker = broker;
    this.#subject = subject;
    this.#replay = new Replay(1, this.journal);
  }

  /** How many handlers were called: what they did cannot be undone. */
  get effects(): number {
    return this.#effects;
  }

  /** Whether the call's last start ended without having asked all that an earlier one had. */
  isBehind(attempt: number): boolean {
    const { attempt: last, asked } = this.#replay;
    return last === attempt ? asked < this.journal.size : this.journal.size > 0;
  }

  /** Answers an ask: from the journal where the call has asked it before, else from the world. Never rejects. */
  ask(ask: Ask): Promise<Answer> {
    if (ask.attempt !== this.#replay.attempt) this.#replay = new Replay(ask.attempt, this.journal);
    const known = this.journal.find(ask.step);
    if (known !== undefined) {
      if (known.capability !== ask.capability || known.method !== ask.method || known.args !== ask.args) {
        return Promise.resolve(this.#diverge(ask));
      }
      this.#broker.note(this.#subject, ask, "replayed");
      return this.#replay.give(known);
    }
    // The guest counts its steps, so only what is no guest of ours leaves one out.
    if (ask.step !== this.journal.size + 1) return Promise.resolve(this.#diverge(ask));
    // Whatever goes wrong on the way, a policy that is no policy for example, the tool gets an answer.
    const failed = () => this.#fail(ask, "failed", "capability_failed", "the broker could not decide");
    const askedMs = performance.now();
    const answer = this.#perform(ask)
      .catch(failed)
      .then((said): Answer => {
        this.journal.noteAnswer(ask.step);
        return { ...said, nowMs: ask.nowMs + Math.round(performance.now() - askedMs) };
      });
    const entry = { ...ask, answer };
    this.journal.append(entry);
    return this.#replay.give(entry);
  }

  #diverge(ask: Ask): Answer {
    this.#broker.note(this.#subject, ask, "diverged");
    const message =
      "the call was run again after its executor was lost and asked for something else than before at step " + ask.step;
    return { kind: "diverged", message };
  }

  /** Tells handlers that nobody waits for them any more. */
  [Symbol.dispose](): void {
    this.#isEnded = true;
    this.#abort?.abort(ENDED);
  }

  #signal(): AbortSignal {
    this.#abort ??= new AbortController();
    if (this.#isEnded) this.#abort.abort(ENDED);
    return this.#abort.signal;
  }

  async #perform(ask: Ask): Promise<Said> {
    const { capabilityCalls, capabilityBytes } = this.#subject.limits;
    const refusal = this.#broker.refusal(this.#subject, ask.capability);
    if (refusal !== null) return this.#fail(ask, "denied", "capability_denied", refusal);
    this.#length += ask.args.length;
    if (ask.step > capabilityCalls) {
      return this.#fail(ask, "limit", "capability_limit", `a call may ask the host ${capabilityCalls} times`);
    }
    if (this.#length > capabilityBytes) return this.#fail(ask, "limit", "capability_limit", tooMuch(capabilityBytes));
    const method = this.#broker.method(ask.capability, ask.method);
    const label = `${ask.capability}.${ask.method}`.slice(0, 130);
    if (method === undefined) return this.#fail(ask, "failed", "capability_failed", `there is no ${label}`);
    try {
      return await this.#invoke(ask, method, label);
    } catch (error) {
      return this.#fail(ask, "failed", "capability_failed", `${label} failed: ${messageOf(error)}`);
    }
  }

  async #invoke(ask: Ask, method: CompiledMethod, label: string): Promise<Said> {
    const excess = describeExcess(ask.args);
    if (excess !== null) {
      return this.#fail(ask, "failed", "capability_failed", `${label} was called with arguments ${excess}`);
    }
    const args: unknown = JSON.parse(ask.args);
    const wrong = method.input?.check(args) ?? [];
    if (wrong.length > 0) {
      const message = `${label} was called with wrong arguments: ${describeViolations(wrong)}`;
      return this.#fail(ask, "failed", "capability_failed", message);
    }
    const { callId, tool, tenant } = this.#subject;
    const signal = () => this.#signal();
    const call: CapabilityCall = {
      callId,
      tool,
      get signal() {
        return signal();
      },
      ...(tenant === "" ? {} : { tenant }),
    };
    this.#effects++;
    const value = await method.handler(args, call);
    const json = value === undefined ? "null" : JSON.stringify(value);
    if (typeof json !== "string") return this.#fail(ask, "failed", "capability_failed", `${label} gave no JSON value`);
    const answer: unknown = method.output === null ? undefined : JSON.parse(json);
    const odd = method.output?.check(answer) ?? [];
    if (odd.length > 0) {
      return this.#fail(ask, "failed", "capability_failed", `${label} gave a value that its schema does not allow`);
    }
    this.#length += json.length;
    const { capabilityBytes } = this.#subject.limits;
    if (this.#length > capabilityBytes) return this.#fail(ask, "limit", "capability_limit", tooMuch(capabilityBytes));
    this.#broker.note(this.#subject, ask, "ok");
    return { kind: "value", json };
  }

  #fail(ask: Ask, outcome: CapabilityOutcome["outcome"], code: ErrorCode, message: string): Said {
    this.#broker.note(this.#subject, ask, outcome);
    return { kind: "failure", failure: { code, message: message.slice(0, MESSAGE_MAX) } };
  }
}

function tooMuch(capabilityBytes: number): string {
  return `a call may exchange ${capabilityBytes} bytes with the host`;
}

/** What a handler's error says to the tool: its message, without the host's paths. What is thrown may be anything. */
function messageOf(error: unknown): string {
  try {
    const message: unknown = error instanceof Error ? error.message : error;
    if (typeof message !== "string") return "its handler threw no message";
    return message.slice(0, MESSAGE_MAX).replaceAll(/(?:\/[\w.@-]+){2,}/g, "(path)");
  } catch {
    return "its handler threw what cannot be read";
  }
}
