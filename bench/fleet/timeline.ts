import { type HeapNode, NodeHeap } from "../../src/engine/schedule/heap.ts";

interface Event extends HeapNode {
  readonly run: () => void;
}

/** Simulated time: things happen in the order of their times, and those of one time in the order in which they were said. */
export class Timeline {
  readonly #events = new NodeHeap<Event>();
  #nowMs = 0;
  #said = 0;

  get nowMs(): number {
    return this.#nowMs;
  }

  at(ms: number, run: () => void): void {
    this.#events.push({ slot: -1, key: Math.max(ms, this.#nowMs), stamp: 0, seq: this.#said++, run });
  }

  after(ms: number, run: () => void): void {
    this.at(this.#nowMs + ms, run);
  }

  /** Lets things happen until it is over, or nothing more will. */
  run(isOver: () => boolean = () => false): void {
    for (let next = this.#events.first; next !== undefined && !isOver(); next = this.#events.first) {
      this.#events.remove(next);
      this.#nowMs = next.key;
      next.run();
    }
  }
}

/** Serves one after the other, in the order of arrival, as Redis does. */
export class Station {
  readonly #timeline: Timeline;
  #freeAtMs = 0;
  #promisedMs = 0;

  constructor(timeline: Timeline) {
    this.#timeline = timeline;
  }

  serve(ms: number, done: () => void = () => {}): void {
    this.#promisedMs += ms;
    this.#freeAtMs = Math.max(this.#freeAtMs, this.#timeline.nowMs) + ms;
    this.#timeline.at(this.#freeAtMs, done);
  }

  /** How long it has been busy so far. */
  get busyMs(): number {
    return this.#promisedMs - Math.max(0, this.#freeAtMs - this.#timeline.nowMs);
  }
}

/**
 * The event loop of a process. All that has come in when a turn begins belongs to that turn, and what it leads to happens
 * at the turn's end: so what is sent together grows with the load, and who comes alone waits for nobody.
 */
export class EventLoop {
  readonly #timeline: Timeline;
  readonly #onTurnEnd: () => void;
  #inbox: { readonly ms: number; readonly run: () => void }[] = [];
  #isTurning = false;
  #busyMs = 0;

  constructor(timeline: Timeline, onTurnEnd: () => void) {
    this.#timeline = timeline;
    this.#onTurnEnd = onTurnEnd;
  }

  get busyMs(): number {
    return this.#busyMs;
  }

  post(ms: number, run: () => void): void {
    this.#inbox.push({ ms, run });
    if (this.#isTurning) return;
    this.#isTurning = true;
    this.#timeline.after(0, () => this.#turn());
  }

  /** Work that leads to nothing more: it takes its time of the next turn. */
  charge(ms: number): void {
    if (ms > 0) this.post(ms, () => {});
  }

  #turn(): void {
    const inbox = this.#inbox;
    this.#inbox = [];
    const ms = inbox.reduce((sum, each) => sum + each.ms, 0);
    this.#timeline.after(ms, () => {
      this.#busyMs += ms;
      for (const { run } of inbox) run();
      this.#onTurnEnd();
      this.#isTurning = this.#inbox.length > 0;
      if (this.#isTurning) this.#timeline.after(0, () => this.#turn());
    });
  }
}
