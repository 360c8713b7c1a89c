/**
 * Maximum number of unacknowledged characters of a call's log: messages of other calls wait for them. One line may
 * exceed it.
 */
const AHEAD_MAX = 64 * 1024;

/** Number of checks without an acknowledgement after which sending continues. */
const LOOKS = 3;

/** Consecutive lines of a call; `at` is the index of the first. */
export interface SomeLines {
  readonly at: number;
  readonly lines: readonly string[];
  /** No more lines are sent until the server acknowledges these. */
  readonly isFull?: true;
}

/** Streams a call's log lines to its server, up to a bound that the server has to acknowledge. */
export class LogLines {
  readonly #send: (some: SomeLines) => void;
  #waiting: string[] = [];
  #sent = 0;
  /** Number of sent characters that the server has not acknowledged. */
  #ahead = 0;
  #isFull = false;
  #looks = 0;

  constructor(send: (some: SomeLines) => void) {
    this.#send = send;
  }

  add(line: string): void {
    this.#waiting.push(line);
    this.#sendSome();
  }

  /** Called at intervals: the server's acknowledgement may have been lost. */
  look(): void {
    if (this.#isFull && ++this.#looks >= LOOKS) this.goOn();
  }

  /** Continues after the server's acknowledgement. */
  goOn(): void {
    this.#isFull = false;
    this.#looks = 0;
    this.#ahead = 0;
    this.#sendSome();
  }

  /** Sends all waiting lines, regardless of the bound; used when the reply does not contain them. */
  sendRest(): void {
    if (this.#waiting.length > 0) this.#send({ at: this.#sent, lines: this.#waiting });
    this.#waiting = [];
  }

  #sendSome(): void {
    if (this.#isFull || this.#waiting.length === 0) return;
    let count = 0;
    while (this.#ahead < AHEAD_MAX && count < this.#waiting.length) this.#ahead += this.#waiting[count++]?.length ?? 0;
    this.#isFull = this.#ahead >= AHEAD_MAX;
    const lines = this.#waiting.splice(0, count);
    this.#send({ at: this.#sent, lines, ...(this.#isFull ? { isFull: true } : {}) });
    this.#sent += lines.length;
  }
}
