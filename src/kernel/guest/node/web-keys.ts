import { curveNamed, type Lattice } from "./curves.ts";
import { join } from "./inner/asn1.ts";
import { modulusBits } from "./inner/rsa.ts";
import { domError, type Given, hashOf, type KeyType, numberFrom, type Usage } from "./inner/web-algorithms.ts";
import { bytesOfBig } from "./inner/asn1.ts";
import {
  type AsymmetricData,
  type Jwk,
  type KeyData,
  privateCurve,
  readJwk,
  readPkcs8,
  readSpki,
  writeJwk,
  writePkcs8,
  writeSpki,
} from "./inner/key-forms.ts";

/** Forms of the keys of `crypto.subtle`. */

export const FORMATS = ["raw", "raw-secret", "raw-public", "raw-seed", "pkcs8", "spki", "jwk"] as const;
export type Format = (typeof FORMATS)[number];

/** A key as code gives it: an object for `jwk`, bytes for the other formats. */
export interface KeyImport {
  readonly format: Format;
  readonly data: unknown;
  readonly algorithm: Given;
  readonly extractable: boolean;
  readonly usages: readonly Usage[];
}

export interface Imported {
  readonly held: KeyData;
  readonly type: KeyType;
  readonly facts: Given;
}

function dataError(message: string): Error {
  return domError("DataError", message);
}

const unsupported = (format: string): Error =>
  domError("NotSupportedError", `The format ${format} is not supported for this key`);

export function importData(given: KeyImport): Imported {
  const { format, data, extractable } = given;
  const { name } = given.algorithm;
  switch (name) {
    case "Argon2d":
    case "Argon2i":
    case "Argon2id":
    case "HKDF":
    case "PBKDF2":
      if (!isRawSecret(format, name)) throw unsupported(format);
      if (extractable) throw domError("SyntaxError", "A key of this algorithm cannot be extractable");
      return { held: { kind: "secret", bytes: data as Uint8Array }, type: "secret", facts: { name } };
    case "HMAC":
      return importHmac(given);
    case "KMAC128":
    case "KMAC256":
      return importKmac(given);
    case "AES-CBC":
    case "AES-CTR":
    case "AES-GCM":
    case "AES-KW":
    case "AES-OCB":
    case "ChaCha20-Poly1305":
      return importCipher(given);
    case "RSASSA-PKCS1-v1_5":
    case "RSA-PSS":
    case "RSA-OAEP":
      return importRsa(given);
    default:
      return importCurve(given);
  }
}

/** Algorithms of the first edition support `raw`; all support `raw-secret`. */
const KNOW_RAW = /^(?:AES-(?:CBC|CTR|GCM|KW)|HMAC|HKDF|PBKDF2)$/;

function isRawSecret(format: Format, name: string): boolean {
  return format === "raw-secret" || (format === "raw" && KNOW_RAW.test(name));
}

/** `wanted`: the name of the algorithm in JSON Web Keys; `undefined` if it has none. */
function checkAlg(jwk: Jwk, wanted: string | undefined): void {
  const { alg } = jwk as { alg?: unknown };
  if (alg !== undefined && wanted !== undefined && alg !== wanted)
    throw dataError(`The key's member "alg" is not "${wanted}"`);
}

/** The bytes of a secret key. `algOf`: the name of its algorithm in JSON Web Keys. */
function secretData(given: KeyImport, algOf: (bytes: Uint8Array) => string | undefined, use: string): Uint8Array {
  const { format, data } = given;
  if (isRawSecret(format, given.algorithm.name)) return data as Uint8Array;
  if (format !== "jwk") throw unsupported(format);
  const jwk = data as Jwk;
  if (jwk["kty"] !== "oct") throw dataError('The key\'s member "kty" is not "oct"');
  const held = readWebJwk(jwk);
  if (held.kind !== "secret") throw dataError("The key is not secret");
  checkAlg(jwk, algOf(held.bytes));
  checkJwk(jwk, use, given);
  return held.bytes;
}

function importHmac(given: KeyImport): Imported {
  const hash = hashOf(given.algorithm["hash"]);
  const whole = secretData(given, () => hashedAlg("HMAC", hash), "sig");
  if (whole.length === 0) throw dataError("The key is empty");
  const { bytes, length } = shortened(whole, given.algorithm);
  return { held: { kind: "secret", bytes }, type: "secret", facts: { name: "HMAC", length, hash: { name: hash } } };
}

/** The bits of a key that its parameter `length` leaves. */
function shortened(given: Uint8Array, algorithm: Given): { readonly bytes: Uint8Array; readonly length: number } {
  const length = given.length * 8;
  if (algorithm["length"] === undefined) return { bytes: given, length };
  const bits = numberFrom(algorithm["length"], "length", 2 ** 32 - 1);
  if (bits > length || bits <= length - 8) throw dataError("length does not fit the key");
  const bytes = given.slice();
  if (bits % 8 !== 0) bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) & (0xff << (8 - (bits % 8)));
  return { bytes, length: bits };
}

