/** Number of parts that may be short, and the mean length of further ones, in bytes. */
const SHORT_PARTS_MAX = 1_024;
const PART_BYTES_MIN = 64;

/**
 * Bytes that come in parts. Many short parts are joined: each of them takes some hundred bytes of memory, so that single
 * bytes would take far more memory than a limit in bytes allows.
 */
export class ByteParts {
  #parts: Uint8Array[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(part: Uint8Array): void {
    if (part.length === 0) return;
    this.#parts.push(part);
    this.#length += part.length;
    if (this.#parts.length > SHORT_PARTS_MAX + this.#length / PART_BYTES_MIN) this.joined();
  }

  /** All bytes in one piece. */
  joined(): Buffer {
    const [first] = this.#parts;
    // A single part is not copied.
    const bytes =
      first !== undefined && this.#parts.length === 1
        ? Buffer.from(first.buffer, first.byteOffset, first.length)
        : Buffer.concat(this.#parts, this.#length);
    this.#parts = [bytes];
    return bytes;
  }

  /** All bytes in one piece. None are left. */
  take(): Buffer {
    const bytes = this.joined();
    this.#parts = [];
    this.#length = 0;
    return bytes;
  }
}
