/** Strikes until a tool is refused. */
const STRIKES_MAX = 3;
/** Strikes older than this are forgotten, in milliseconds. */
const WINDOW_MS = 60_000;
/** How long a tool is refused, in milliseconds; then one call may show that it has mended its ways. */
const OPEN_MS = 30_000;
/** Clean calls in quarantine that clear a tool. */
const CLEAN_CALLS = 20;
const TOOLS_MAX = 10_000;

interface Entry {
  strikes: number[];
  clean: number;
  openUntilMs: number;
}

/** Which tools have cost an executor its life, and what follows from it. */
export class Quarantine {
  readonly #entries = new Map<string, Entry>();
  readonly #nowMs: () => number;

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** Notes that a tool ended an executor; answers how many strikes it has now. */
  strike(tool: string): number {
    const nowMs = this.#nowMs();
    const entry = this.#entries.get(tool) ?? { strikes: [], clean: 0, openUntilMs: 0 };
    entry.strikes = [...entry.strikes.filter((at) => at > nowMs - WINDOW_MS), nowMs].slice(-STRIKES_MAX);
    entry.clean = 0;
    if (entry.strikes.length >= STRIKES_MAX) entry.openUntilMs = nowMs + OPEN_MS;
    this.#entries.set(tool, entry);
    if (this.#entries.size > TOOLS_MAX) this.#forgetOldest();
    return entry.strikes.length;
  }

  /** Notes a call that did no harm; enough of them clear the tool. */
  clean(tool: string): void {
    const entry = this.#entries.get(tool);
    if (entry === undefined) return;
    entry.clean++;
    if (entry.clean >= CLEAN_CALLS) this.#entries.delete(tool);
  }

  /** Whether a tool's calls run apart from the others'. */
  holds(tool: string): boolean {
    return this.#entries.size > 0 && this.#entries.has(tool);
  }

  /** For how many milliseconds a tool is refused; 0 where it may run. */
  refusedForMs(tool: string): number {
    const entry = this.#entries.get(tool);
    return entry === undefined ? 0 : Math.max(0, entry.openUntilMs - this.#nowMs());
  }

  get tools(): string[] {
    return [...this.#entries.keys()];
  }

  #forgetOldest(): void {
    for (const tool of this.#entries.keys()) {
      this.#entries.delete(tool);
      return;
    }
  }
}
