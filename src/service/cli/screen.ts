import type { WriteStream } from "node:tty";
import { visible } from "./output.ts";

const ESCAPE = "\u001b[";
/** Another screen than the one with the shell's lines, without a cursor, on which no line runs into the next. */
const ENTER = `${ESCAPE}?1049h${ESCAPE}?25l${ESCAPE}?7l`;
const LEAVE = `${ESCAPE}?7h${ESCAPE}?25h${ESCAPE}?1049l`;
const HOME = `${ESCAPE}H`;
const REST_OF_LINE = `${ESCAPE}K`;
const REST_OF_SCREEN = `${ESCAPE}J`;

/** A terminal's whole screen, until it is given back. */
export class Screen implements Disposable {
  readonly #out: WriteStream;

  constructor(out: WriteStream) {
    this.#out = out;
    out.write(ENTER);
  }

  /** Replaces what is shown. Control characters in it are shown, and not sent. */
  draw(lines: readonly string[]): void {
    const width = this.#out.columns || 80;
    const drawn = lines.map((line) => `${visible(line).slice(0, width)}${REST_OF_LINE}`);
    this.#out.write(`${HOME}${drawn.join("\r\n")}${REST_OF_SCREEN}`);
  }

  [Symbol.dispose](): void {
    this.#out.write(LEAVE);
  }
}
