import { within } from "../base/deadline.ts";
import { HostWorkQueue } from "../base/host-work-queue.ts";
import type { CapabilityCall } from "../base/protocol/capability-call.ts";
import { TenantAccounts } from "../base/tenant-account.ts";
import { CapabilityEvent, type CapabilityOutcome } from "./capability-event.ts";
import { Grants } from "./grants.ts";
import type { Policy } from "./policy.ts";
import { BrokerSession } from "./call-session.ts";
import type { BrokeredCall } from "./brokered-call.ts";
import type { InvokerHost } from "./capability-invoker.ts";
import { MethodCaller } from "./method-call.ts";
import type { BrokerThread } from "./thread/broker-thread.ts";
import type { ConnectorRoute } from "./capabilities/connector/route.ts";
import type { PlacedCapability } from "./thread/remote-capability.ts";

/** Maximum time for capabilities to release their resources when the broker closes. */
const CLOSE_MS = 5_000;

export interface BrokerOptions {
  readonly capabilities: readonly PlacedCapability[];
  readonly policy: Policy;
  readonly onOutcome: (event: CapabilityEvent) => void;
  /** Order of the work for capability calls. Default: a queue of its own. */
  readonly work?: HostWorkQueue;
  /** The thread of remote capabilities, if there is one. */
  readonly thread?: Pick<BrokerThread, "backlogMs" | "route">;
  /** Accounts to which it is charged. Default: accounts of its own. */
  readonly accounts?: TenantAccounts;
}

/** Grants and carries out capability calls. All authority of tools goes through it, and it journals every call. */
export class Broker implements InvokerHost {
  readonly work: HostWorkQueue;
  readonly accounts: TenantAccounts;
  readonly methods: MethodCaller;
  #grants: Grants;
  #isStarted = false;
  readonly #onOutcome: BrokerOptions["onOutcome"];
  readonly #thread: BrokerOptions["thread"];
  /** Releases of ended calls that are still in progress. */
  readonly #closing = new Set<Promise<void>>();

  /** Throws a `TypeError` where the policy is invalid, and a `GloveboxError` where a schema is. */
  constructor({ capabilities, policy, onOutcome, work, thread, accounts }: BrokerOptions) {
    this.work = work ?? new HostWorkQueue();
    this.methods = new MethodCaller(this.work);
    this.accounts = accounts ?? new TenantAccounts();
    this.#grants = new Grants(new Map(capabilities.map((capability) => [capability.name, capability])), policy);
    this.#onOutcome = onOutcome;
    this.#thread = thread;
  }

  /**
   * Grants of the policy in force. Each policy has an object of its own, so that a call keeps the policy it began with.
   */
  get grants(): Grants {
    return this.#grants;
  }

  /** Makes the grants of another policy. Throws a `TypeError` where it is invalid. */
  grantsOf(policy: Policy): Grants {
    return new Grants(this.#grants.capabilities, policy);
  }

  /** Puts another policy in force for calls that begin from now on. */
  use(grants: Grants): void {
    this.#grants = grants;
    if (this.#isStarted) this.start();
  }

  /** Starts the threads of capabilities that the policy allows, so that no call waits for them. */
  start(): void {
    this.#isStarted = true;
    for (const capability of this.#grants.capabilities.values()) {
      if (capability.kind === "remote" && this.#grants.allows(capability.name)) capability.start();
    }
  }

  /** Estimated time until a further capability call of the tenant would be carried out, in milliseconds. */
  backlogMs(tenant: string): number {
    return Math.max(this.work.backlogMs(tenant), this.#thread?.backlogMs(tenant) ?? 0);
  }

  /** Connectors from now on, for calls that begin from now on. */
  route(routes: readonly ConnectorRoute[]): void {
    this.#thread?.route(routes);
  }

  /** Opens the session of a call. `grants`: those in force when the call began. */
  open(caller: BrokeredCall, grants: Grants = this.#grants): BrokerSession {
    return new BrokerSession(this, caller, grants);
  }

  record(
    caller: BrokeredCall,
    call: CapabilityCall,
    outcome: CapabilityOutcome,
    details?: Partial<CapabilityEvent>,
  ): void {
    const event = new CapabilityEvent(caller, call, outcome, details);
    this.#onOutcome(event);
    caller.onOutcome?.(event);
  }

  track(closing: void | Promise<void>): void {
    if (closing === undefined) return;
    const done = closing.catch(() => undefined).then(() => void this.#closing.delete(done));
    this.#closing.add(done);
  }

  /**
   * Resolves when all ended calls have released their resources and the capabilities are closed, or after `CLOSE_MS`.
   */
  close(): Promise<void> {
    return within(CLOSE_MS, this.#close());
  }

  async #close(): Promise<void> {
    await Promise.all(this.#closing);
    await Promise.allSettled([...this.grants.capabilities.values()].map(async (capability) => capability.close?.()));
  }
}
