/** Maximum number of a call's child calls that run at once; more wait. */
const AT_ONCE_MAX = 8;
/** Maximum number of live descendants of one top-level call. */
export const ALIVE_MAX = 64;
/** Maximum number of light child calls beyond those, among all descendants of one top-level call. */
const LIGHT_MAX = 56;
/** Minimum share of the remaining time that each concurrent child reserves, as few use all that they reserve. */
const LEAST_PART = 1 / 8;

/** The place of a child call: one of its parent's own places, or one beyond them. */
export type ChildPlace = "own" | "light";

/** Processor time and places for the child calls of one call. Created at its first child call. */
export class ChildBudget {
  readonly #cpuMs: number;
  readonly #parent: ChildBudget | null;
  #usedMs = 0;
  #reservedMs = 0;
  /** Number of live descendants, without the light ones beyond `AT_ONCE_MAX`; counted only at the root of the chain. */
  #alive = 0;
  #light = 0;
  #running = 0;
  readonly #waiting: Readonly<Record<ChildPlace, ((place: ChildPlace) => void)[]>> = { own: [], light: [] };

  constructor(cpuMs: number, parent: ChildBudget | null) {
    this.#cpuMs = cpuMs;
    this.#parent = parent;
  }

  /** Processor time available to one more child call, in milliseconds. The call's own use is unknown until it ends. */
  get leftMs(): number {
    const unused = this.#cpuMs - this.#usedMs;
    const free = Math.max(unused - this.#reservedMs, unused * LEAST_PART);
    return Math.floor(Math.min(free, this.#parent?.unusedMs ?? Number.POSITIVE_INFINITY));
  }

  /** Processor time that neither the descendants of this call nor those of its ancestors have used, in milliseconds. */
  get unusedMs(): number {
    return Math.min(this.#cpuMs - this.#usedMs, this.#parent?.unusedMs ?? Number.POSITIVE_INFINITY);
  }

  /**
   * Waits until one more child call may run; each place needs a `leave`. A light one, which makes no capability calls,
   * need not wait for heavier ones: many of them share a turn.
   */
  place(isLight: boolean): ChildPlace | Promise<ChildPlace> {
    if (this.#running < AT_ONCE_MAX) {
      this.#running++;
      return "own";
    }
    const root = this.#root;
    if (!isLight || root.#light >= LIGHT_MAX) {
      return new Promise((begin) => this.#waiting[isLight ? "light" : "own"].push(begin));
    }
    root.#light++;
    return "light";
  }

  /** Gives a place to the next child call that waits for it. */
  leave(place: ChildPlace): void {
    const { own, light } = this.#waiting;
    // A heavy one has no other place to wait for.
    const next = (place === "own" ? own.shift() : undefined) ?? light.shift();
    if (next !== undefined) next(place);
    else if (place === "own") this.#running--;
    else this.#root.#light--;
  }

  /** Counts a child call as alive; returns whether it may be. Each `enter` needs one `exit`. */
  enter(place: ChildPlace): boolean {
    const root = this.#root;
    if (place === "light") return true;
    if (root.#alive >= ALIVE_MAX) return false;
    root.#alive++;
    return true;
  }

  reserve(cpuMs: number): void {
    this.#reservedMs += cpuMs;
  }

  /** Reverses `enter` and `reserve`. */
  exit(place: ChildPlace, cpuMs: number): void {
    this.#reservedMs -= cpuMs;
    if (place === "own") this.#root.#alive--;
  }

  get #root(): ChildBudget {
    return this.#parent === null ? this : this.#parent.#root;
  }

  /**
   * Charges processor time of a descendant, which its other ancestors are charged as well: at its end, or later if its
   * work outlasted its answer.
   */
  charge(cpuMs: number): void {
    this.#usedMs += cpuMs;
  }
}
