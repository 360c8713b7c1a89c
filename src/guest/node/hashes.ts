import { hmac } from "@noble/hashes/hmac.js";
import { md5, sha1 } from "@noble/hashes/legacy.js";
import { sha224, sha256, sha384, sha512, sha512_224, sha512_256 } from "@noble/hashes/sha2.js";
import type { CHash } from "@noble/hashes/utils.js";
import { library } from "./inner/library.ts";
import type * as Rare from "./rare-hashes.ts";

/** Hash functions, by the names that OpenSSL and the web have for them. */

/** A running hash: it takes bytes, and gives a digest once. */
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

/** A hash function whose objects are used again: to make one takes longer than to hash a short text. */
class HashFunction {
  readonly #unused: State;
  readonly #spare: State[] = [];
  /** A key's block, and its halves: given a whole block, the library would make a view of it, which takes longer. */
  readonly #block: Uint8Array;
  readonly #halves: readonly [Uint8Array, Uint8Array];

  constructor(hash: CHash) {
    this.#unused = hash.create() as State;
    this.#block = new Uint8Array(hash.blockLen);
    this.#halves = [this.#block.subarray(0, hash.blockLen / 2), this.#block.subarray(hash.blockLen / 2)];
  }

  start(from: State = this.#unused): State {
    return from._cloneInto(this.#spare.pop());
  }

  /** The digest. The object forgets what it has hashed. */
  end(state: State): Uint8Array {
    const digest = state.digest();
    if (this.#spare.length < SPARE_MAX) this.#spare.push(state);
    return digest;
  }

  /** The two hashes of an HMAC (RFC 2104). */
  startKeyed(given: Uint8Array): readonly [inner: State, outer: State] {
    const key = given.length > this.#block.length ? this.#of(given) : given;
    const keyed = [this.#keyed(key, 0x36), this.#keyed(key, 0x5c)] as const;
    this.#block.fill(0);
    return keyed;
  }

  #keyed(key: Uint8Array, mask: number): State {
    const block = this.#block;
    block.fill(mask);
    for (let at = 0; at < key.length; at++) block[at] = (key[at] ?? 0) ^ mask;
    const state = this.start();
    for (const half of this.#halves) state.update(half);
    return state;
  }

  #of(bytes: Uint8Array): Uint8Array {
    const state = this.start();
    state.update(bytes);
    return this.end(state);
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

class RunningHmac implements Running {
  readonly #hash: HashFunction;
  readonly #inner: State;
  readonly #outer: State;

  constructor(hash: HashFunction, key: Uint8Array) {
    this.#hash = hash;
    [this.#inner, this.#outer] = hash.startKeyed(key);
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
/** What is loaded when a name asks for it. */
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

/** A hash function; `undefined` if there is no such one. */
export function hashNamed(name: string): CHash | undefined {
  const plain = plainName(name);
  return HASHES.get(plain) ?? rare().HASHES.get(plain);
}

const functions = new Map<string, HashFunction>();

function functionNamed(name: string): HashFunction | undefined {
  const plain = functions.has(name) ? name : plainName(name);
  const known = functions.get(plain);
  if (known !== undefined) return known;
  const hash = hashNamed(plain);
  if (hash === undefined) return undefined;
  const made = new HashFunction(hash);
  functions.set(plain, made);
  return made;
}

export function startHash(name: string, bytes?: number): Copied | undefined {
  const hash = functionNamed(name);
  return hash === undefined ? rare().startShake(plainName(name), bytes) : new RunningHash(hash);
}

export function startHmac(name: string, key: Uint8Array): Running | undefined {
  const hash = functionNamed(name);
  return hash === undefined ? undefined : new RunningHmac(hash, key);
}

export function hmacOf(hash: CHash, key: Uint8Array, data: Uint8Array): Uint8Array {
  return hmac(hash, key, data);
}
