import { bigOf, bytesOfBig, join } from "./asn1.ts";

/** RSA (RFC 8017) by integers of the language. Its time depends on the key, as in most software signers. */

export interface RsaPublic {
  readonly n: bigint;
  readonly e: bigint;
}

export interface RsaPrivate extends RsaPublic {
  readonly d: bigint;
  readonly p: bigint;
  readonly q: bigint;
  readonly dp: bigint;
  readonly dq: bigint;
  readonly qi: bigint;
}

/** A hash function as RSA uses it. */
export type Hashing = (bytes: Uint8Array) => Uint8Array;
export type Random = (size: number) => Uint8Array;

/** Maximum size of a modulus, in bits: an operation with a larger one would take a call's whole time. */
export const BITS_MAX = 8192;

function power(base: bigint, exponent: bigint, modulus: bigint): bigint {
  // A window of four bits: a quarter of the multiplications of one bit after the other.
  const table = [1n, base % modulus];
  for (let at = 2; at < 16; at++) table.push(((table[at - 1] ?? 1n) * (table[1] ?? 1n)) % modulus);
  let result = 1n;
  for (const digit of exponent.toString(16)) {
    result = (result * result) % modulus;
    result = (result * result) % modulus;
    result = (result * result) % modulus;
    result = (result * result) % modulus;
    const value = Number.parseInt(digit, 16);
    if (value > 0) result = (result * (table[value] ?? 1n)) % modulus;
  }
  return result;
}

export function modulusBytes({ n }: RsaPublic): number {
  return (n.toString(16).length + 1) >>> 1;
}

export function modulusBits({ n }: RsaPublic): number {
  return n.toString(2).length;
}

export function raisePublic(key: RsaPublic, value: bigint): bigint {
  return power(value, key.e, key.n);
}

export function raisePrivate(key: RsaPrivate, value: bigint): bigint {
  const { p, q, dp, dq, qi } = key;
  const first = power(value % p, dp, p);
  const second = power(value % q, dq, q);
  const difference = (((first - second) % p) + p) % p;
  return second + q * ((qi * difference) % p);
}

/** Prefixes of PKCS #1 v1.5's signatures, with the hash function's name. */
const PREFIXES: ReadonlyMap<string, string> = new Map([
  ["md5", "3020300c06082a864886f70d020505000410"],
  ["sha1", "3021300906052b0e03021a05000414"],
  ["sha224", "302d300d06096086480165030402040500041c"],
  ["sha256", "3031300d060960864801650304020105000420"],
  ["sha384", "3041300d060960864801650304020205000430"],
  ["sha512", "3051300d060960864801650304020305000440"],
  ["sha3224", "302d300d06096086480165030402070500041c"],
  ["sha3256", "3031300d060960864801650304020805000420"],
  ["sha3384", "3041300d060960864801650304020905000430"],
  ["sha3512", "3051300d060960864801650304020a05000440"],
]);

function prefixOf(hash: string): Uint8Array {
  const hex = PREFIXES.get(hash.toLowerCase().replace(/^rsa-/, "").replaceAll("-", ""));
  if (hex === undefined) throw new TypeError(`RSA has no signature with ${hash}`);
  return Uint8Array.from(hex.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16));
}

/** `00 01 ff … 00` and the content. */
function padded(size: number, content: Uint8Array): Uint8Array {
  const filler = size - content.length - 3;
  if (filler < 8) throw new RangeError("the key is too short for the data");
  return join(Uint8Array.of(0, 1), new Uint8Array(filler).fill(0xff), Uint8Array.of(0), content);
}

/** The signature of a digest by PKCS #1 v1.5. `hash`: its name; empty for data that is no digest. */
export function signPkcs1(key: RsaPrivate, hash: string, digest: Uint8Array): Uint8Array {
  const size = modulusBytes(key);
  const content = hash === "" ? digest : join(prefixOf(hash), digest);
  return bytesOfBig(raisePrivate(key, bigOf(padded(size, content))), size);
}

export function verifyPkcs1(key: RsaPublic, hash: string, digest: Uint8Array, signature: Uint8Array): boolean {
  const size = modulusBytes(key);
  const value = bigOf(signature);
  if (signature.length !== size || value >= key.n) return false;
  return isSame(bytesOfBig(raisePublic(key, value), size), padded(size, join(prefixOf(hash), digest)));
}

