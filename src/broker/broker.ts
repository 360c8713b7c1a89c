import type { Capability } from "./capabilities/capability.ts";
import { within } from "../base/deadline.ts";
import type { CapabilityCall } from "../base/protocol/capability-call.ts";
import { compileSchema } from "../base/schema/schema.ts";
import { CapabilityEvent, type CapabilityOutcome } from "./capability-event.ts";
import { Grants } from "./grants.ts";
import type { Policy } from "./policy.ts";
import type { BrokerSubject } from "./subject.ts";
import { BrokerSession } from "./session.ts";
import type { MethodChecks, SessionHost } from "./session-host.ts";

/** How long capabilities may take to give back what they hold. */
const CLOSE_MS = 5_000;

/** What the broker needs of its engine. */
export interface BrokerOptions {
  readonly capabilities: readonly Capability[];
  readonly policy: Policy;
  /** Takes secrets out of what is said to tools. */
  readonly redact: (text: string) => string;
  readonly onOutcome: (event: CapabilityEvent) => void;
}

/** Grants and carries out what tools ask of the host: all authority goes through here, and everything is journaled. */
export class Broker implements SessionHost {
  readonly redact: (text: string) => string;
  #grants: Grants;
  readonly #checks = new Map<string, MethodChecks>();
  readonly #onOutcome: BrokerOptions["onOutcome"];
  /** What ended calls still give back. */
  readonly #closing = new Set<Promise<void>>();

  /** Throws a `TypeError` where the policy, and a `GloveboxError` where a schema is none. */
  constructor({ capabilities, policy, redact, onOutcome }: BrokerOptions) {
    this.#grants = new Grants(new Map(capabilities.map((capability) => [capability.name, capability])), policy);
    this.redact = redact;
    this.#onOutcome = onOutcome;
  }

  /** What the policy in force gives: another object for each policy, so that calls can keep the one they began with. */
  get grants(): Grants {
    return this.#grants;
  }

  /** What another policy would give. Throws a `TypeError` where it is none. */
  grantsOf(policy: Policy): Grants {
    return new Grants(this.#grants.capabilities, policy);
  }

  /** Puts another policy in force, for the calls that begin from now on. */
  use(grants: Grants): void {
    this.#grants = grants;
  }

  /** `grants`: what was in force when the call began. */
  open(subject: BrokerSubject, grants: Grants = this.#grants): BrokerSession {
    return new BrokerSession(this, subject, grants);
  }

  /** Nothing where the capability has no such method. Throws where its schema is none. */
  checks({ name, methods }: Capability, method: string): MethodChecks | undefined {
    const shape = Object.hasOwn(methods, method) ? methods[method] : undefined;
    if (shape === undefined) return undefined;
    const key = `${name}.${method}`;
    let checks = this.#checks.get(key);
    if (checks === undefined) {
      const { input, output, isRead = false } = shape;
      checks = {
        isRead,
        input: input === undefined ? null : compileSchema(input, "inputSchema"),
        output: output === undefined ? null : compileSchema(output, "outputSchema"),
      };
      this.#checks.set(key, checks);
    }
    return checks;
  }

  note(subject: BrokerSubject, ask: CapabilityCall, outcome: CapabilityOutcome, cost?: Partial<CapabilityEvent>): void {
    const event = new CapabilityEvent(subject, ask, outcome, cost);
    this.#onOutcome(event);
    subject.onOutcome?.(event);
  }

  /** Waits, when the broker closes, for what an ended call gives back. */
  track(closing: void | Promise<void>): void {
    if (closing === undefined) return;
    const done = closing.catch(() => undefined).then(() => void this.#closing.delete(done));
    this.#closing.add(done);
  }

  /** Resolves when ended calls have given everything back, and the capabilities are closed; or when that takes too long. */
  close(): Promise<void> {
    return within(CLOSE_MS, this.#close());
  }

  async #close(): Promise<void> {
    await Promise.all(this.#closing);
    await Promise.allSettled([...this.grants.capabilities.values()].map(async (capability) => capability.close?.()));
  }
}
