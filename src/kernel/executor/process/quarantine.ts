import type { ToolVersion } from "../../base/protocol/script.ts";

/** Number of a tenant's strikes at which its calls are refused. */
const STRIKES_MAX = 3;
/** Age at which a strike is forgotten, in milliseconds. */
const WINDOW_MS = 60_000;
/** Duration of the first refusal, in milliseconds; doubled for each further one. */
const OPEN_MS = 30_000;
const OPEN_MAX_MS = 600_000;
/** Retry delay while a probe call runs, in milliseconds. */
const PROBE_MS = 1_000;
/** Number of clean calls after which a tool leaves quarantine, or a tenant's calls of it do after its strike. */
const CLEAN_CALLS = 20;
/** The same for a tenant without a strike. */
const CLEAN_CALLS_OF_OTHERS = 1;
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
  readonly name: string;
  /** Whether calls of unknown tenants run in quarantine. */
  isApart: boolean;
  clean: number;
  /** Clean calls of each tenant since its last strike. */
  readonly cleanOf: Map<string, number>;
  readonly circuits: Map<string, Circuit>;
}

/** The pool for a call, or its refusal. */
export type QuarantineAdmission =
  | { readonly kind: "main" }
  /** `isOwn`: whether calls of the tenant itself crashed. */
  | { readonly kind: "apart"; readonly isProbe: boolean; readonly isOwn: boolean }
  | { readonly kind: "refused"; readonly retryAfterMs: number };

/** The result of a strike. `openMs`: milliseconds for which the tenant's calls are now refused; 0 if they are not. */
export interface Strike {
  readonly strikes: number;
  readonly openMs: number;
}

/** Calls that leave quarantine after a clean one: all of the tool, or those of the tenant. */
export type Clearance = "tool" | "tenant" | "none";

const MAIN: QuarantineAdmission = { kind: "main" };

/**
 * Tools that crashed an executor, and the consequences. A tool runs in quarantine for all tenants, because its process
 * may crash again, until enough of its calls or of a tenant's were clean. Further crashes of a tenant change nothing for
 * others, and the tool is refused only to tenants whose own calls caused them, so that no tenant can deny it to others.
 */
