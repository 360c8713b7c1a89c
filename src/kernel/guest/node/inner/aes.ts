import { ghash } from "@noble/ciphers/_polyval.js";
import { unsafe } from "@noble/ciphers/aes.js";
import { join } from "./asn1.ts";

/** The block cipher AES, and the additions of GCM. */
export class Aes {
  readonly #encryption: Uint32Array;
  readonly #decryption: Uint32Array;

  constructor(key: Uint8Array) {
    this.#encryption = unsafe.expandKeyLE(key);
    this.#decryption = unsafe.expandKeyDecLE(key);
  }

  encrypt(block: Uint8Array): Uint8Array<ArrayBuffer> {
    return unsafe.encryptBlock(this.#encryption, block.slice()) as Uint8Array<ArrayBuffer>;
  }

  decrypt(block: Uint8Array): Uint8Array<ArrayBuffer> {
    const words = new Uint32Array(block.slice().buffer);
    const { s0, s1, s2, s3 } = unsafe.decrypt(
      this.#decryption,
      words[0] ?? 0,
      words[1] ?? 0,
      words[2] ?? 0,
      words[3] ?? 0,
    );
    return new Uint8Array(Uint32Array.of(s0, s1, s2, s3).buffer);
  }

  /** Adds one to the counter in the last `size` bytes of a block. */
  static count(block: Uint8Array, size: number): void {
    for (let at = 15; at >= 16 - size; at--) {
      const next = ((block[at] ?? 0) + 1) & 0xff;
      block[at] = next;
      if (next !== 0) return;
    }
  }
}

/** The tag of GCM (NIST SP 800-38D). */
export class GcmTag {
  readonly #aes: Aes;
  readonly #first: Uint8Array<ArrayBuffer>;
  readonly #hash;
  #authenticated = 0;
  #length = 0;
  #rest = new Uint8Array(0);

  constructor(aes: Aes, iv: Uint8Array) {
    this.#aes = aes;
    const key = aes.encrypt(new Uint8Array(16));
    this.#hash = ghash.create(key);
    this.#first = new Uint8Array(16);
    if (iv.length === 12) {
      this.#first.set(iv);
      this.#first[15] = 1;
    } else {
      const hash = ghash.create(key);
      // The library fills up each update with zeros.
      hash.update(iv);
      hash.update(lengths(0, iv.length));
      this.#first.set(hash.digest());
    }
  }

  /** The counter of the first block of data. */
  firstCounter(): Uint8Array<ArrayBuffer> {
    const counter = this.#first.slice();
    Aes.count(counter, 4);
    return counter;
  }

  /** Adds data that is authenticated and not encrypted: all of it before the first data to encrypt. */
  authenticate(bytes: Uint8Array): void {
    this.#feed(bytes);
    this.#authenticated += bytes.length;
  }

  update(bytes: Uint8Array): void {
    if (this.#length === 0) this.#fill();
    this.#feed(bytes);
    this.#length += bytes.length;
  }

  #fill(): void {
    if (this.#rest.length > 0) this.#hash.update(this.#rest);
    this.#rest = new Uint8Array(0);
  }

  #feed(bytes: Uint8Array): void {
    const all = join(this.#rest, bytes);
    const whole = all.length - (all.length % 16);
    this.#rest = all.slice(whole);
    if (whole > 0) this.#hash.update(all.subarray(0, whole));
  }

  finish(): Uint8Array<ArrayBuffer> {
    this.#fill();
    this.#hash.update(lengths(this.#authenticated, this.#length));
    const mask = this.#aes.encrypt(this.#first);
    return this.#hash.digest().map((byte, at) => byte ^ (mask[at] ?? 0));
  }
}

function lengths(first: number, second: number): Uint8Array {
  const bytes = new Uint8Array(16);
  const view = new DataView(bytes.buffer);
  view.setBigUint64(0, BigInt(first) * 8n);
  view.setBigUint64(8, BigInt(second) * 8n);
  return bytes;
}