function importKmac(given: KeyImport): Imported {
  const { name } = given.algorithm;
  const whole = secretData(given, () => `K${name.slice(4)}`, "sig");
  const { bytes, length } = shortened(whole, given.algorithm);
  return { held: { kind: "secret", bytes }, type: "secret", facts: { name, length } };
}

/** The name of a cipher in JSON Web Keys. */
function cipherAlg(name: string, bytes: Uint8Array): string {
  return name === "ChaCha20-Poly1305" ? "C20P" : `A${bytes.length * 8}${name.slice(4)}`;
}

function importCipher(given: KeyImport): Imported {
  const { name } = given.algorithm;
  const bytes = secretData(given, (key) => cipherAlg(name, key), "enc");
  const length = bytes.length * 8;
  if (name === "ChaCha20-Poly1305") {
    if (length !== 256) throw dataError("ChaCha20-Poly1305 has keys of 256 bits");
    return { held: { kind: "secret", bytes }, type: "secret", facts: { name } };
  }
  if (![128, 192, 256].includes(length)) throw dataError("AES has keys of 128, 192 or 256 bits");
  return { held: { kind: "secret", bytes }, type: "secret", facts: { name, length } };
}

/** Checks the members of a JSON Web Key about its permitted use. */
function checkJwk(jwk: Jwk, use: string, { extractable, usages }: KeyImport): void {
  if (usages.length > 0 && jwk["use"] !== undefined && jwk["use"] !== use)
    throw dataError(`The key's member "use" is not "${use}"`);
  const operations = jwk["key_ops"];
  if (operations !== undefined) {
    if (!Array.isArray(operations) || new Set(operations).size !== operations.length)
      throw dataError('The key\'s member "key_ops" is invalid');
    if (usages.some((usage) => !operations.includes(usage)))
      throw dataError('The key\'s member "key_ops" does not have all usages');
  }
  if (jwk["ext"] === false && extractable) throw dataError("The key is not extractable");
}

/** Reads a key, with the errors of the web. */
function orDataError<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (Reflect.get(error as object, "code") === "ERR_CRYPTO_SEEDLESS_KEY")
      throw domError("NotSupportedError", "A private key without its seed is not supported");
    throw dataError(error instanceof Error ? error.message : "The key cannot be read");
  }
}

function readWebJwk(jwk: Jwk): KeyData {
  return orDataError(() => readJwk(jwk));
}

function asymmetric(given: KeyImport, kty: string, use: string): { held: AsymmetricData; type: KeyType } {
  const { format, data } = given;
  if (format === "jwk") {
    const jwk = data as Jwk;
    if (jwk["kty"] !== kty) throw dataError(`The key's member "kty" is not "${kty}"`);
    if (jwk["oth"] !== undefined)
      throw domError("NotSupportedError", "Keys with more than two primes are not supported");
    const held = readWebJwk(jwk);
    if (held.kind === "secret") throw dataError("The key is secret");
    checkJwk(jwk, use, given);
    return { held, type: held.secret === null ? "public" : "private" };
  }
  if (format !== "spki" && format !== "pkcs8") throw unsupported(format);
  const bytes = data as Uint8Array;
  const held = orDataError(() => (format === "spki" ? readSpki(bytes) : readPkcs8(bytes)));
  return { held, type: format === "spki" ? "public" : "private" };
}

const HASHED_ALGS: { readonly [name: string]: string } = {
  HMAC: "HS",
  "RSASSA-PKCS1-v1_5": "RS",
  "RSA-PSS": "PS",
  "RSA-OAEP": "RSA-OAEP-",
};

/** The name in JSON Web Keys of an algorithm with a hash function; those with SHA-3 have none. */
function hashedAlg(name: string, hash: string): string | undefined {
  if (!hash.startsWith("SHA-")) return undefined;
  return name === "RSA-OAEP" && hash === "SHA-1" ? name : `${HASHED_ALGS[name] ?? ""}${hash.slice(4)}`;
}

function importRsa(given: KeyImport): Imported {
  const { name } = given.algorithm;
  const hash = hashOf(given.algorithm["hash"]);
  const { held, type } = asymmetric(given, "RSA", name === "RSA-OAEP" ? "enc" : "sig");
  if (held.kind !== "rsa") throw dataError("The key is not one of RSA");
  if (given.format === "jwk") checkAlg(given.data as Jwk, hashedAlg(name, hash));
  const facts = {
    name,
    modulusLength: modulusBits(held.open),
    publicExponent: bytesOfBig(held.open.e),
    hash: { name: hash },
  };
  return { held, type, facts };
}

