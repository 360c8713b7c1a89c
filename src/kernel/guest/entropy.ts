import type { Pure } from "./host.ts";

/**
 * Randomness of a call: a ChaCha20 key stream (RFC 8439). The worker derives the key from the engine's secret and the
 * call's number, so it is unpredictable for the tool and identical on a replay.
 */
export class Entropy {
  readonly #pure: Pure;
  readonly #run: number | string;
  readonly #state = new Uint32Array(16);
  readonly #block = new Uint32Array(16);
  #used = 16;
  readonly #seed: string | undefined;
  #isSeeded = false;

  /** `run`: the call's number, or a name that is no number; `seed`: 256 bits in hexadecimal, if the call provides its own. */
  constructor(pure: Pure, run: number | string, seed?: string) {
    this.#pure = pure;
    this.#seed = seed;
    this.#run = run;
  }

  /** The next 32 random bits. */
  word(): number {
    if (this.#used === 16) this.#refill();
    return this.#block[this.#used++] ?? 0;
  }

  /** A number in [0, 1) with 53 random bits, as `Math.random` returns. */
  fraction(): number {
    return ((this.word() >>> 5) * 0x4000000 + (this.word() >>> 6)) / 0x20000000000000;
  }

  fill(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; at += 4) {
      let word = this.word();
      for (let i = at; i < at + 4 && i < bytes.length; i++) {
        bytes[i] = word & 255;
        word >>>= 8;
      }
    }
  }

  #refill(): void {
    const state = this.#state;
    if (!this.#isSeeded) this.#begin();
    const block = this.#block;
    for (let i = 0; i < 16; i++) block[i] = state[i] ?? 0;
    for (let round = 0; round < 10; round++) {
      quarter(block, 0, 4, 8, 12);
      quarter(block, 1, 5, 9, 13);
      quarter(block, 2, 6, 10, 14);
      quarter(block, 3, 7, 11, 15);
      quarter(block, 0, 5, 10, 15);
      quarter(block, 1, 6, 11, 12);
      quarter(block, 2, 7, 8, 13);
      quarter(block, 3, 4, 9, 14);
    }
    for (let i = 0; i < 16; i++) block[i] = (block[i] ?? 0) + (state[i] ?? 0);
    state[12] = (state[12] ?? 0) + 1;
    this.#used = 0;
  }

  #begin(): void {
    this.#isSeeded = true;
    const key = this.#seed ?? this.#pure("entropy", `${this.#run}`, "", "");
    const state = this.#state;
    // "expand 32-byte k", the constant of the cipher.
    state[0] = 0x61707865;
    state[1] = 0x3320646e;
    state[2] = 0x79622d32;
    state[3] = 0x6b206574;
    for (let i = 0; i < 8; i++) {
      let word = 0;
      for (let digit = 0; digit < 8; digit++) word = (word << 4) | hexDigit(key.charCodeAt(i * 8 + digit));
      state[4 + i] = word;
    }
  }
}

function hexDigit(code: number): number {
  return code <= 57 ? code - 48 : code - 87;
}

function quarter(x: Uint32Array, a: number, b: number, c: number, d: number): void {
  let xa = x[a] ?? 0;
  let xb = x[b] ?? 0;
  let xc = x[c] ?? 0;
  let xd = x[d] ?? 0;
  xa = (xa + xb) | 0;
  xd = rotate(xd ^ xa, 16);
  xc = (xc + xd) | 0;
  xb = rotate(xb ^ xc, 12);
  xa = (xa + xb) | 0;
  xd = rotate(xd ^ xa, 8);
  xc = (xc + xd) | 0;
  xb = rotate(xb ^ xc, 7);
  x[a] = xa;
  x[b] = xb;
  x[c] = xc;
  x[d] = xd;
}

function rotate(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits));
}
