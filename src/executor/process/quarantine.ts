/** Number of a tenant's strikes at which its calls are refused. */
const STRIKES_MAX = 3;
/** Age at which a strike is forgotten, in milliseconds. */
const WINDOW_MS = 60_000;
/** Duration of the first refusal, in milliseconds; doubled for each further one. */
const OPEN_MS = 30_000;
const OPEN_MAX_MS = 600_000;
/** Retry delay while a probe call runs, in milliseconds. */
const PROBE_MS = 1_000;
/** Number of clean calls after which a tool leaves quarantine. */
const CLEAN_CALLS = 20;
const TOOLS_MAX = 10_000;
const TENANTS_MAX = 1_000;

/**
 * A circuit breaker for one tenant's calls of a tool. Open: calls are refused. Half open afterwards: one probe may run.
 */
interface Circuit {
  strikes: readonly number[];
  /** 0 while the circuit is closed. */
  openUntilMs: number;
  opened: number;
  isProbing: boolean;
}

interface QuarantinedTool {
  /** Whether the tool's calls run in quarantine. */
  isApart: boolean;
  clean: number;
  readonly circuits: Map<string, Circuit>;
}

/** The pool for a call, or its refusal. */
export type QuarantineAdmission =
  | { readonly kind: "main" }
  | { readonly kind: "apart"; readonly isProbe: boolean }
  | { readonly kind: "refused"; readonly retryAfterMs: number };

/**
 * The result of a strike. `openMs`: milliseconds for which the tenant's calls are now refused; 0 where they are not.
 */
export interface Strike {
  readonly strikes: number;
  readonly openMs: number;
}

const MAIN: QuarantineAdmission = { kind: "main" };

/**
 * Tools that crashed an executor, and the consequences. A tool runs in quarantine for all tenants, because its process
 * may crash again; it is refused only to tenants whose own calls caused the crashes, so that no tenant can deny it to
 * others.
 */
export class Quarantine {
  readonly #entries = new Map<string, QuarantinedTool>();
  readonly #nowMs: () => number;

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** Records that a call of the tool ended an executor. */
  strike(tool: string, tenant: string): Strike {
    const nowMs = this.#nowMs();
    const entry = this.#entries.get(tool) ?? { isApart: true, clean: 0, circuits: new Map<string, Circuit>() };
    const circuit = entry.circuits.get(tenant) ?? { strikes: [], openUntilMs: 0, opened: 0, isProbing: false };
    entry.isApart = true;
    entry.clean = 0;
    circuit.strikes = [...circuit.strikes.filter((at) => at > nowMs - WINDOW_MS), nowMs].slice(-STRIKES_MAX);
    let openMs = 0;
    // Calls that started before the circuit opened change nothing.
    const isOpen = circuit.openUntilMs > nowMs;
    if (!isOpen && (isHalfOpen(circuit, nowMs) || circuit.strikes.length >= STRIKES_MAX)) {
      openMs = Math.min(OPEN_MAX_MS, OPEN_MS * 2 ** circuit.opened++);
      circuit.openUntilMs = nowMs + openMs;
    }
    keep(this.#entries, tool, entry, TOOLS_MAX);
    keep(entry.circuits, tenant, circuit, TENANTS_MAX);
    return { strikes: circuit.strikes.length, openMs };
  }

  /** The pool for a call now. A probe has to be ended with `endProbe`. */
  admit(tool: string, tenant: string): QuarantineAdmission {
    const entry = this.#entries.get(tool);
    if (entry === undefined) return MAIN;
    const retryAfterMs = this.refusedForMs(tool, tenant);
    if (retryAfterMs > 0) return { kind: "refused", retryAfterMs };
    const circuit = entry.circuits.get(tenant);
    const isProbe = circuit !== undefined && isHalfOpen(circuit, this.#nowMs());
    if (isProbe) circuit.isProbing = true;
    return isProbe || entry.isApart ? { kind: "apart", isProbe } : MAIN;
  }

  /** Remaining time for which a tenant's calls of a tool are refused, in milliseconds; 0 where one may run. */
  refusedForMs(tool: string, tenant: string): number {
    const circuit = this.#entries.get(tool)?.circuits.get(tenant);
    if (circuit === undefined) return 0;
    if (circuit.isProbing) return PROBE_MS;
    return Math.max(0, circuit.openUntilMs - this.#nowMs());
  }

  /** Records the end of a probe. A clean one closes the circuit. */
  endProbe(tool: string, tenant: string, isClean: boolean): void {
    const circuits = this.#entries.get(tool)?.circuits;
    const circuit = circuits?.get(tenant);
    if (circuit === undefined) return;
    circuit.isProbing = false;
    if (isClean) circuits?.delete(tenant);
  }

  /** Records a clean call in quarantine; returns whether the tool leaves quarantine with it. */
  clean(tool: string): boolean {
    const entry = this.#entries.get(tool);
    if (entry === undefined || !entry.isApart || ++entry.clean < CLEAN_CALLS) return false;
    entry.isApart = false;
    // A tenant's recent strikes remain, even if others' calls are clean.
    const nowMs = this.#nowMs();
    for (const [tenant, { strikes, openUntilMs }] of entry.circuits) {
      if (openUntilMs === 0 && strikes.every((at) => at <= nowMs - WINDOW_MS)) entry.circuits.delete(tenant);
    }
    if (entry.circuits.size === 0) this.#entries.delete(tool);
    return true;
  }

  /** Tools in quarantine, or refused to a tenant. */
  get tools(): string[] {
    const nowMs = this.#nowMs();
    const isHeld = ({ isApart, circuits }: QuarantinedTool) =>
      isApart || circuits.values().some(({ openUntilMs }) => openUntilMs > nowMs);
    return [...this.#entries].filter(([, entry]) => isHeld(entry)).map(([tool]) => tool);
  }
}

function isHalfOpen({ openUntilMs }: Circuit, nowMs: number): boolean {
  return openUntilMs !== 0 && openUntilMs <= nowMs;
}

/** Moves the entry to the end, and drops the first one over the maximum. */
function keep<Value>(map: Map<string, Value>, key: string, value: Value, most: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= most) return;
  for (const oldest of map.keys()) {
    map.delete(oldest);
    return;
  }
}
