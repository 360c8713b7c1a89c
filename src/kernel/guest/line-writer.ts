import {
  EMIT_LINES,
  type Emit,
  LEVELS,
  LINE_AT,
  LINES_AT,
  LINES_CHARACTERS_AT,
  LINES_LENGTH_MAX,
  LINES_MAX,
  LINES_NUMBERS,
} from "./host.ts";

/** Length from which calling the worker takes less than writing the characters. */
const LONG_FROM = 512;
const CHARACTER_MAX = 0xff;
/**
 * Number of heard lines that are passed on one by one within a millisecond. Further ones wait for a line in a later
 * millisecond, a full memory or the turn's end.
 */
const AT_ONCE_MAX = 8;

/**
 * Collects the log lines of a realm in memory that it shares with the worker: writing there takes far less than a call
 * of the worker for each line.
 */
export class LineWriter {
  readonly #numbers: Float64Array;
  readonly #bytes: Uint8Array;
  readonly #emit: Emit;
  readonly #realMs: () => number;
  #heardMs = 0;
  #heardAtOnce = 0;

  constructor(memory: SharedArrayBuffer, emit: Emit, realMs: () => number) {
    this.#numbers = new Float64Array(memory, 0, LINES_NUMBERS);
    this.#bytes = new Uint8Array(memory, LINES_CHARACTERS_AT, LINES_LENGTH_MAX);
    this.#emit = emit;
    this.#realMs = realMs;
  }

  /** Writes a line; returns whether it could. The rest is emitted: long lines, and those with wide characters. */
  write(run: number, level: string, message: string): boolean {
    const known: number = LEVELS.indexOf(level as (typeof LEVELS)[number]);
    const { length } = message;
    if (known < 0 || length >= LONG_FROM) return false;
    const numbers = this.#numbers;
    const bytes = this.#bytes;
    let at = this.#next();
    if (at === 0 || this.#endBefore(at) + length > LINES_LENGTH_MAX) {
      this.#handOver();
      at = LINES_AT.first;
    }
    const start = this.#endBefore(at);
    for (let index = 0; index < length; index++) {
      const character = message.charCodeAt(index);
      if (character > CHARACTER_MAX) return false;
      bytes[start + index] = character;
    }
    numbers[at + LINE_AT.run] = run;
    numbers[at + LINE_AT.level] = known;
    numbers[at + LINE_AT.end] = start + length;
    // The last step, because a turn may be cut anywhere.
    numbers[LINES_AT.count] = (numbers[LINES_AT.count] ?? 0) + 1;
    if (numbers[LINES_AT.isHeard] === 1) this.#tell();
    return true;
  }

  /** Place of the next line's numbers; 0 in a full memory. */
  #next(): number {
    const count = this.#numbers[LINES_AT.count] ?? 0;
    return count < LINES_MAX ? LINES_AT.first + count * LINE_AT.size : 0;
  }

  #endBefore(at: number): number {
    return at === LINES_AT.first ? 0 : (this.#numbers[at - LINE_AT.size + LINE_AT.end] ?? 0);
  }

  #tell(): void {
    const nowMs = this.#realMs();
    if (nowMs !== this.#heardMs) {
      this.#heardMs = nowMs;
      this.#heardAtOnce = 0;
    }
    if (this.#heardAtOnce++ < AT_ONCE_MAX) this.#handOver();
  }

  #handOver(): void {
    this.#emit(EMIT_LINES, 0, "", "", "", 0);
  }
}
