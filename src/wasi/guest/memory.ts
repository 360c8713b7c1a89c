import { Utf8Decoder } from "../../kernel/guest/web/utf8.ts";
import { ERRNO, WasiError } from "./abi.ts";

/** Bytes of an entry in a list of buffers. */
const BUFFER_BYTES = 8;

/** A command's memory. An address outside of it throws a `RangeError`, which ends the command as a trap does. */
export class Memory {
  readonly #buffer: () => ArrayBufferLike;

  /** `buffer` is called each time: a memory that grows gets another buffer. */
  constructor(buffer: () => ArrayBufferLike) {
    this.#buffer = buffer;
  }

  get view(): DataView {
    return new DataView(this.#buffer());
  }

  bytes(at: number, length: number): Uint8Array {
    return new Uint8Array(this.#buffer(), at >>> 0, length >>> 0);
  }

  setU32(at: number, value: number): void {
    this.view.setUint32(at >>> 0, value, true);
  }

  setU64(at: number, value: bigint): void {
    this.view.setBigUint64(at >>> 0, value, true);
  }

  /** A path, or a link's target. Throws a `WasiError` if it is not UTF-8. */
  text(at: number, length: number): string {
    const bytes = this.bytes(at, length);
    try {
      return new Utf8Decoder(true).decode(bytes, true);
    } catch {
      throw new WasiError(ERRNO.ilseq);
    }
  }

  /** The buffers in a list, one after the other. */
  *buffers(at: number, count: number): Generator<Uint8Array, void> {
    const { view } = this;
    for (let index = 0; index < count >>> 0; index++) {
      const entry = (at >>> 0) + BUFFER_BYTES * index;
      yield this.bytes(view.getUint32(entry, true), view.getUint32(entry + 4, true));
    }
  }
}
