import { ByteParts } from "../../../kernel/base/byte-parts.ts";
import { McpError } from "./failure.ts";
import type { McpLimits } from "./limits.ts";

const LINE_END = 10;
/** Length of the kept beginning and end of a message, which contain its number. */
const EDGE = 256;

/** A part of the input: a line, or the beginning and the end of one that is too long to be read. */
export type Line =
  | { readonly kind: "line"; readonly bytes: Buffer }
  | { readonly kind: "long"; readonly length: number; readonly edges: string };

/** Splits a stream into lines, and keeps none that is longer than a message may be. */
export class Lines {
  readonly #limits: Pick<McpLimits, "messageBytes" | "discardedBytes">;
  readonly #parts = new ByteParts();
  /** Of the line so far, also where its bytes are not kept. */
  #length = 0;
  #begin = "";
  #end = "";

  constructor(limits: Pick<McpLimits, "messageBytes" | "discardedBytes">) {
    this.#limits = limits;
  }

  /** The lines that the chunk ends. Throws an `McpError` for one without an end. */
  *push(chunk: Buffer): Generator<Line> {
    let from = 0;
    for (let to = chunk.indexOf(LINE_END); to >= 0; to = chunk.indexOf(LINE_END, from)) {
      this.#add(chunk.subarray(from, to));
      from = to + 1;
      const line = this.#take();
      if (line !== null) yield line;
    }
    this.#add(chunk.subarray(from));
  }

  #add(part: Buffer): void {
    const { messageBytes, discardedBytes } = this.#limits;
    this.#length += part.length;
    if (this.#length > messageBytes + discardedBytes) {
      throw new McpError(`it sent a message of more than ${messageBytes + discardedBytes} bytes`);
    }
    if (this.#length > messageBytes) {
      const kept = this.#parts.take();
      if (this.#begin === "") this.#begin = (kept.length === 0 ? part : kept).toString("latin1", 0, EDGE);
      this.#end = ((this.#end === "" ? endOf(kept) : this.#end) + endOf(part)).slice(-EDGE);
    } else this.#parts.push(part);
  }

  #take(): Line | null {
    const length = this.#length;
    const edges = `${this.#begin}\n${this.#end}`;
    const bytes = this.#parts.take();
    this.#length = 0;
    this.#begin = "";
    this.#end = "";
    if (length > this.#limits.messageBytes) return { kind: "long", length, edges };
    return length === 0 ? null : { kind: "line", bytes };
  }
}

function endOf(bytes: Buffer): string {
  return bytes.subarray(-EDGE).toString("latin1");
}

/** The number of the request that a long message answers, by its beginning or its end; `null` if neither has it. */
export function numberIn(edges: string): number | null {
  const [begin = "", end = ""] = edges.split("\n");
  const [, first] = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,15})\s*,/.exec(begin) ?? [];
  const [, last] = /,\s*"id"\s*:\s*(\d{1,15})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/.exec(end) ?? [];
  const digits = first ?? last;
  return digits === undefined ? null : Number(digits);
}

/** Number of brackets and commas, in and out of strings: at least the number of values in a text of JSON. */
export function partsOf(bytes: Uint8Array): number {
  let parts = 0;
  for (const byte of bytes) if (byte === 0x2c || byte === 0x5b || byte === 0x7b) parts++;
  return parts;
}

/** The beginning and the end of a message, for `numberIn`. */
export function edgesOf(bytes: Buffer): string {
  return `${bytes.toString("latin1", 0, EDGE)}\n${endOf(bytes)}`;
}