export class Quarantine {
  readonly #entries = new Map<string, QuarantinedTool>();
  readonly #nowMs: () => number;

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** Records that a call of the tool ended an executor. */
  strike(tool: ToolVersion, tenant: string): Strike {
    const nowMs = this.#nowMs();
    const key = keyOf(tool);
    const { name } = tool;
    const entry = this.#entries.get(key) ?? emptyEntry(name);
    const known = entry.circuits.get(tenant);
    const circuit = known ?? { strikes: [], openUntilMs: 0, opened: 0, isProbing: false };
    // The calls of a known culprit were apart from all others.
    if (known === undefined || isProved(entry, tenant)) entry.isApart = true;
    entry.clean = 0;
    entry.cleanOf.delete(tenant);
    circuit.strikes = [...circuit.strikes.filter((at) => at > nowMs - WINDOW_MS), nowMs].slice(-STRIKES_MAX);
    let openMs = 0;
    // Calls that started before the circuit opened change nothing.
    const isOpen = circuit.openUntilMs > nowMs;
    if (!isOpen && (isHalfOpen(circuit, nowMs) || circuit.strikes.length >= STRIKES_MAX)) {
      openMs = Math.min(OPEN_MAX_MS, OPEN_MS * 2 ** circuit.opened++);
      circuit.openUntilMs = nowMs + openMs;
    }
    keep(this.#entries, key, entry, TOOLS_MAX);
    keep(entry.circuits, tenant, circuit, TENANTS_MAX);
    return { strikes: circuit.strikes.length, openMs };
  }

  /** The pool for a call now. A probe has to be ended with `endProbe`. */
  admit(tool: ToolVersion, tenant: string): QuarantineAdmission {
    if (this.#entries.size === 0) return MAIN;
    const entry = this.#entries.get(keyOf(tool));
    if (entry === undefined) return MAIN;
    const retryAfterMs = this.refusedForMs(tool, tenant);
    if (retryAfterMs > 0) return { kind: "refused", retryAfterMs };
    const circuit = entry.circuits.get(tenant);
    const isProbe = circuit !== undefined && isHalfOpen(circuit, this.#nowMs());
    if (isProbe) circuit.isProbing = true;
    if (isProbe) return { kind: "apart", isProbe, isOwn: true };
    if (isProved(entry, tenant)) return MAIN;
    if (circuit !== undefined && !this.#isForgotten(circuit)) return { kind: "apart", isProbe, isOwn: true };
    return entry.isApart ? { kind: "apart", isProbe, isOwn: false } : MAIN;
  }

  /** Whether the tool has a strike that is not forgotten. */
  knows(tool: ToolVersion): boolean {
    return this.#entries.size > 0 && this.#entries.has(keyOf(tool));
  }

  /** Remaining time for which a tenant's calls of a tool are refused, in milliseconds; 0 if one may run. */
  refusedForMs(tool: ToolVersion, tenant: string): number {
    if (this.#entries.size === 0) return 0;
    const circuit = this.#entries.get(keyOf(tool))?.circuits.get(tenant);
    if (circuit === undefined) return 0;
    if (circuit.isProbing) return PROBE_MS;
    return Math.max(0, circuit.openUntilMs - this.#nowMs());
  }

  /** Records the end of a probe. A clean one closes the circuit. */
  endProbe(tool: ToolVersion, tenant: string, isClean: boolean): void {
    const circuits = this.#entries.get(keyOf(tool))?.circuits;
    const circuit = circuits?.get(tenant);
    if (circuit === undefined) return;
    circuit.isProbing = false;
    if (isClean) circuits?.delete(tenant);
  }

  /** Records a tenant's clean call in quarantine. */
  clean(tool: ToolVersion, tenant: string): Clearance {
    const key = keyOf(tool);
    const entry = this.#entries.get(key);
    if (entry === undefined) return "none";
    const wasProved = isProved(entry, tenant);
    keep(entry.cleanOf, tenant, (entry.cleanOf.get(tenant) ?? 0) + 1, TENANTS_MAX);
    const ofTenant = !wasProved && isProved(entry, tenant) ? "tenant" : "none";
    if (!entry.isApart || ++entry.clean < CLEAN_CALLS) return ofTenant;
    entry.isApart = false;
    // A tenant's recent strikes remain, even if others' calls are clean.
    for (const [each, circuit] of entry.circuits) if (this.#isForgotten(circuit)) entry.circuits.delete(each);
    if (entry.circuits.size === 0) this.#entries.delete(key);
    return "tool";
  }

  /** Tools in quarantine, or refused to a tenant. */
  get tools(): string[] {
    const nowMs = this.#nowMs();
    const isHeld = (entry: QuarantinedTool) =>
      entry.isApart ||
      entry.circuits
        .entries()
        .some(
          ([tenant, circuit]) =>
            circuit.openUntilMs > nowMs || (!this.#isForgotten(circuit) && !isProved(entry, tenant)),
        );
    return [...new Set([...this.#entries.values()].filter(isHeld).map(({ name }) => name))];
  }

  #isForgotten({ openUntilMs, strikes }: Circuit): boolean {
    return openUntilMs === 0 && strikes.every((at) => at <= this.#nowMs() - WINDOW_MS);
  }
}

function emptyEntry(name: string): QuarantinedTool {
  return { name, isApart: true, clean: 0, cleanOf: new Map(), circuits: new Map() };
}

/** Whether enough of a tenant's calls have been clean since its last strike, or since the tool's. */
function isProved({ cleanOf, circuits }: QuarantinedTool, tenant: string): boolean {
  return (cleanOf.get(tenant) ?? 0) >= (circuits.has(tenant) ? CLEAN_CALLS : CLEAN_CALLS_OF_OTHERS);
}

function keyOf({ name, registrant = "", digest = "" }: ToolVersion): string {
  return JSON.stringify([registrant, name, digest]);
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
