import { ConsoleStdout } from "@bjorn3/browser_wasi_shim";
import { Utf8Decoder } from "../web/utf8.ts";

/** What is kept of what a command prints on one stream, in bytes: the rest is dropped. */
const KEPT_MAX = 64 * 1024;

/** A stream of what a command prints: it is kept, and each line is told as soon as it is whole. */
export class Printed {
  readonly stream = new ConsoleStdout((bytes) => this.#take(bytes));
  readonly #tell: (line: string) => void;
  readonly #decoder = new Utf8Decoder(false);
  #left = KEPT_MAX;
  #text = "";
  /** How much of the text has been told. */
  #told = 0;

  constructor(tell: (line: string) => void) {
    this.#tell = tell;
  }

  /** All that was kept. The last line is told even where nothing ends it. */
  end(): string {
    this.#text += this.#decoder.decode(new Uint8Array(0), true);
    if (this.#told < this.#text.length) this.#tell(this.#text.slice(this.#told));
    this.#told = this.#text.length;
    return this.#text;
  }

  #take(bytes: Uint8Array): void {
    if (this.#left === 0) return;
    const kept = bytes.subarray(0, this.#left);
    this.#left -= kept.length;
    this.#text += this.#decoder.decode(kept, false);
    for (let end = this.#text.indexOf("\n", this.#told); end >= 0; end = this.#text.indexOf("\n", this.#told)) {
      this.#tell(this.#text.slice(this.#told, end));
      this.#told = end + 1;
    }
  }
}
