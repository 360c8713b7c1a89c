import { Counter, type Registry } from "../../base/prometheus.ts";
import type { TenantAccounts } from "../../base/tenant-account.ts";
import type { Events } from "./events.ts";

/** Maximum number of tenants with a series of their own. */
const TENANTS_SHOWN = 20;
const TENANT_LENGTH_MAX = 128;
const OTHER = "other";

/** Registers the metrics of the host's work for tenants, which are read at each scrape, and of its clock. */
export function registerHostMetrics(registry: Registry, accounts: TenantAccounts, events: Events): void {
  const registers = [registry];
  const jumps = new Counter({
    name: "glovebox_clock_jumps_total",
    help: "Jumps of the system's clock by a second or more, where a service watches it.",
    labelNames: ["direction"],
    registers,
  });
  for (const direction of ["ahead", "back"]) jumps.inc({ direction }, 0);
  events.on("clock:jump", ({ aheadMs }) => jumps.inc({ direction: aheadMs > 0 ? "ahead" : "back" }));
  const shown = { executorMs: 0, mainMs: 0, brokerMs: 0 };
  new Counter({
    name: "glovebox_host_seconds_total",
    help: "Time on behalf of calls by thread, in seconds: executor (tool code), main and broker (capability calls).",
    labelNames: ["thread"],
    registers,
    collect() {
      const { executorMs, mainMs, brokerMs } = accounts.total;
      this.inc({ thread: "executor" }, (executorMs - shown.executorMs) / 1e3);
      this.inc({ thread: "main" }, (mainMs - shown.mainMs) / 1e3);
      this.inc({ thread: "broker" }, (brokerMs - shown.brokerMs) / 1e3);
      Object.assign(shown, { executorMs, mainMs, brokerMs });
    },
  });
  let waits = 0;
  new Counter({
    name: "glovebox_kv_waits_total",
    help: "Requests of tools to kv that have waited for Redis to be back.",
    registers,
    collect() {
      const { storeWaits } = accounts.total;
      this.inc(storeWaits - waits);
      waits = storeWaits;
    },
  });
  const tenants = new BusiestTenants(accounts);
  new Counter({
    name: "glovebox_tenant_host_seconds_total",
    help: "Time of the host's threads for capability calls, in seconds, of the 20 busiest tenants; other for the rest.",
    labelNames: ["tenant"],
    registers,
    collect() {
      const { spentMs, otherMs, left } = tenants.read();
      for (const tenant of left) this.remove({ tenant });
      for (const [tenant, ms] of spentMs) this.inc({ tenant }, ms / 1e3);
      this.inc({ tenant: OTHER }, otherMs / 1e3);
    },
  });
}

/**
 * Time that tenants used since the last scrape. A tenant that is no longer among the busiest loses its series, so that
 * their number is bounded; if it returns, its series begins again.
 */
class BusiestTenants {
  readonly #accounts: TenantAccounts;
  #totalMs = 0;
  /** Time of each account at the last scrape. */
  #seenMs: ReadonlyMap<string, number> = new Map();
  #shown: ReadonlySet<string> = new Set();

  constructor(accounts: TenantAccounts) {
    this.#accounts = accounts;
  }

  read(): {
    readonly spentMs: ReadonlyMap<string, number>;
    readonly otherMs: number;
    readonly left: readonly string[];
  } {
    const active = [...this.#accounts.all()].filter(({ hostMs }) => hostMs > 0);
    const busiest = active.toSorted((one, other) => other.hostMs - one.hostMs).slice(0, TENANTS_SHOWN);
    const spentMs = new Map<string, number>();
    for (const { tenant, hostMs } of busiest) {
      const label = tenant.slice(0, TENANT_LENGTH_MAX);
      const ms = Math.max(0, hostMs - (this.#seenMs.get(tenant) ?? 0));
      if (label !== OTHER) spentMs.set(label, (spentMs.get(label) ?? 0) + ms);
    }
    const totalMs = this.#accounts.total.hostMs;
    let shownMs = 0;
    for (const ms of spentMs.values()) shownMs += ms;
    const otherMs = Math.max(0, totalMs - this.#totalMs - shownMs);
    const left = [...this.#shown].filter((label) => !spentMs.has(label));
    this.#totalMs = totalMs;
    this.#seenMs = new Map(active.map(({ tenant, hostMs }) => [tenant, hostMs]));
    this.#shown = new Set(spentMs.keys());
    return { spentMs, otherMs, left };
  }
}
