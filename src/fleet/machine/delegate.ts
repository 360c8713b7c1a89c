import { Broker } from "../../broker/broker.ts";
import type { CapabilityEvent } from "../../broker/capability-event.ts";
import type { Decision } from "../../broker/grants.ts";
import { CapabilityInvoker } from "../../broker/capability-invoker.ts";
import type { InvokeOutcome } from "../../broker/subject.ts";
import { onceOf } from "../../broker/session.ts";
import type { Capability, Portable } from "../../broker/capabilities/capability.ts";
import type { FetchOptions } from "../../broker/capabilities/fetch/connections.ts";
import { createFetch } from "../../broker/capabilities/fetch/fetch.ts";
import { createKv } from "../../broker/capabilities/kv/kv.ts";
import type { RedisLinkOptions } from "../../broker/capabilities/kv/redis-link.ts";
import { Secrets } from "../../broker/capabilities/secrets/secrets.ts";
import type { CapabilityCall, Told } from "../../executor/executor.ts";
import type { FleetLimits } from "../wire/messages.ts";
import { describeExcess } from "../../base/json.ts";
import type { Delegation } from "../../base/protocol/delegation.ts";
import type { SharedStores } from "./shared-stores.ts";

/** Of what a machine carries out for its calls, the means. */
export interface DelegateOptions {
  /** Timeouts of requests. */
  readonly fetch?: FetchOptions | undefined;
  /** The Redis in which the servers keep what tools store. Without it servers carry that out. */
  readonly kv?: RedisLinkOptions | undefined;
}

/** The broker of a machine: without a policy and without secrets, for what servers grant their calls. */
export function createDelegateBroker({ fetch, kv }: DelegateOptions): Broker {
  const capabilities: Capability[] = [createFetch(new Secrets({}, {}), fetch)];
  if (kv !== undefined) capabilities.push(createKv(kv));
  // It is known by the time that the first call asks.
  for (const { storeId } of capabilities) storeId?.();
  return new Broker({ capabilities, policy: { rules: [] }, redact: (text) => text, onOutcome: () => undefined });
}

/** For whom a delegate acts. */
export interface DelegateCall {
  readonly tool: string;
  readonly tenant: string;
  readonly callId: string;
  readonly limits: FleetLimits;
  readonly delegation: Delegation;
}

/** What came of something that was carried out, but for when the call heard of it. */
export type Done = Omit<Told, "step" | "attempt" | "heard">;

/** What was not begun. */
export const NOT_DONE: Done = { answer: null, outcome: "failed", durationMs: 0 };

/** Carries out what one call asks, where its server leaves that to machines. What it refuses, its server is to answer. */
export class Delegate implements Disposable {
  readonly #broker: Broker;
  readonly #stores: SharedStores;
  readonly #delegation: Delegation;
  readonly #performer: CapabilityInvoker;
  /** What requests have begun here; and capabilities that go on at the server, which counts what is left of them. */
  readonly #begun = new Set<string>();
  readonly #left = new Set<string>();
  readonly #events = new Map<number, CapabilityEvent>();

  constructor({ delegation, ...call }: DelegateCall, broker: Broker, stores: SharedStores) {
    this.#broker = broker;
    this.#stores = stores;
    this.#delegation = delegation;
    const subject = {
      ...call,
      tags: [],
      requested: {},
      narrowed: undefined,
      callTool: () => Promise.reject(new TypeError("machines call no tools")),
      onOutcome: (event: CapabilityEvent) => void this.#events.set(event.step, event),
    };
    this.#performer = new CapabilityInvoker(broker, subject, { decide: (_, name) => this.#decide(name) });
  }

  /** Counts what a call asks, and says how it is carried out here; `null` where it is the server's. */
  take(ask: CapabilityCall): Portable | null {
    const portable = this.#performer.isBeyond(ask) ? null : this.#find(ask);
    if (portable === null) this.#performer.noteLength(ask.args.length);
    return portable;
  }

  /** The server has answered something. */
  noteAnswer(json: string): void {
    this.#performer.noteLength(json.length);
  }

  /** What the call has used here of what a capability bounds. */
  used(capability: string): readonly number[] | undefined {
    return this.#performer.used(capability);
  }

  /** Carries out what was taken. Never rejects. */
  async carryOut(ask: CapabilityCall, portable: Portable): Promise<Done> {
    const { capability, step } = ask;
    // What waited until its server has heard of it may find another store than it was taken for.
    if (!this.#isKeptHere(capability)) return NOT_DONE;
    const askedMs = performance.now();
    const shared = portable.kind === "write" ? { once: onceOf(this.#delegation, step) } : { isRepeatable: true };
    const said = await this.#performer.perform(ask, shared);
    const event = this.#events.get(step);
    this.#events.delete(step);
    const outcome = event?.outcome ?? "failed";
    if (outcome === "replayed" || outcome === "diverged") throw new RangeError("a performer keeps no journal");
    const isRefused = outcome === "denied" || outcome === "limit";
    const durationMs = performance.now() - askedMs;
    const used = this.used(capability);
    const done = { outcome, durationMs, ...(used === undefined ? {} : { used }) };
    if (portable.kind === "opening") {
      if (isRefused) this.#leave(capability);
      else this.#begun.add(`${capability} ${portable.of}`);
    }
    if (isRefused && portable.kind !== "sequel") return { ...done, answer: null };
    const nowMs = ask.nowMs + Math.round(durationMs);
    return { ...done, answer: { ...said, nowMs }, ...this.#refused(said) };
  }

  [Symbol.dispose](): void {
    this.#performer[Symbol.dispose]();
  }

  #find({ capability, method, args }: CapabilityCall): Portable | null {
    const decision = this.#decide(capability);
    if (!decision.isGranted || describeExcess(args) !== null || !this.#isKeptHere(capability)) return null;
    const portable = decision.capability.portable?.(method, JSON.parse(args)) ?? null;
    if (portable?.kind === "sequel") return this.#begun.has(`${capability} ${portable.of}`) ? portable : null;
    if (portable === null) this.#leave(capability);
    return portable?.kind === "opening" && this.#left.has(capability) ? null : portable;
  }

  /** What is counted is counted in one place at a time: where a request leads that is under way here, the server is to follow. */
  #leave(capability: string): void {
    this.#left.add(capability);
    this.#performer.handOver(capability);
  }

  /** Whether what is kept for the call is kept in the server's store, where there is one. */
  #isKeptHere(name: string): boolean {
    const capability = this.#broker.grants.capabilities.get(name);
    if (capability === undefined || (name !== "fetch" && name !== "kv")) return false;
    return this.#stores.has(capability, this.#delegation.stores[name]);
  }

  #decide(name: string): Decision {
    const values = name === "fetch" || name === "kv" ? this.#delegation.grants[name] : undefined;
    const capability = this.#broker.grants.capabilities.get(name);
    if (values !== undefined && capability !== undefined) {
      return { isGranted: true, capability, granted: values.map((value) => ({ rule: 0, value, onMachines: true })) };
    }
    const refused = { asked: name, granted: "nothing", remedy: "ask the server" };
    return { isGranted: false, message: "it is not for machines to carry out", refused };
  }

  #refused(said: InvokeOutcome): Pick<Done, "refused"> {
    const last = this.#performer.lastRefusal;
    if (said.kind === "value" || last?.message !== said.failure.message) return {};
    const { asked, granted, remedy } = last;
    return { refused: { asked, granted, remedy } };
  }
}
