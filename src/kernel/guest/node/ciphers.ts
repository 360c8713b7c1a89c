import { chacha20poly1305 } from "@noble/ciphers/chacha.js";
import { bufferOver } from "./buffer.ts";
import { dataOf, keyBytes, shownAs } from "./crypto.ts";
import { Aes, GcmTag } from "./inner/aes.ts";
import { callable } from "./inner/callable.ts";
import { isSame } from "./inner/rsa.ts";
import { join } from "./inner/asn1.ts";
import { checkString, invalidArgType, nodeError } from "./inner/errors.ts";
import { LAST, LazyTransform, TAKE } from "./inner/lazy-transform.ts";
import type { NodeModule } from "./inner/library.ts";

/** Ciphers of `node:crypto`: AES in the modes CBC, CTR, ECB and GCM, and ChaCha20-Poly1305. */

const NAME = /^(?:id-)?aes-?(128|192|256)-?(cbc|ctr|ecb|gcm)$/;

interface Cipher {
  readonly bits: number;
  readonly mode: "cbc" | "ctr" | "ecb" | "gcm" | "chacha";
}

function cipherNamed(name: string): Cipher | undefined {
  const lower = name.toLowerCase();
  if (lower === "chacha20-poly1305") return { bits: 256, mode: "chacha" };
  const [, bits, mode] =
    NAME.exec(lower === "aes128" || lower === "aes192" || lower === "aes256" ? `${lower}-cbc` : lower) ?? [];
  return mode === undefined ? undefined : { bits: Number(bits), mode: mode as Cipher["mode"] };
}

function failed(): Error {
  return nodeError(Error, "ERR_OSSL_BAD_DECRYPT", "error:1C800064:Provider routines::bad decrypt");
}

const unauthentic = (): Error => new Error("Unsupported state or unable to authenticate data");

abstract class Ciphering extends LazyTransform {
  readonly #cipher: Cipher;
  readonly #aes: Aes | null;
  readonly #key: Uint8Array;
  readonly #iv: Uint8Array;
  readonly #isEncrypting: boolean;
  #rest = new Uint8Array(0);
  #last: Uint8Array;
  #counter: Uint8Array;
  #isPadded = true;
  #aad = new Uint8Array(0);
  readonly #ghash: GcmTag | null;
  #tag: Uint8Array | null = null;
  #isFinal = false;

  constructor(isEncrypting: boolean, name: unknown, key: unknown, iv: unknown) {
    super();
    checkString(name, "cipher");
    const cipher = cipherNamed(name);
    if (cipher === undefined) throw nodeError(RangeError, "ERR_CRYPTO_UNKNOWN_CIPHER", "Unknown cipher");
    const secret = keyBytes(key);
    if (secret.length * 8 !== cipher.bits)
      throw nodeError(RangeError, "ERR_CRYPTO_INVALID_KEYLEN", "Invalid key length");
    if (iv === undefined) throw invalidArgType("iv", ["string", "ArrayBuffer", "Buffer", "TypedArray", "DataView"], iv);
    const vector = iv === null ? new Uint8Array(0) : dataOf(iv, "iv").slice();
    const size = cipher.mode === "ecb" ? 0 : cipher.mode === "gcm" ? vector.length : cipher.mode === "chacha" ? 12 : 16;
    if (vector.length !== size || (cipher.mode === "gcm" && size === 0)) {
      throw nodeError(TypeError, "ERR_CRYPTO_INVALID_IV", "Invalid initialization vector");
    }
    this.#isEncrypting = isEncrypting;
    this.#cipher = cipher;
    this.#key = secret.slice();
    this.#iv = vector;
    this.#aes = cipher.mode === "chacha" ? null : new Aes(secret);
    this.#last = vector;
    this.#ghash = cipher.mode === "gcm" && this.#aes !== null ? new GcmTag(this.#aes, vector) : null;
    this.#counter = this.#ghash === null ? vector.slice() : this.#ghash.firstCounter();
  }

  update(data: unknown, encoding?: unknown, shown?: unknown): unknown {
    const bytes = dataOf(data, "data", encoding);
    return shownAs(this.#run(bytes), shown);
  }

  #run(bytes: Uint8Array): Uint8Array {
    const { mode } = this.#cipher;
    if (mode === "chacha") {
      this.#rest = join(this.#rest, bytes);
      return new Uint8Array(0);
    }
    if (mode === "cbc" || mode === "ecb") return this.#blocks(bytes);
    const out = this.#stream(bytes);
    this.#ghash?.update(this.#isEncrypting ? out : bytes);
    return out;
  }

