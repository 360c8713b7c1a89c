/** Calls that may be alive at once on behalf of one that somebody made, and on theirs. */
export const ALIVE_MAX = 64;
/** Calls side by side reserve at least this part of what is left each, as few need all that they may have. */
const LEAST_PART = 1 / 8;

/** What a call has for calls on its behalf: of these places, and of its processor time. Made when it first makes one. */
export class ChildBudget {
  readonly #cpuMs: number;
  readonly #parent: ChildBudget | null;
  #usedMs = 0;
  #reservedMs = 0;
  /** Of all that are below, at the top of the line. */
  #alive = 0;

  constructor(cpuMs: number, parent: ChildBudget | null) {
    this.#cpuMs = cpuMs;
    this.#parent = parent;
  }

  /** What of the processor time one more call may use. The call's own use is known only when it has ended. */
  get leftMs(): number {
    const unused = this.#cpuMs - this.#usedMs;
    const free = Math.max(unused - this.#reservedMs, unused * LEAST_PART);
    return Math.floor(Math.min(free, this.#parent?.unusedMs ?? Number.POSITIVE_INFINITY));
  }

  /** What neither this call's descendants nor those of the calls above it have used. */
  get unusedMs(): number {
    return Math.min(this.#cpuMs - this.#usedMs, this.#parent?.unusedMs ?? Number.POSITIVE_INFINITY);
  }

  /** Takes a place for a call, and answers whether there was one. Who enters, leaves. */
  enter(): boolean {
    if (this.#parent !== null) return this.#parent.enter();
    if (this.#alive >= ALIVE_MAX) return false;
    this.#alive++;
    return true;
  }

  reserve(cpuMs: number): void {
    this.#reservedMs += cpuMs;
  }

  /** Gives back what was taken for a call, but for what it used. */
  leave(cpuMs: number, usedMs: number): void {
    this.#reservedMs -= cpuMs;
    this.#use(usedMs);
  }

  #use(cpuMs: number): void {
    this.#usedMs += cpuMs;
    if (this.#parent === null) this.#alive--;
    else this.#parent.#use(cpuMs);
  }
}
