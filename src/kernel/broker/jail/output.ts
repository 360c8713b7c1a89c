import { ByteParts } from "../../base/byte-parts.ts";

/** The beginning of a command's output, up to a maximum. */
export class Output {
  readonly #keptMax: number;
  readonly #kept = new ByteParts();
  #seen = 0;

  constructor(maxBytes: number) {
    this.#keptMax = maxBytes;
  }

  /** Number of bytes written. */
  get seenBytes(): number {
    return this.#seen;
  }

  get isCut(): boolean {
    return this.#seen > this.#kept.length;
  }

  take(chunk: Uint8Array): void {
    this.#seen += chunk.length;
    // Copy: a view would keep the whole chunk in memory.
    this.#kept.push(Uint8Array.from(chunk.subarray(0, this.#keptMax - this.#kept.length)));
  }

  /** Decodes UTF-8. Invalid bytes become U+FFFD; a truncated last character is left out. */
  text(): string {
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(this.#kept.joined(), { stream: this.isCut });
  }
}
