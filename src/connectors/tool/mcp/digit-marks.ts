import { randomBytes } from "node:crypto";
import { ByteParts } from "../../../kernel/base/byte-parts.ts";
import { mayHaveLongInteger, quoteLongIntegers } from "../../../kernel/base/exact-json.ts";

const MARK_BYTES = 8;
const DATA = "data:";
const LINE_END = 10;

/**
 * Carries long integers through the protocol's own library, which parses messages by `JSON.parse`: in the library, they
 * are strings with a mark. The mark is random for each connection, so that no server can know it.
 */
export class DigitMarks {
  readonly #mark = `\\u0001${randomBytes(MARK_BYTES).toString("hex")}:`;
  readonly #marked = new RegExp(`"${this.#mark.replace("\\", "\\\\")}(-?\\d+)"`, "g");

  /** A message as the library is given it. */
  mark(json: string): string {
    return mayHaveLongInteger(json) ? quoteLongIntegers(json, this.#mark) : json;
  }

  /** JSON of a message from the library, with its long integers. */
  unmark(json: string): string {
    return json.includes(this.#mark) ? json.replaceAll(this.#marked, "$1") : json;
  }

  /** Marks a body: a stream of events line by line, any other as a whole. Both are bounded before. */
  async *markBody(body: AsyncIterable<Uint8Array>, isStream: boolean): AsyncGenerator<Uint8Array> {
    const kept = new ByteParts();
    for await (const chunk of body) {
      const end = isStream ? chunk.lastIndexOf(LINE_END) + 1 : 0;
      if (end > 0) {
        kept.push(chunk.subarray(0, end));
        yield this.#markBytes(kept.take(), isStream);
      }
      kept.push(chunk.subarray(end));
    }
    if (kept.length > 0) yield this.#markBytes(kept.take(), isStream);
  }

  #markBytes(bytes: Buffer, isStream: boolean): Uint8Array {
    if (!mayHaveLongInteger(bytes.toString("latin1"))) return bytes;
    const text = bytes.toString("utf8");
    if (!isStream) return Buffer.from(this.mark(text));
    const lines = text.split("\n").map((line) => (line.startsWith(DATA) ? this.mark(line) : line));
    return Buffer.from(lines.join("\n"));
  }
}
