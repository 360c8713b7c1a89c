/** Strikes of a tenant's calls until its calls are refused. */
const STRIKES_MAX = 3;
/** Strikes older than this are forgotten, in milliseconds. */
const WINDOW_MS = 60_000;
/** How long calls are refused the first time, in milliseconds; each further time twice as long. */
const OPEN_MS = 30_000;
const OPEN_MAX_MS = 600_000;
/** How soon to come back while another call shows whether the tool has mended its ways. */
const PROBE_MS = 1_000;
/** Clean calls after which a tool runs among the others again. */
const CLEAN_CALLS = 20;
const TOOLS_MAX = 10_000;
const TENANTS_MAX = 1_000;

/** What one tenant's calls of a tool have done. Open while they are refused, then half open: one call may try. */
interface Circuit {
  strikes: readonly number[];
  /** 0 while it is closed. */
  openUntilMs: number;
  opened: number;
  isProbing: boolean;
}

interface QuarantinedTool {
  /** Whether the tool's calls run apart from the others'. */
  isApart: boolean;
  clean: number;
  readonly circuits: Map<string, Circuit>;
}

/** Where a call may run. */
export type QuarantineAdmission =
  | { readonly kind: "main" }
  | { readonly kind: "apart"; readonly isProbe: boolean }
  | { readonly kind: "refused"; readonly retryAfterMs: number };

/** What a strike led to: `openMs` is how long the tenant's calls are refused now, 0 where they are not. */
export interface Strike {
  readonly strikes: number;
  readonly openMs: number;
}

const MAIN: QuarantineAdmission = { kind: "main" };

/**
 * Which tools have cost an executor its life, and what follows from it. A tool runs apart for all, as its process may
 * die again; it is refused only to those tenants whose own calls did it, so that nobody can take it from the others.
 */
export class Quarantine {
  readonly #entries = new Map<string, QuarantinedTool>();
  readonly #nowMs: () => number;

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** Notes that a call of the tool ended an executor. */
  strike(tool: string, tenant: string): Strike {
    const nowMs = this.#nowMs();
    const entry = this.#entries.get(tool) ?? { isApart: true, clean: 0, circuits: new Map<string, Circuit>() };
    const circuit = entry.circuits.get(tenant) ?? { strikes: [], openUntilMs: 0, opened: 0, isProbing: false };
    entry.isApart = true;
    entry.clean = 0;
    circuit.strikes = [...circuit.strikes.filter((at) => at > nowMs - WINDOW_MS), nowMs].slice(-STRIKES_MAX);
    let openMs = 0;
    // Calls that had started before it opened change nothing.
    const isOpen = circuit.openUntilMs > nowMs;
    if (!isOpen && (isHalfOpen(circuit, nowMs) || circuit.strikes.length >= STRIKES_MAX)) {
      openMs = Math.min(OPEN_MAX_MS, OPEN_MS * 2 ** circuit.opened++);
      circuit.openUntilMs = nowMs + openMs;
    }
    keep(this.#entries, tool, entry, TOOLS_MAX);
    keep(entry.circuits, tenant, circuit, TENANTS_MAX);
    return { strikes: circuit.strikes.length, openMs };
  }

  /** Where a call may run now. A probe has to be ended with `endProbe`. */
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

  /** For how many milliseconds a tenant's calls of a tool are refused; 0 where one may run. */
  refusedForMs(tool: string, tenant: string): number {
    const circuit = this.#entries.get(tool)?.circuits.get(tenant);
    if (circuit === undefined) return 0;
    if (circuit.isProbing) return PROBE_MS;
    return Math.max(0, circuit.openUntilMs - this.#nowMs());
  }

  /** Notes how a probe ended. One that did no harm closes the circuit. */
  endProbe(tool: string, tenant: string, isClean: boolean): void {
    const circuits = this.#entries.get(tool)?.circuits;
    const circuit = circuits?.get(tenant);
    if (circuit === undefined) return;
    circuit.isProbing = false;
    if (isClean) circuits?.delete(tenant);
  }

  /** Notes a call that ran apart and did no harm; says whether the tool runs among the others again from now on. */
  clean(tool: string): boolean {
    const entry = this.#entries.get(tool);
    if (entry === undefined || !entry.isApart || ++entry.clean < CLEAN_CALLS) return false;
    entry.isApart = false;
    // What a tenant did shortly before is not forgotten because others' calls are clean.
    const nowMs = this.#nowMs();
    for (const [tenant, { strikes, openUntilMs }] of entry.circuits) {
      if (openUntilMs === 0 && strikes.every((at) => at <= nowMs - WINDOW_MS)) entry.circuits.delete(tenant);
    }
    if (entry.circuits.size === 0) this.#entries.delete(tool);
    return true;
  }

  /** Tools that run apart or are refused to somebody. */
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

/** Puts the entry last, and drops the first where there are too many. */
function keep<Value>(map: Map<string, Value>, key: string, value: Value, most: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= most) return;
  for (const oldest of map.keys()) {
    map.delete(oldest);
    return;
  }
}
