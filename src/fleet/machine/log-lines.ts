/** Maximum number of unacknowledged characters of a call's log, or one line: messages of other calls wait behind them. */
const AHEAD_MAX = 64 * 1024;

/** Number of checks without an acknowledgement after which sending goes on. */
const LOOKS = 3;

/** Some lines of a call, the first of which has this number. */
export interface SomeLines {
  readonly at: number;
  readonly lines: readonly string[];
  /** No more are sent until the server has these. */
  readonly isFull?: true;
}

/** Streams a call's log lines to its server: at once, up to a bound that the server has to acknowledge. */
export class LogLines {
  readonly #send: (some: SomeLines) => void;
  #waiting: string[] = [];
  #sent = 0;
  /** Characters on their way that the server need not have read yet. */
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

  /** Looked at again and again: the server's word may have been lost. */
  look(): void {
    if (this.#isFull && ++this.#looks >= LOOKS) this.goOn();
  }

  /** The server has those that were the last for a while. */
  goOn(): void {
    this.#isFull = false;
    this.#looks = 0;
    this.#ahead = 0;
    this.#sendSome();
  }

  /** Sends all that waits, because nothing else will tell it. */
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
