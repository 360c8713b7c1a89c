import { hkdf as deriveHkdf } from "@noble/hashes/hkdf.js";
import { pbkdf2 as derivePbkdf2 } from "@noble/hashes/pbkdf2.js";
import { scrypt as deriveScrypt } from "@noble/hashes/scrypt.js";
import { bufferOver } from "./buffer.ts";
import { dataOf, deliver, keyBytes } from "./crypto.ts";
import { hashNamed } from "./hashes.ts";
import { checkInteger, checkString, invalidArgType, nodeError } from "./inner/errors.ts";
import type { NodeModule } from "./inner/library.ts";

/** Derivation of keys: PBKDF2, scrypt and HKDF. */

const LENGTH_MAX = 2 ** 31 - 1;

function hashFor(digest: unknown) {
  checkString(digest, "digest");
  const hash = hashNamed(digest);
  if (hash === undefined) throw nodeError(TypeError, "ERR_CRYPTO_INVALID_DIGEST", `Invalid digest: ${digest}`);
  return hash;
}

function pbkdf2Sync(password: unknown, salt: unknown, iterations: unknown, length: unknown, digest: unknown): unknown {
  checkString(digest, "digest");
  const [secret, salted] = [dataOf(password, "password"), dataOf(salt, "salt")];
  checkInteger(iterations, "iterations", 1, LENGTH_MAX);
  checkInteger(length, "keylen", 0, LENGTH_MAX);
  if (length === 0) return bufferOver(new Uint8Array(0));
  return bufferOver(derivePbkdf2(hashFor(digest), secret, salted, { c: iterations, dkLen: length }));
}

function pbkdf2(
  password: unknown,
  salt: unknown,
  iterations: unknown,
  length: unknown,
  digest: unknown,
  callback: unknown,
): void {
  checkString(digest, "digest");
  deliver(() => pbkdf2Sync(password, salt, iterations, length, digest), callback ?? null);
}

interface ScryptOptions {
  readonly N?: number;
  readonly r?: number;
  readonly p?: number;
  readonly cost?: number;
  readonly blockSize?: number;
  readonly parallelization?: number;
  readonly maxmem?: number;
}

function scryptSync(password: unknown, salt: unknown, length: unknown, options: ScryptOptions = {}): unknown {
  const [secret, salted] = [dataOf(password, "password"), dataOf(salt, "salt")];
  checkInteger(length, "keylen", 0, LENGTH_MAX);
  const N = options.N ?? options.cost ?? 16_384;
  const r = options.r ?? options.blockSize ?? 8;
  const p = options.p ?? options.parallelization ?? 1;
  const maxmem = options.maxmem ?? 32 * 1024 * 1024;
  if (N < 2 || (N & (N - 1)) !== 0 || 128 * N * r > maxmem) {
    throw nodeError(RangeError, "ERR_CRYPTO_INVALID_SCRYPT_PARAMS", "Invalid scrypt params: memory limit exceeded");
  }
  if (length === 0) return bufferOver(new Uint8Array(0));
  return bufferOver(deriveScrypt(secret, salted, { N, r, p, dkLen: length, maxmem: maxmem + 1024 * 1024 }));
}

function scrypt(password: unknown, salt: unknown, length: unknown, ...rest: readonly unknown[]): void {
  const options = rest.length > 1 ? (rest[0] as ScryptOptions) : {};
  deliver(() => scryptSync(password, salt, length, options), rest.at(-1) ?? null);
}

function hkdfSync(digest: unknown, key: unknown, salt: unknown, info: unknown, length: unknown): ArrayBuffer {
  const hash = hashFor(digest);
  const [secret, salted, context] = [keyBytes(key), dataOf(salt, "salt"), dataOf(info, "info")];
  if (context.length > 1024)
    throw nodeError(
      RangeError,
      "ERR_OUT_OF_RANGE",
      'The value of "info" is out of range. It must be less than 1024 bytes',
    );
  checkInteger(length, "length", 0, LENGTH_MAX);
  if (length > 255 * hash.outputLen) throw nodeError(RangeError, "ERR_CRYPTO_INVALID_KEYLEN", "Invalid key length");
  if (length === 0) return new ArrayBuffer(0);
  return deriveHkdf(hash, secret, salted, context, length).slice().buffer;
}

function hkdf(digest: unknown, key: unknown, salt: unknown, info: unknown, length: unknown, callback: unknown): void {
  if (typeof callback !== "function") throw invalidArgType("callback", "function", callback);
  deliver(() => hkdfSync(digest, key, salt, info, length), callback);
}

export const shared: NodeModule = { pbkdf2, pbkdf2Sync, scrypt, scryptSync, hkdf, hkdfSync };
