import { Utf8Decoder } from "../../kernel/guest/web/utf8.ts";

/** Maximum size of a command's output kept per stream, in bytes: the rest is dropped. */
const KEPT_MAX = 64 * 1024;

/** An output stream of a command: it keeps the text, and emits each line once it is complete. */
export class Printed {
  readonly #tell: (line: string) => void;
  readonly #decoder = new Utf8Decoder(false);
  #left = KEPT_MAX;
  #text = "";
  /** Length of the text emitted so far. */
  #told = 0;

  constructor(tell: (line: string) => void) {
    this.#tell = tell;
  }

  write(bytes: Uint8Array): void {
    if (this.#left === 0) return;
    const kept = bytes.subarray(0, this.#left);
    this.#left -= kept.length;
    this.#text += this.#decoder.decode(kept, false);
    for (let end = this.#text.indexOf("\n", this.#told); end >= 0; end = this.#text.indexOf("\n", this.#told)) {
      this.#tell(this.#text.slice(this.#told, end));
      this.#told = end + 1;
    }
  }

  /** All text that was kept. Emits the last line even if no line feed ends it. */
  end(): string {
    this.#text += this.#decoder.decode(new Uint8Array(0), true);
    if (this.#told < this.#text.length) this.#tell(this.#text.slice(this.#told));
    this.#told = this.#text.length;
    return this.#text;
  }
}