export function isSame(a: Uint8Array, b: Uint8Array): boolean {
  let difference = a.length ^ b.length;
  for (let at = 0; at < a.length; at++) difference |= (a[at] ?? 0) ^ (b[at] ?? 0);
  return difference === 0;
}

function mask(hash: Hashing, seed: Uint8Array, length: number): Uint8Array {
  const parts: Uint8Array[] = [];
  for (let counter = 0, made = 0; made < length; counter++) {
    const part = hash(join(seed, bytesOfBig(BigInt(counter), 4)));
    parts.push(part);
    made += part.length;
  }
  return join(...parts).subarray(0, length);
}

function xor(a: Uint8Array, b: Uint8Array): Uint8Array {
  return a.map((byte, at) => byte ^ (b[at] ?? 0));
}

export function signPss(key: RsaPrivate, hash: Hashing, digest: Uint8Array, salt: Uint8Array): Uint8Array {
  const bits = modulusBits(key) - 1;
  const size = (bits + 7) >>> 3;
  const hashed = hash(join(new Uint8Array(8), digest, salt));
  const filler = size - salt.length - hashed.length - 2;
  if (filler < 0) throw new RangeError("the key is too short for the data");
  const block = join(new Uint8Array(filler), Uint8Array.of(1), salt);
  const masked = xor(block, mask(hash, hashed, block.length));
  masked[0] = (masked[0] ?? 0) & (0xff >>> (8 * size - bits));
  const encoded = join(masked, hashed, Uint8Array.of(0xbc));
  return bytesOfBig(raisePrivate(key, bigOf(encoded)), modulusBytes(key));
}

/** `saltLength`: `undefined` for any. */
export function verifyPss(
  key: RsaPublic,
  hash: Hashing,
  digest: Uint8Array,
  signature: Uint8Array,
  saltLength: number | undefined,
): boolean {
  const bits = modulusBits(key) - 1;
  const size = (bits + 7) >>> 3;
  const value = bigOf(signature);
  if (signature.length !== modulusBytes(key) || value >= key.n) return false;
  const raised = raisePublic(key, value);
  if (raised >= 1n << BigInt(8 * size)) return false;
  const encoded = bytesOfBig(raised, size);
  const blockLength = size - digest.length - 1;
  if (blockLength < 1 || encoded.at(-1) !== 0xbc) return false;
  const masked = encoded.subarray(0, blockLength);
  const hashed = encoded.subarray(blockLength, size - 1);
  if (((masked[0] ?? 0) & ~(0xff >>> (8 * size - bits)) & 0xff) !== 0) return false;
  const block = xor(masked, mask(hash, hashed, blockLength));
  block[0] = (block[0] ?? 0) & (0xff >>> (8 * size - bits));
  const one = block.findIndex((byte) => byte !== 0);
  if (one < 0 || block[one] !== 1) return false;
  const salt = block.subarray(one + 1);
  if (saltLength !== undefined && salt.length !== saltLength) return false;
  return isSame(hashed, hash(join(new Uint8Array(8), digest, salt)));
}

export function encryptOaep(
  key: RsaPublic,
  hash: Hashing,
  data: Uint8Array,
  label: Uint8Array,
  random: Random,
): Uint8Array {
  const size = modulusBytes(key);
  const labelHash = hash(label);
  const filler = size - data.length - 2 * labelHash.length - 2;
  if (filler < 0) throw new RangeError("the data is too long for the key");
  const block = join(labelHash, new Uint8Array(filler), Uint8Array.of(1), data);
  const seed = random(labelHash.length);
  const masked = xor(block, mask(hash, seed, block.length));
  const maskedSeed = xor(seed, mask(hash, masked, seed.length));
  return bytesOfBig(raisePublic(key, bigOf(join(Uint8Array.of(0), maskedSeed, masked))), size);
}

export function decryptOaep(key: RsaPrivate, hash: Hashing, data: Uint8Array, label: Uint8Array): Uint8Array {
  const size = modulusBytes(key);
  const labelHash = hash(label);
  const value = bigOf(data);
  const failed = (): Error => new Error("the data cannot be decrypted");
  if (data.length !== size || value >= key.n || size < 2 * labelHash.length + 2) throw failed();
  const encoded = bytesOfBig(raisePrivate(key, value), size);
  const maskedSeed = encoded.subarray(1, 1 + labelHash.length);
  const masked = encoded.subarray(1 + labelHash.length);
  const seed = xor(maskedSeed, mask(hash, masked, labelHash.length));
  const block = xor(masked, mask(hash, seed, masked.length));
  const rest = block.subarray(labelHash.length);
  const one = rest.findIndex((byte) => byte !== 0);
  const isRight = isSame(block.subarray(0, labelHash.length), labelHash) && encoded[0] === 0 && rest[one] === 1;
  if (!isRight || one < 0) throw failed();
  return rest.slice(one + 1);
}

