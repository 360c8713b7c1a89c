import { AsyncLocalStorage } from "node:async_hooks";
import { lookup as resolve } from "node:dns/promises";
import { WaitingSlots } from "../waiting-slots.ts";

/** Resolves a host name to all of its addresses. */
export type Lookup = (hostname: string) => Promise<readonly string[]>;

/** Lookups of the system that run at once: libuv gives them half of its threads. */
const AT_ONCE = Math.ceil((Number(process.env["UV_THREADPOOL_SIZE"]) || 4) / 2);
/** Maximum wait of a lookup for its turn: by then, the connection is given up. */
const WAIT_MS = 10_000;
const NEVER = new AbortController().signal;

const asking = new AsyncLocalStorage<string>();

/** Does work whose lookups are those of a tenant. */
export function lookingUpFor<Value>(tenant: string, work: () => Value): Value {
  return asking.run(tenant, work);
}

/** The tenant for which a name is looked up; empty without one. */
export function lookingTenant(): string {
  return asking.getStore() ?? "";
}

/**
 * Lookups in turns of tenants. One of the system's blocks a thread until the name's servers answer, and cannot be
 * cancelled: behind those of a tenant that asks for many slow names, all others would wait for all of these.
 */
export function fairLookup(lookup: Lookup, atOnce = AT_ONCE): Lookup {
  const late = () => Object.assign(new Error("no lookup ended in time"), { code: "EAI_AGAIN" });
  const slots = new WaitingSlots({ max: atOnce, reserved: Math.floor(atOnce / 4), waitMs: WAIT_MS, late });
  return async (hostname) => slots.run(NEVER, lookingTenant(), async () => lookup(hostname));
}

/** By the operating system, for all connections of this thread. */
export const systemLookup: Lookup = fairLookup(async (hostname) =>
  (await resolve(hostname, { all: true, order: "verbatim" })).map(({ address }) => address),
);
