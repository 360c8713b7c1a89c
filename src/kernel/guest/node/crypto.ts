import { Buffer, bufferOver } from "./buffer.ts";
import { type Copied, NAMES, type Running, startHash, startHmac } from "./hashes.ts";
import { callable } from "./inner/callable.ts";
import { encode } from "./inner/encodings.ts";
import { checkFunction, checkInteger, checkString, invalidArgType, nodeError, outOfRange } from "./inner/errors.ts";
import { ended, LAST, LazyTransform, TAKE } from "./inner/lazy-transform.ts";
import { library, type NodeModule, random, soon } from "./inner/library.ts";
import type * as Tables from "./tables.ts";

/** `node:crypto`: hashes and random values. Keys, signatures and ciphers are parts of their own. */

const { from } = Buffer as unknown as { from(value: unknown, encoding?: unknown): Uint8Array };
const { toString: toText } = Buffer.prototype as { toString(encoding: unknown): string };

/** Bytes of a value that Node accepts as data: a text, a view, a buffer, or a secret key. */
export function dataOf(data: unknown, name: string, encoding?: unknown): Uint8Array {
  if (typeof data === "string")
    return typeof encoding === "string" && encoding !== "utf8" && encoding !== "buffer"
      ? from(data, encoding)
      : encode(data, "utf8");
  // A plain one: `slice` of a buffer makes no copy.
  if (data instanceof Uint8Array && Object.getPrototypeOf(data) === Uint8Array.prototype) return data;
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  throw invalidArgType(name, ["string", "ArrayBuffer", "Buffer", "TypedArray", "DataView"], data);
}

/** Bytes of a secret key in any form. */
export function keyBytes(key: unknown): Uint8Array {
  const isPlain = typeof key !== "object" || key === null || ArrayBuffer.isView(key) || key instanceof ArrayBuffer;
  // Code with a key object has loaded that part.
  return isPlain
    ? dataOf(key, "key")
    : (library.load("keys") as unknown as { secretIn(key: object): Uint8Array }).secretIn(key);
}

/** Bytes as a buffer or, with an encoding, as a text. */
export function shownAs(bytes: Uint8Array, encoding?: unknown): unknown {
  if (encoding === undefined || encoding === null || encoding === "buffer") return bufferOver(bytes);
  return Reflect.apply(toText, bytes, [encoding]);
}

/** The running hash of an object. No method: a tool that has one goes on with it when it is used for another hash. */
let runningOf: <State extends Running>(digesting: Digesting<State>) => State;

abstract class Digesting<State extends Running> extends LazyTransform {
  #running: State | null;
  /** Digest of a stream that has ended, for a later `digest`. */
  #streamed: Uint8Array | null = null;

  static {
    runningOf = (digesting) => {
      if (digesting.#running === null) throw nodeError(Error, "ERR_CRYPTO_HASH_FINALIZED", "Digest already called");
      return digesting.#running;
    };
  }

  constructor(running: State) {
    super();
    this.#running = running;
  }

  update(data: unknown, encoding?: unknown): this {
    runningOf(this).update(dataOf(data, "data", encoding));
    return this;
  }

  digest(encoding?: unknown): unknown {
    const streamed = this.#streamed;
    if (streamed !== null) {
      this.#streamed = null;
      return shownAs(streamed, encoding);
    }
    return shownAs(this.#finish(), encoding);
  }

  write(data: unknown, encoding?: unknown): boolean {
    this.update(data, encoding);
    return true;
  }

  end(data?: unknown, encoding?: unknown): this {
    if (data !== undefined && data !== null) this.update(data, encoding);
    ended.add(this);
    return this;
  }

  read(): unknown {
    return this.digest();
  }

  #finish(): Uint8Array {
    const running = runningOf(this);
    // First, because a full stack may end the digest.
    this.#running = null;
    ended.delete(this);
    return running.digest();
  }

  override [TAKE](chunk: unknown, encoding: string): void {
    this.update(chunk, encoding);
  }

  override [LAST](): unknown {
    const bytes = this.#finish();
    this.#streamed = bytes.slice();
    return bufferOver(bytes);
  }
}

function unsupported(name: string): Error {
  return nodeError(Error, "ERR_OSSL_EVP_UNSUPPORTED", `Digest method not supported: ${name}`);
}

interface HashOptions {
  readonly outputLength?: number;
}

class Hash extends Digesting<Copied> {
  constructor(algorithm: unknown, options?: HashOptions, running: Copied = hashing(algorithm, options)) {
    super(running);
  }

