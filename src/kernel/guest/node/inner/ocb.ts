import type { Aes } from "./aes.ts";
import { join } from "./asn1.ts";
import { isSame } from "./rsa.ts";

/** AES in the mode OCB (RFC 7253), which encrypts and authenticates in one pass. */

export interface OcbParameters {
  readonly aes: Aes;
  readonly iv: Uint8Array;
  /** Size of the tag, in bytes. */
  readonly size: number;
  /** Bytes that are authenticated and not encrypted. */
  readonly more: Uint8Array;
}

type Block = Uint8Array<ArrayBuffer>;

const SIZE = 16;

function xor(one: Uint8Array, other: Uint8Array): Block {
  return Uint8Array.from(one, (byte, at) => byte ^ (other[at] ?? 0));
}

/** Twice a block, in the field of 2^128 elements. */
function double(block: Block): Block {
  const out = block.map((byte, at) => (byte << 1) | ((block[at + 1] ?? 0) >>> 7));
  if ((block[0] ?? 0) & 0x80) out[SIZE - 1] = (out[SIZE - 1] ?? 0) ^ 0x87;
  return out;
}

/** The end of a text, filled up with a one and zeros. */
function padded(rest: Uint8Array): Block {
  const block = new Uint8Array(SIZE);
  block.set(rest);
  block[rest.length] = 0x80;
  return block;
}

class Ocb {
  readonly #aes: Aes;
  readonly #star: Block;
  readonly #dollar: Block;
  /** `L` of as many trailing zeros as its index. */
  readonly #masks: Block[];

  constructor(aes: Aes) {
    this.#aes = aes;
    this.#star = aes.encrypt(new Uint8Array(SIZE));
    this.#dollar = double(this.#star);
    this.#masks = [double(this.#dollar)];
  }

  #mask(block: number): Block {
    const zeros = 31 - Math.clz32(block & -block);
    while (this.#masks.length <= zeros) this.#masks.push(double(this.#masks.at(-1) as Block));
    return this.#masks[zeros] as Block;
  }

  #hash(data: Uint8Array): Block {
    let sum: Block = new Uint8Array(SIZE);
    let offset: Block = new Uint8Array(SIZE);
    const whole = data.length - (data.length % SIZE);
    for (let at = 0; at < whole; at += SIZE) {
      offset = xor(offset, this.#mask(at / SIZE + 1));
      sum = xor(sum, this.#aes.encrypt(xor(data.subarray(at, at + SIZE), offset)));
    }
    if (whole === data.length) return sum;
    return xor(sum, this.#aes.encrypt(xor(padded(data.subarray(whole)), xor(offset, this.#star))));
  }

  #start(iv: Uint8Array, size: number): Block {
    const nonce = new Uint8Array(SIZE);
    nonce[0] = ((size * 8) % 128) << 1;
    nonce[SIZE - 1 - iv.length] = (nonce[SIZE - 1 - iv.length] ?? 0) | 1;
    nonce.set(iv, SIZE - iv.length);
    const bottom = (nonce[SIZE - 1] ?? 0) & 63;
    nonce[SIZE - 1] = (nonce[SIZE - 1] ?? 0) & 192;
    const top = this.#aes.encrypt(nonce);
    const stretch = join(top, xor(top.subarray(0, 8), top.subarray(1, 9)));
    const [bytes, bits] = [bottom >>> 3, bottom & 7];
    return Uint8Array.from(
      { length: SIZE },
      (_, at) => ((stretch[at + bytes] ?? 0) << bits) | ((stretch[at + bytes + 1] ?? 0) >>> (8 - bits)),
    );
  }

  run({ iv, size, more }: OcbParameters, data: Uint8Array, isSealing: boolean): { text: Block; tag: Block } {
    let offset = this.#start(iv, size);
    let sum: Block = new Uint8Array(SIZE);
    const text = new Uint8Array(data.length);
    const whole = data.length - (data.length % SIZE);
    for (let at = 0; at < whole; at += SIZE) {
      offset = xor(offset, this.#mask(at / SIZE + 1));
      const block = data.subarray(at, at + SIZE);
      const masked = xor(block, offset);
      const out = xor(isSealing ? this.#aes.encrypt(masked) : this.#aes.decrypt(masked), offset);
      text.set(out, at);
      sum = xor(sum, isSealing ? block : out);
    }
    if (whole < data.length) {
      offset = xor(offset, this.#star);
      const rest = data.subarray(whole);
      const out = xor(rest, this.#aes.encrypt(offset));
      text.set(out, whole);
      sum = xor(sum, padded(isSealing ? rest : out));
    }
    const tag = xor(this.#aes.encrypt(xor(xor(sum, offset), this.#dollar)), this.#hash(more));
    return { text, tag: tag.slice(0, size) };
  }
}

export function sealOcb(parameters: OcbParameters, data: Uint8Array): Block {
  const { text, tag } = new Ocb(parameters.aes).run(parameters, data, true);
  return join(text, tag);
}

/** The text; `undefined` if it is not authentic. */
export function openOcb(parameters: OcbParameters, data: Uint8Array): Block | undefined {
  const end = data.length - parameters.size;
  const { text, tag } = new Ocb(parameters.aes).run(parameters, data.subarray(0, end), false);
  return isSame(tag, data.subarray(end)) ? text : undefined;
}