export function encryptPkcs1(key: RsaPublic, data: Uint8Array, random: Random): Uint8Array {
  const size = modulusBytes(key);
  const filler = size - data.length - 3;
  if (filler < 8) throw new RangeError("the data is too long for the key");
  const noise = random(filler).map((byte) => byte || 1);
  return bytesOfBig(raisePublic(key, bigOf(join(Uint8Array.of(0, 2), noise, Uint8Array.of(0), data))), size);
}

export function decryptPkcs1(key: RsaPrivate, data: Uint8Array): Uint8Array {
  const size = modulusBytes(key);
  const encoded = bytesOfBig(raisePrivate(key, bigOf(data) % key.n), size);
  const end = encoded.indexOf(0, 2);
  if (encoded[0] !== 0 || encoded[1] !== 2 || end < 10) throw new Error("the data cannot be decrypted");
  return encoded.slice(end + 1);
}

function inverse(value: bigint, modulus: bigint): bigint {
  let [a, b, x, y] = [((value % modulus) + modulus) % modulus, modulus, 1n, 0n];
  while (b !== 0n) {
    const quotient = a / b;
    [a, b] = [b, a - quotient * b];
    [x, y] = [y, x - quotient * y];
  }
  return ((x % modulus) + modulus) % modulus;
}

/** A private key of its modulus, exponents and primes. */
export function privateOf(n: bigint, e: bigint, d: bigint, p: bigint, q: bigint): RsaPrivate {
  return { n, e, d, p, q, dp: d % (p - 1n), dq: d % (q - 1n), qi: inverse(q, p) };
}

const SMALL_PRIMES = ((): number[] => {
  const primes: number[] = [];
  for (let value = 3; value < 2_000; value += 2) if (primes.every((prime) => value % prime !== 0)) primes.push(value);
  return primes;
})();

function isPrime(value: bigint, random: Random): boolean {
  let rest = value - 1n;
  let twos = 0;
  while ((rest & 1n) === 0n) {
    rest >>= 1n;
    twos++;
  }
  for (let round = 0; round < 8; round++) {
    // The first base finds almost all that are composite.
    const base = round === 0 ? 2n : bigOf(random(32)) + 2n;
    let raised = power(base, rest, value);
    if (raised === 1n || raised === value - 1n) continue;
    let isWitness = true;
    for (let at = 1; at < twos && isWitness; at++) {
      raised = (raised * raised) % value;
      if (raised === value - 1n) isWitness = false;
    }
    if (isWitness) return false;
  }
  return true;
}

function primeOf(bits: number, e: bigint, random: Random): bigint {
  for (;;) {
    const bytes = random((bits + 7) >>> 3);
    const top = (bits - 1) & 7;
    bytes[0] = ((bytes[0] ?? 0) & ((2 << top) - 1)) | (3 << Math.max(0, top - 1));
    if (top === 0) bytes[1] = (bytes[1] ?? 0) | 0x80;
    let value = bigOf(bytes) | 1n;
    const rests = SMALL_PRIMES.map((prime) => Number(value % BigInt(prime)));
    for (let step = 0; step < 4_000; step += 2) {
      if (SMALL_PRIMES.some((prime, at) => ((rests[at] ?? 0) + step) % prime === 0)) continue;
      const candidate = value + BigInt(step);
      if ((candidate - 1n) % e !== 0n && isPrime(candidate, random)) {
        value = candidate;
        return value;
      }
    }
  }
}

export function generateRsa(bits: number, e: bigint, random: Random): RsaPrivate {
  for (;;) {
    const one = primeOf((bits + 1) >>> 1, e, random);
    const other = primeOf(bits >>> 1, e, random);
    const [p, q] = one > other ? [one, other] : [other, one];
    const n = p * q;
    if (p === q || n.toString(2).length !== bits) continue;
    const [a, b] = [p - 1n, q - 1n];
    return privateOf(n, e, inverse(e, (a * b) / gcd(a, b)), p, q);
  }
}

function gcd(a: bigint, b: bigint): bigint {
  return b === 0n ? a : gcd(b, a % b);
}
