/** The beginning of a command's output, up to a maximum. */
export class Output {
  readonly #keptMax: number;
  readonly #chunks: Uint8Array[] = [];
  #kept = 0;
  #seen = 0;

  constructor(maxBytes: number) {
    this.#keptMax = maxBytes;
  }

  /** Number of bytes written. */
  get seenBytes(): number {
    return this.#seen;
  }

  get isCut(): boolean {
    return this.#seen > this.#kept;
  }

  take(chunk: Uint8Array): void {
    this.#seen += chunk.length;
    // Copy: a view would keep the whole chunk in memory.
    const part = Uint8Array.from(chunk.subarray(0, this.#keptMax - this.#kept));
    if (part.length === 0) return;
    this.#kept += part.length;
    this.#chunks.push(part);
  }

  /** Decodes UTF-8. Invalid bytes become U+FFFD; a truncated last character is left out. */
  text(): string {
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    const text = this.#chunks.map((chunk) => decoder.decode(chunk, { stream: true })).join("");
    return this.isCut ? text : text + decoder.decode();
  }
}
