import ivm from "isolated-vm";
import {
  LEVELS,
  LINE_AT,
  LINES_AT,
  LINES_CHARACTERS_AT,
  LINES_LENGTH_MAX,
  LINES_MAX,
  LINES_NUMBERS,
} from "../../guest/host.ts";

/**
 * The worker's side of a realm's line memory. It outlives the isolate, so that the last lines of a tool that was cut
 * are known. Its content may be the tool's own: nothing is read beyond its bounds, and every line is checked like an
 * emitted one.
 */
export class LineMemory {
  readonly #memory: SharedArrayBuffer;
  readonly #numbers: Float64Array;
  readonly #characters: Buffer<SharedArrayBuffer>;

  constructor(memory = new SharedArrayBuffer(LINES_CHARACTERS_AT + LINES_LENGTH_MAX)) {
    this.#memory = memory;
    this.#numbers = new Float64Array(memory, 0, LINES_NUMBERS);
    this.#characters = Buffer.from(memory, LINES_CHARACTERS_AT, LINES_LENGTH_MAX);
  }

  /** The memory for the realm's isolate. */
  share(): ivm.Copy<SharedArrayBuffer> {
    return new ivm.ExternalCopy(this.#memory).copyInto({ release: true });
  }

  /** Sets whether the lines of the next turn are streamed while their call runs. */
  set isHeard(isHeard: boolean) {
    this.#numbers[LINES_AT.isHeard] = isHeard ? 1 : 0;
  }

  /** Passes the lines to `onLine` and removes them. */
  take(onLine: (callNumber: number, level: string, message: string) => void): void {
    const numbers = this.#numbers;
    const count = numbers[LINES_AT.count] ?? 0;
    if (count === 0) return;
    numbers[LINES_AT.count] = 0;
    const end = LINES_AT.first + Math.min(count, LINES_MAX) * LINE_AT.size;
    const text = this.#characters.toString("latin1", 0, lengthIn(numbers[end - LINE_AT.size + LINE_AT.end]));
    let start = 0;
    for (let at = LINES_AT.first; at < end; at += LINE_AT.size) {
      const lineEnd = lengthIn(numbers[at + LINE_AT.end]);
      const level = LEVELS[numbers[at + LINE_AT.level] ?? 0] ?? "log";
      onLine(numbers[at + LINE_AT.run] ?? 0, level, text.slice(start, lineEnd));
      start = lineEnd;
    }
  }
}

function lengthIn(number = 0): number {
  return number >= 0 && number <= LINES_LENGTH_MAX ? Math.trunc(number) : 0;
}
