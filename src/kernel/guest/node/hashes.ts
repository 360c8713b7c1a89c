import { hmac } from "@noble/hashes/hmac.js";
import { md5, sha1 } from "@noble/hashes/legacy.js";
import { sha224, sha256, sha384, sha512, sha512_224, sha512_256 } from "@noble/hashes/sha2.js";
import type { CHash } from "@noble/hashes/utils.js";
import { library } from "./inner/library.ts";
import type * as Rare from "./rare-hashes.ts";

/** Hash functions, by the names that OpenSSL and the web have for them. */

/** A running hash: it takes bytes, and returns a digest once. */
export interface Running {
  update(bytes: Uint8Array): unknown;
  digest(): Uint8Array;
}

/** One that can be copied while it runs. */
export interface Copied extends Running {
  clone(): Copied;
}

/** An object of `@noble/hashes`. */
interface State extends Running {
  _cloneInto(to?: State): State;
}

/** Objects of a hash function that are kept for the next hashes. */
const SPARE_MAX = 8;

/** A hash function that reuses its objects: making one takes longer than hashing a short text. */
class HashFunction {
  readonly #unused: State;
  readonly #spare: State[] = [];
  /** A key's block, and its halves: given a whole block, the library would make a view of it, which takes longer. */
  readonly #block: Uint8Array;
  readonly #firstHalf: Uint8Array;
  readonly #secondHalf: Uint8Array;

  constructor(hash: CHash) {
    this.#unused = hash.create() as State;
    this.#block = new Uint8Array(hash.blockLen);
    this.#firstHalf = this.#block.subarray(0, hash.blockLen / 2);
    this.#secondHalf = this.#block.subarray(hash.blockLen / 2);
  }

  start(from: State = this.#unused): State {
    return from._cloneInto(this.#spare.pop());
  }

  /** The digest. The object is reset. */
  end(state: State): Uint8Array {
    const digest = state.digest();
    if (this.#spare.length < SPARE_MAX) this.#spare.push(state);
    return digest;
  }

  /** A key that fits a block. */
  keyOf(given: Uint8Array): Uint8Array {
    if (given.length <= this.#block.length) return given;
    const state = this.start();
    state.update(given);
    return this.end(state);
  }

  /** A hash that begins with a key's block. */
  startKeyed(key: Uint8Array, mask: number): State {
    const block = this.#block;
    block.fill(mask);
    for (let at = 0; at < key.length; at++) block[at] = (key[at] ?? 0) ^ mask;
    const state = this.start();
    state.update(this.#firstHalf);
    state.update(this.#secondHalf);
    block.fill(0);
    return state;
  }
}

class RunningHash implements Copied {
  readonly #hash: HashFunction;
  readonly #state: State;

  constructor(hash: HashFunction, state: State = hash.start()) {
    this.#hash = hash;
    this.#state = state;
  }

  update(bytes: Uint8Array): void {
    this.#state.update(bytes);
  }

  digest(): Uint8Array {
    return this.#hash.end(this.#state);
  }

  clone(): RunningHash {
    return new RunningHash(this.#hash, this.#hash.start(this.#state));
  }
}

const INNER = 0x36;
const OUTER = 0x5c;

/** HMAC (RFC 2104). */
class RunningHmac implements Running {
  readonly #hash: HashFunction;
  readonly #inner: State;
  readonly #outer: State;

  constructor(hash: HashFunction, given: Uint8Array) {
    this.#hash = hash;
    const key = hash.keyOf(given);
    this.#inner = hash.startKeyed(key, INNER);
    this.#outer = hash.startKeyed(key, OUTER);
  }

  update(bytes: Uint8Array): void {
    this.#inner.update(bytes);
  }

  digest(): Uint8Array {
    this.#outer.update(this.#hash.end(this.#inner));
    return this.#hash.end(this.#outer);
  }
}

const HASHES: ReadonlyMap<string, CHash> = new Map<string, CHash>([
  ["md5", md5],
  ["sha1", sha1],
  ["sha224", sha224],
  ["sha256", sha256],
  ["sha384", sha384],
  ["sha512", sha512],
  ["sha512224", sha512_224],
  ["sha512256", sha512_256],
]);
/** Further hash functions, evaluated when one is requested by name. */
const rare = (): typeof Rare => library.load("rare-hashes") as unknown as typeof Rare;

/** Names of Node's list of hash functions. */
export const NAMES = [
  "RSA-MD5",
  "RSA-RIPEMD160",
  "RSA-SHA1",
  "RSA-SHA224",
  "RSA-SHA256",
  "RSA-SHA384",
  "RSA-SHA512",
  "blake2b512",
  "blake2s256",
  "md5",
  "ripemd160",
  "rmd160",
  "sha1",
  "sha224",
  "sha256",
  "sha3-224",
  "sha3-256",
  "sha3-384",
  "sha3-512",
  "sha384",
  "sha512",
  "sha512-224",
  "sha512-256",
  "shake128",
  "shake256",
];

function plainName(name: string): string {
  const plain = name.toLowerCase().replace(/^rsa-/, "").replaceAll(/[-/_]/g, "");
  return plain === "rmd160" || plain === "ripemd" ? "ripemd160" : plain;
}

/** A hash function; `undefined` if none exists. */
export function hashNamed(name: string): CHash | undefined {
  const plain = plainName(name);
  return HASHES.get(plain) ?? rare().HASHES.get(plain);
}

const functions = new Map<string, HashFunction>();

function functionNamed(name: string): HashFunction | undefined {
  const plain = plainName(name);
  const hash = hashNamed(plain);
  if (hash === undefined) return undefined;
  const made = functions.get(plain) ?? new HashFunction(hash);
  functions.set(plain, made);
  return made;
}

export function startHash(name: string, bytes?: number): Copied | undefined {
  const hash = functions.get(name) ?? functionNamed(name);
  return hash === undefined ? rare().startShake(plainName(name), bytes) : new RunningHash(hash);
}

export function startHmac(name: string, key: Uint8Array): Running | undefined {
  const hash = functions.get(name) ?? functionNamed(name);
  return hash === undefined ? undefined : new RunningHmac(hash, key);
}

export function hmacOf(hash: CHash, key: Uint8Array, data: Uint8Array): Uint8Array {
  return hmac(hash, key, data);
}