function importCurve(given: KeyImport): Imported {
  const { format, data, algorithm } = given;
  const { name } = algorithm;
  const isNamed = name === "ECDSA" || name === "ECDH";
  const wanted = isNamed ? algorithm["namedCurve"] : name;
  if (wanted === undefined) throw new TypeError("The algorithm has no namedCurve");
  const curve = curveNamed(String(wanted as string));
  if (curve === undefined || curve.name !== wanted) throw domError("NotSupportedError", "Unrecognized curve");
  const facts = isNamed ? { name, namedCurve: curve.name } : { name };
  if (curve.kind === "akp") return importLattice(curve, given);
  if (format === "raw" || format === "raw-public") {
    const bytes = data as Uint8Array;
    const point = curve.kind === "ec" ? orDataError(() => curve.curve.Point.fromBytes(bytes).toBytes(false)) : bytes;
    if (curve.kind === "okp" && bytes.length !== curve.size) throw dataError("The key has a wrong length");
    return { held: { kind: "curve", curve, point, secret: null }, type: "public", facts };
  }
  const use = name === "ECDH" || name.startsWith("X") ? "enc" : "sig";
  const { held, type } = asymmetric(given, isNamed ? "EC" : "OKP", use);
  if (held.kind !== "curve" || held.curve !== curve) throw dataError("The key is of another curve");
  if (format === "jwk") checkCurveAlg(data as Jwk, name, curve.name);
  return { held, type, facts };
}

function importLattice(curve: Lattice, given: KeyImport): Imported {
  const { format, data } = given;
  const facts = { name: curve.name };
  if (format === "raw-public") {
    const point = data as Uint8Array;
    if (point.length !== curve.size) throw dataError("The key has a wrong length");
    return { held: { kind: "curve", curve, point, secret: null }, type: "public", facts };
  }
  if (format === "raw-seed")
    return { held: orDataError(() => privateCurve(curve, data as Uint8Array)), type: "private", facts };
  const { held, type } = asymmetric(given, "AKP", curve.signs ? "sig" : "enc");
  if (held.kind !== "curve" || held.curve !== curve) throw dataError("The key is of another algorithm");
  return { held, type, facts };
}

function checkCurveAlg(jwk: Jwk, name: string, curve: string): void {
  const { alg } = jwk as { alg?: unknown };
  if (alg === undefined) return;
  if (
    name === "ECDSA" &&
    alg !== ({ "P-256": "ES256", "P-384": "ES384", "P-521": "ES512" } as { [curve: string]: string })[curve]
  )
    throw dataError('The key\'s member "alg" is of another algorithm');
  if (name.startsWith("Ed") && alg !== name && alg !== "EdDSA")
    throw dataError('The key\'s member "alg" is of another algorithm');
}

interface Exported {
  readonly type: KeyType;
  readonly extractable: boolean;
  readonly algorithm: Given;
  readonly usages: readonly Usage[];
}

function buffer(bytes: Uint8Array): ArrayBuffer {
  return join(bytes).buffer;
}

export function exportData(format: Format, key: Exported, held: KeyData): unknown {
  switch (format) {
    case "jwk":
      return {
        ...writeJwk(held, key.type === "private"),
        ...algOf(key, held),
        key_ops: [...key.usages],
        ext: key.extractable,
      };
    case "raw":
    case "raw-secret":
    case "raw-public":
    case "raw-seed":
      return exportRaw(format, key, held);
    case "spki":
    case "pkcs8":
      if (held.kind === "secret") throw unsupported(format);
      if ((format === "spki") !== (key.type === "public"))
        throw domError("InvalidAccessError", `The key is ${key.type}`);
      return buffer(format === "spki" ? writeSpki(held) : writePkcs8(held));
    default:
      return format satisfies never;
  }
}

function exportRaw(format: Format, key: Exported, held: KeyData): ArrayBuffer {
  if (held.kind === "secret") {
    if (!isRawSecret(format, key.algorithm.name)) throw unsupported(format);
    return buffer(held.bytes);
  }
  const isLattice = held.kind === "curve" && held.curve.kind === "akp";
  if (held.kind === "rsa" || format === "raw-secret" || format === (isLattice ? "raw" : "raw-seed"))
    throw unsupported(format);
  if ((format === "raw-seed") !== (key.type === "private"))
    throw domError("InvalidAccessError", `The key is ${key.type}`);
  return buffer(held.secret !== null && format === "raw-seed" ? held.secret : held.point);
}

function algOf({ algorithm }: Exported, held: KeyData): { alg?: string } {
  const { name } = algorithm;
  const { hash } = algorithm as { hash?: { name: string } };
  if (hash !== undefined) {
    const alg = hashedAlg(name, hash.name);
    return alg === undefined ? {} : { alg };
  }
  if (name.startsWith("KMAC")) return { alg: `K${name.slice(4)}` };
  if (held.kind === "secret") return { alg: cipherAlg(name, held.bytes) };
  return name.startsWith("Ed") ? { alg: name } : {};
}
