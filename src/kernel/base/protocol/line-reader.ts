import { ProtocolError } from "./wire.ts";

/** Longest message between host and worker, in characters. */
export const MESSAGE_MAX = 256 * 1024 * 1024;

/** Length from which the parts of a long line are joined: V8 does not move such a text when it collects garbage. */
const JOINED_FROM = 512 * 1024;

/** Cuts a stream of text into lines. A line longer than `maxLength` is a `ProtocolError`. */
export class LineReader {
  maxLength: number;
  /** Text after the last line feed; joined only when the line is complete, so that long lines take linear time. */
  #parts: string[] = [];
  #length = 0;
  /** Parts that are joined already, and their length. */
  #joined: string[] = [];
  #joinedLength = 0;

  constructor(maxLength: number) {
    this.maxLength = maxLength;
  }

  /** Passes every line that `chunk` completes to `onLine`, without its line feed, or long ones to `onParts`. */
  push(chunk: string, onLine: (line: string) => void, onParts?: (parts: readonly string[]) => void): void {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf("\n", start);
      if (end < 0) break;
      const tail = chunk.slice(start, end);
      start = end + 1;
      if (this.#length === 0) {
        onLine(tail);
        continue;
      }
      this.#parts.push(tail);
      const isLong = this.#joined.length > 0;
      const parts = isLong ? [...this.#joined, this.#parts.join("")] : this.#parts;
      this.#parts = [];
      this.#joined = [];
      this.#length = this.#joinedLength = 0;
      if (isLong && onParts !== undefined) onParts(parts);
      else onLine(parts.join(""));
    }
    if (start === chunk.length) return;
    this.#length += chunk.length - start;
    if (this.#length > this.maxLength) throw new ProtocolError("a message that is too long");
    this.#parts.push(start === 0 ? chunk : chunk.slice(start));
    if (this.#length - this.#joinedLength < JOINED_FROM) return;
    this.#joined.push(this.#parts.join(""));
    this.#parts = [];
    this.#joinedLength = this.#length;
  }
}
