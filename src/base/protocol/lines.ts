import { ProtocolError } from "./wire.ts";

/** Longest message between host and worker, in characters. */
export const MESSAGE_MAX = 256 * 1024 * 1024;

/** Cuts a stream of text into lines. A line longer than `maxLength` is a `ProtocolError`. */
export class LineReader {
  readonly #maxLength: number;
  /** What came after the last line feed; joined only when the line is whole, so that long lines stay linear. */
  #parts: string[] = [];
  #length = 0;

  constructor(maxLength: number) {
    this.#maxLength = maxLength;
  }

  /** Hands every line that `chunk` completes to `onLine`, without its line feed. */
  push(chunk: string, onLine: (line: string) => void): void {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf("\n", start);
      if (end < 0) break;
      const tail = chunk.slice(start, end);
      start = end + 1;
      if (this.#parts.length === 0) {
        onLine(tail);
        continue;
      }
      this.#parts.push(tail);
      const line = this.#parts.join("");
      this.#parts = [];
      this.#length = 0;
      onLine(line);
    }
    if (start === chunk.length) return;
    this.#length += chunk.length - start;
    if (this.#length > this.#maxLength) throw new ProtocolError("a message that is too long");
    this.#parts.push(start === 0 ? chunk : chunk.slice(start));
  }
}