  copy(): Hash {
    return copyOf(runningOf(this));
  }
}

/** Outside of the class: bundling renames one that names itself. */
function copyOf(running: Copied): Hash {
  return new Hash(undefined, undefined, running.clone());
}

class Hmac extends Digesting<Running> {
  constructor(algorithm: unknown, key: unknown) {
    super(authenticating(algorithm, key));
  }

  override digest(encoding?: unknown): unknown {
    return super.digest(encoding);
  }
}

function hashing(algorithm: unknown, options?: HashOptions): Copied {
  checkString(algorithm, "algorithm");
  const running = startHash(algorithm, options?.outputLength);
  if (running === undefined) throw unsupported(algorithm);
  return running;
}

function authenticating(algorithm: unknown, key: unknown): Running {
  checkString(algorithm, "hmac");
  const running = startHmac(algorithm, keyBytes(key));
  if (running === undefined) throw nodeError(Error, "ERR_CRYPTO_INVALID_DIGEST", `Invalid digest: ${algorithm}`);
  return running;
}

function createHash(algorithm: unknown, options?: HashOptions): Hash {
  return new Hash(algorithm, options);
}

function createHmac(algorithm: unknown, key: unknown): Hmac {
  return new Hmac(algorithm, key);
}

function hash(algorithm: unknown, data: unknown, encoding: unknown = "hex"): unknown {
  return createHash(algorithm).update(data).digest(encoding);
}

const RANDOM_MAX = 2 ** 31 - 1;

/** Gives a result, or passes it to a callback, as functions do that have both forms. */
export function deliver<T>(make: () => T, callback: unknown): T | undefined {
  if (callback === undefined) return make();
  checkFunction(callback, "callback");
  let error: unknown = null;
  let value: T | undefined;
  try {
    value = make();
  } catch (thrown) {
    error = thrown;
  }
  soon(() => (error === null ? callback(null, value) : callback(error)));
  return undefined;
}

function randomBytes(size: unknown, callback?: unknown): unknown {
  checkInteger(size, "size", 0, RANDOM_MAX);
  return deliver(() => bufferOver(random(size)), callback);
}

function randomFillSync(buffer: unknown, offset: unknown = 0, size?: unknown): unknown {
  const bytes = dataOf(typeof buffer === "string" ? undefined : buffer, "buf");
  const width = ArrayBuffer.isView(buffer) && "BYTES_PER_ELEMENT" in buffer ? (buffer.BYTES_PER_ELEMENT as number) : 1;
  checkInteger(offset, "offset", 0, bytes.length);
  const count = size === undefined ? bytes.length - offset * width : (size as number) * width;
  checkInteger(count, "size", 0, bytes.length - offset * width);
  library.host.fillRandom(bytes.subarray(offset * width, offset * width + count));
  return buffer;
}

function randomFill(buffer: unknown, ...rest: readonly unknown[]): void {
  deliver(
    () => randomFillSync(buffer, rest.length > 1 ? rest[0] : 0, rest.length > 2 ? rest[1] : undefined),
    rest.at(-1),
  );
}

function randomInt(...args: readonly unknown[]): unknown {
  const callback = typeof args.at(-1) === "function" ? args.at(-1) : undefined;
  const [first, second] = callback === undefined ? args : args.slice(0, -1);
  const [min, max] = second === undefined ? [0, first] : [first, second];
  if (!Number.isSafeInteger(min)) throw invalidArgType("min", "a safe integer", min);
  if (!Number.isSafeInteger(max)) throw invalidArgType("max", "a safe integer", max);
  const [from, to] = [min as number, max as number];
  if (to <= from) throw outOfRange("max", `greater than the value of "min" (${from})`, to);
  const range = to - from;
  if (range > 2 ** 48 - 1) throw outOfRange(second === undefined ? "max" : "max - min", `<= ${2 ** 48 - 1}`, range);
  const make = (): number => {
    // The rest of a division would prefer small numbers.
    for (const limit = 2 ** 48 - (2 ** 48 % range); ;) {
      const value = random(6).reduce((sum, byte) => sum * 256 + byte, 0);
      if (value < limit) return from + (value % range);
    }
  };
  return deliver(make, callback);
}

function timingSafeEqual(a: unknown, b: unknown): boolean {
  const [one, other] = [viewed(a, "buf1"), viewed(b, "buf2")];
  if (one.length !== other.length)
    throw nodeError(RangeError, "ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH", "Input buffers must have the same byte length");
  let difference = 0;
  for (let at = 0; at < one.length; at++) difference |= (one[at] ?? 0) ^ (other[at] ?? 0);
  return difference === 0;
}

function viewed(value: unknown, name: string): Uint8Array {
  if (typeof value === "string") throw invalidArgType(name, ["ArrayBuffer", "Buffer", "TypedArray", "DataView"], value);
  return dataOf(value, name);
}

interface Parts {
  readonly shared: NodeModule;
}
const members = (part: string): NodeModule => (library.load(part) as Parts).shared;

/** Members of other parts, which are loaded when one is read. */
const ELSEWHERE: { readonly [part: string]: readonly string[] } = {
  derivation: ["pbkdf2", "pbkdf2Sync", "scrypt", "scryptSync", "hkdf", "hkdfSync"],
  ciphers: ["createCipheriv", "createDecipheriv", "Cipheriv", "Decipheriv", "getCipherInfo"],
  keys: ["KeyObject", "createSecretKey", "createPublicKey", "createPrivateKey"],
  "key-pairs": [
    "generateKey",
    "generateKeySync",
    "generateKeyPair",
    "generateKeyPairSync",
    "diffieHellman",
    "ECDH",
    "createECDH",
  ],
  signatures: [
    "sign",
    "verify",
    "createSign",
    "createVerify",
    "Sign",
    "Verify",
    "publicEncrypt",
    "privateDecrypt",
    "privateEncrypt",
    "publicDecrypt",
  ],
};

/** Members that are made when they are read. */
const getters: { [name: string]: () => unknown } = {
  constants: () => (library.load("tables") as unknown as typeof Tables).crypto,
  webcrypto: () => globalThis.crypto,
  subtle: () => (globalThis.crypto as { subtle: unknown }).subtle,
};
for (const [part, names] of Object.entries(ELSEWHERE)) {
  for (const name of names) getters[name] = () => members(part)[name];
}

const CURVES = ["prime256v1", "secp256k1", "secp384r1", "secp521r1"];
const CIPHERS = ["cbc", "ctr", "ecb", "gcm"].flatMap((mode) => [128, 192, 256].map((bits) => `aes-${bits}-${mode}`));

export const shared: NodeModule = {
  createHash,
  createHmac,
  Hash: callable(Hash),
  Hmac: callable(Hmac),
  hash,
  randomBytes,
  pseudoRandomBytes: randomBytes,
  prng: randomBytes,
  rng: randomBytes,
  randomFill,
  randomFillSync,
  randomInt,
  randomUUID: () => (globalThis.crypto as { randomUUID(): string }).randomUUID(),
  getRandomValues: (array: unknown) =>
    (globalThis.crypto as { getRandomValues(array: unknown): unknown }).getRandomValues(array),
  timingSafeEqual,
  getHashes: () => [...NAMES],
  getCiphers: () => [...CIPHERS, "chacha20-poly1305"],
  getCurves: () => [...CURVES],
  getFips: () => 0,
  setFips: () => undefined,
  setEngine: () => undefined,
  secureHeapUsed: () => ({ total: 0, used: 0, utilization: 0, min: 0 }),
  fips: false,
};

for (const [name, get] of Object.entries(getters)) Object.defineProperty(shared, name, { get });

export function samples(): readonly unknown[] {
  return [createHash("sha256"), createHmac("sha256", "")];
}
