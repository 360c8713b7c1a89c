import { within } from "../base/deadline.ts";
import { HostWorkQueue } from "../base/host-work-queue.ts";
import { type CapabilityCall, isContinuation } from "../base/protocol/capability-call.ts";
import { TenantAccounts } from "../base/tenant-account.ts";
import {
  type CapabilityDetails,
  type CapabilityEvent,
  capabilityEvent,
  type CapabilityOutcome,
} from "./capability-event.ts";
import { Grants } from "./grants.ts";
import type { Policy } from "./policy.ts";
import { BrokerSession } from "./call-session.ts";
import type { BrokeredCall } from "./brokered-call.ts";
import type { InvokerHost } from "./capability-invoker.ts";
import { MethodCaller } from "./method-call.ts";
import type { PlacedCapability } from "./thread/host-capability.ts";

const NOTHING: Policy = { rules: [] };
/** Maximum time for capabilities to release their resources when the broker closes. */
const CLOSE_MS = 5_000;

export interface BrokerOptions {
  readonly capabilities: readonly PlacedCapability[];
  /** Default: one that allows nothing. */
  readonly policy?: Policy;
  readonly onOutcome: (event: CapabilityEvent, caller: BrokeredCall, details: CapabilityDetails) => void;
  /** Order of the work for capability calls. Default: a queue of its own. */
  readonly work?: HostWorkQueue;
  /** Accounts to which it is charged. Default: accounts of its own. */
  readonly accounts?: TenantAccounts;
}

/**
 * Grants and carries out capability calls, on a thread of its own. All authority of tools goes through it, and it
 * journals every call.
 */
export class Broker implements InvokerHost {
  readonly work: HostWorkQueue;
  readonly accounts: TenantAccounts;
  readonly methods: MethodCaller;
  readonly grants: Grants;
  readonly #onOutcome: BrokerOptions["onOutcome"];
  /** Releases of ended calls that are still in progress. */
  readonly #closing = new Set<Promise<void>>();

  /** Throws a `TypeError` if the policy is invalid, and a `GloveboxError` if a schema is. */
  constructor({ capabilities, policy = NOTHING, onOutcome, work, accounts }: BrokerOptions) {
    this.work = work ?? new HostWorkQueue();
    this.methods = new MethodCaller(this.work);
    this.accounts = accounts ?? new TenantAccounts();
    this.grants = new Grants(new Map(capabilities.map((capability) => [capability.name, capability])), policy);
    this.#onOutcome = onOutcome;
  }

  /** Makes the grants of another policy. Throws a `TypeError` if it is invalid. */
  grantsOf(policy: Policy): Grants {
    return new Grants(this.grants.capabilities, policy);
  }

  /** Opens the session of a call. `grants`: those in force when the call began. */
  open(caller: BrokeredCall, grants: Grants = this.grants): BrokerSession {
    return new BrokerSession(this, caller, grants);
  }

  record(caller: BrokeredCall, call: CapabilityCall, outcome: CapabilityOutcome, given: CapabilityDetails = {}): void {
    const details = { ...given, isContinuation: isContinuation(call.capability, call.method) };
    caller.log?.add(call, outcome, details);
    this.#onOutcome(capabilityEvent(caller, call, outcome, details), caller, details);
  }

  /** Makes `released` wait until an ended call has released its resources. */
  readonly track = (closing: void | Promise<void>): void => {
    if (closing === undefined) return;
    const done = closing.catch(() => undefined).then(() => void this.#closing.delete(done));
    this.#closing.add(done);
  };

  /**
   * Resolves when all ended calls have released their resources and the capabilities are closed, or after `CLOSE_MS`.
   */
  close(): Promise<void> {
    return within(CLOSE_MS, this.#close());
  }

  /** Resolves when all ended calls have released their resources. */
  async released(): Promise<void> {
    await Promise.all(this.#closing);
  }

  async #close(): Promise<void> {
    await this.released();
    await Promise.allSettled([...this.grants.capabilities.values()].map(async (capability) => capability.close?.()));
  }
}
