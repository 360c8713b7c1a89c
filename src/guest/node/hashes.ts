import { blake2b, blake2s } from "@noble/hashes/blake2.js";
import { hmac } from "@noble/hashes/hmac.js";
import { md5, ripemd160, sha1 } from "@noble/hashes/legacy.js";
import { sha224, sha256, sha384, sha512, sha512_224, sha512_256 } from "@noble/hashes/sha2.js";
import { sha3_224, sha3_256, sha3_384, sha3_512, shake128, shake256 } from "@noble/hashes/sha3.js";
import type { CHash } from "@noble/hashes/utils.js";

/** Hash functions, by the names that OpenSSL and the web have for them. */

const HASHES: ReadonlyMap<string, CHash> = new Map<string, CHash>([
  ["md5", md5],
  ["sha1", sha1],
  ["ripemd160", ripemd160],
  ["sha224", sha224],
  ["sha256", sha256],
  ["sha384", sha384],
  ["sha512", sha512],
  ["sha512224", sha512_224],
  ["sha512256", sha512_256],
  ["sha3224", sha3_224],
  ["sha3256", sha3_256],
  ["sha3384", sha3_384],
  ["sha3512", sha3_512],
  ["blake2b512", blake2b],
  ["blake2s256", blake2s],
]);
const SHAKES = new Map([
  ["shake128", { make: shake128, bytes: 16 }],
  ["shake256", { make: shake256, bytes: 32 }],
]);
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

/** Names that `createHash` is called with most: found without being changed. */
const PLAIN: ReadonlyMap<string, string> = new Map([
  ["sha256", "sha256"],
  ["SHA-256", "sha256"],
  ["sha1", "sha1"],
  ["md5", "md5"],
  ["sha512", "sha512"],
]);

function plainName(name: string): string {
  const known = PLAIN.get(name);
  if (known !== undefined) return known;
  const plain = name.toLowerCase().replace(/^rsa-/, "").replaceAll(/[-/_]/g, "");
  return plain === "rmd160" || plain === "ripemd" ? "ripemd160" : plain;
}

/** A hash function; `undefined` if there is no such one. */
export function hashNamed(name: string): CHash | undefined {
  return HASHES.get(plainName(name));
}

/** A running hash: it takes bytes, and gives a digest once. */
export interface Running {
  update(bytes: Uint8Array): unknown;
  digest(): Uint8Array;
  clone(): Running;
  readonly outputLen: number;
}

export function startHash(name: string, length?: number): Running | undefined {
  const plain = plainName(name);
  const shake = SHAKES.get(plain);
  if (shake !== undefined) return shake.make.create({ dkLen: length ?? shake.bytes }) as unknown as Running;
  return HASHES.get(plain)?.create() as Running | undefined;
}

export function startHmac(name: string, key: Uint8Array): Running | undefined {
  const hash = hashNamed(name);
  return hash === undefined ? undefined : (hmac.create(hash, key) as unknown as Running);
}

export function hmacOf(hash: CHash, key: Uint8Array, data: Uint8Array): Uint8Array {
  return hmac(hash, key, data);
}
