import type { DispatchedCall } from "./dispatched-call.ts";

/** Time after which work counts as ended without a report: a multiple of its processor time, and an addition in ms. */
interface Overdue {
  readonly factor: number;
  readonly ms: number;
}

/** The watch has ended the turn by then, or the process, however busy the machine is. */
const OVERDUE: Overdue = { factor: 20, ms: 10_000 };

interface Work<Place> {
  readonly call: DispatchedCall;
  readonly place: Place;
  readonly deadlineMs: number;
  readonly resolve: (cpuMs: number) => void;
}

/**
 * Work that continues after its call was answered: of calls that were cancelled, or exceeded their time. `Place`: the
 * worker's connection, or the machine's id in a fleet.
 */
export class LingeringWork<Place> {
  readonly #works = new Map<number, Work<Place>>();
  readonly #overdue: Overdue;

  constructor(overdue: Overdue = OVERDUE) {
    this.#overdue = overdue;
  }

  get size(): number {
    return this.#works.size;
  }

  /** Resolves with the call's processor time in milliseconds, when its worker has stopped working for it. */
  add(call: DispatchedCall, place: Place, nowMs: number): Promise<number> {
    const { factor, ms } = this.#overdue;
    const deadlineMs = nowMs + call.job.limits.cpuMs * factor + ms;
    return new Promise((resolve) => {
      this.#works.set(call.callNumber, { call, place, deadlineMs, resolve });
    });
  }

  end(callNumber: number, cpuMs: number): void {
    const work = this.#works.get(callNumber);
    this.#works.delete(callNumber);
    work?.resolve(cpuMs);
  }

  /** Called when the call's worker was lost by its fault: charges its whole limit. Returns whether it was lingering. */
  endWhole(callNumber: number): boolean {
    const work = this.#works.get(callNumber);
    if (work === undefined) return false;
    this.end(callNumber, work.call.job.limits.cpuMs);
    return true;
  }

  /** Whether the call's work continues at this place. */
  isAt(callNumber: number, place: Place): boolean {
    return this.#works.get(callNumber)?.place === place;
  }

  /** Called when a place was lost, and with it the times of its calls. */
  endOn(place: Place): void {
    for (const [callNumber, work] of this.#works) if (work.place === place) this.end(callNumber, 0);
  }

  endAll(): void {
    for (const callNumber of this.#works.keys()) this.end(callNumber, 0);
  }

  endOverdue(nowMs: number): void {
    for (const [callNumber, { deadlineMs }] of this.#works) if (deadlineMs <= nowMs) this.endWhole(callNumber);
  }
}