  /** Whole blocks; when decrypting, the last one waits, because it has the padding. */
  #blocks(bytes: Uint8Array): Uint8Array {
    const all = join(this.#rest, bytes);
    const keeps =
      !this.#isEncrypting && this.#isPadded && all.length % 16 === 0 && all.length > 0 ? 16 : all.length % 16;
    const whole = all.length - keeps;
    this.#rest = all.slice(whole);
    const out = new Uint8Array(whole);
    for (let at = 0; at < whole; at += 16) out.set(this.#block(all.subarray(at, at + 16)), at);
    return out;
  }

  #block(block: Uint8Array): Uint8Array {
    const aes = this.#aes as Aes;
    const isChained = this.#cipher.mode === "cbc";
    if (this.#isEncrypting) {
      const out = aes.encrypt(isChained ? block.map((byte, at) => byte ^ (this.#last[at] ?? 0)) : block);
      this.#last = out;
      return out;
    }
    const plain = aes.decrypt(block);
    const out = isChained ? plain.map((byte, at) => byte ^ (this.#last[at] ?? 0)) : plain;
    this.#last = block.slice();
    return out;
  }

  #key16 = new Uint8Array(0);

  #stream(bytes: Uint8Array): Uint8Array {
    const out = new Uint8Array(bytes.length);
    for (let at = 0; at < bytes.length; at++) {
      if (this.#key16.length === 0) {
        this.#key16 = (this.#aes as Aes).encrypt(this.#counter);
        Aes.count(this.#counter, this.#ghash === null ? 16 : 4);
      }
      out[at] = (bytes[at] ?? 0) ^ (this.#key16[0] ?? 0);
      this.#key16 = this.#key16.subarray(1);
    }
    return out;
  }

  final(shown?: unknown): unknown {
    if (this.#isFinal) throw nodeError(Error, "ERR_CRYPTO_INVALID_STATE", "Invalid state for operation final");
    this.#isFinal = true;
    return shownAs(this.#end(), shown);
  }

  #end(): Uint8Array {
    const { mode } = this.#cipher;
    if (mode === "chacha") return this.#endChacha();
    if (mode === "ctr") return new Uint8Array(0);
    if (mode === "gcm") {
      const tag = (this.#ghash as GcmTag).finish();
      if (this.#isEncrypting) this.#tag = tag;
      else if (this.#tag === null || !isSame(tag.subarray(0, this.#tag.length), this.#tag)) throw unauthentic();
      return new Uint8Array(0);
    }
    if (!this.#isPadded) {
      if (this.#rest.length > 0)
        throw nodeError(
          Error,
          "ERR_OSSL_WRONG_FINAL_BLOCK_LENGTH",
          "error:1C80006B:Provider routines::wrong final block length",
        );
      return this.#rest;
    }
    if (this.#isEncrypting) {
      const count = 16 - this.#rest.length;
      return this.#block(join(this.#rest, new Uint8Array(count).fill(count)));
    }
    if (this.#rest.length !== 16)
      throw nodeError(
        Error,
        "ERR_OSSL_WRONG_FINAL_BLOCK_LENGTH",
        "error:1C80006B:Provider routines::wrong final block length",
      );
    const block = this.#block(this.#rest);
    const count = block[15] ?? 0;
    if (count < 1 || count > 16 || block.subarray(16 - count).some((byte) => byte !== count)) throw failed();
    return block.slice(0, 16 - count);
  }

  #endChacha(): Uint8Array {
    const cipher = chacha20poly1305(this.#key, this.#iv, this.#aad);
    if (this.#isEncrypting) {
      const sealed = cipher.encrypt(this.#rest);
      this.#tag = sealed.slice(-16);
      return sealed.slice(0, -16);
    }
    try {
      return cipher.decrypt(join(this.#rest, this.#tag ?? new Uint8Array(16)));
    } catch {
      throw unauthentic();
    }
  }

  setAutoPadding(isPadded: unknown = true): this {
    this.#isPadded = Boolean(isPadded);
    return this;
  }

  setAAD(data: unknown): this {
    const bytes = dataOf(data, "buffer");
    this.#aad = join(this.#aad, bytes);
    this.#ghash?.authenticate(bytes);
    return this;
  }

  override [TAKE](chunk: unknown, encoding: string): unknown {
    return this.update(chunk, encoding);
  }

  override [LAST](): unknown {
    return this.final();
  }

  protected get tag(): Uint8Array | null {
    return this.#tag;
  }

  protected set tag(tag: Uint8Array | null) {
    this.#tag = tag;
  }
}

class Cipheriv extends Ciphering {
  constructor(name: unknown, key: unknown, iv: unknown) {
    super(true, name, key, iv);
  }

  getAuthTag(): unknown {
    if (this.tag === null) throw nodeError(Error, "ERR_CRYPTO_INVALID_STATE", "Invalid state for operation getAuthTag");
    return bufferOver(this.tag);
  }
}

class Decipheriv extends Ciphering {
  constructor(name: unknown, key: unknown, iv: unknown) {
    super(false, name, key, iv);
  }

  setAuthTag(tag: unknown, encoding?: unknown): this {
    const bytes = dataOf(tag, "tag", encoding);
    if (![4, 8, 12, 13, 14, 15, 16].includes(bytes.length))
      throw nodeError(TypeError, "ERR_CRYPTO_INVALID_AUTH_TAG", `Invalid authentication tag length: ${bytes.length}`);
    this.tag = bytes.slice();
    return this;
  }
}

function getCipherInfo(name: unknown): object | undefined {
  const cipher = cipherNamed(String(name as string));
  if (cipher === undefined) return undefined;
  const { bits, mode } = cipher;
  return {
    name,
    mode,
    keyLength: bits / 8,
    ...(mode === "ecb" ? {} : { ivLength: mode === "gcm" || mode === "chacha" ? 12 : 16 }),
  };
}

export const shared: NodeModule = {
  Cipheriv: callable(Cipheriv),
  Decipheriv: callable(Decipheriv),
  createCipheriv: (name: unknown, key: unknown, iv: unknown) => new Cipheriv(name, key, iv),
  createDecipheriv: (name: unknown, key: unknown, iv: unknown) => new Decipheriv(name, key, iv),
  getCipherInfo,
};
