import { library, type NodeModule } from "./inner/library.ts";
import {
  ALGORITHMS,
  algorithmOf,
  bytesFrom,
  contextIn,
  failed,
  type Given,
  hashOf,
  numberFrom,
  type Operation,
} from "./inner/web-algorithms.ts";
import { seal } from "./inner/web-aes.ts";
import type * as Keccak from "./keccak.ts";
import { CryptoKey, lengthOf, macBits, rsaParameters, webCurve } from "./web-generation.ts";

/** `SubtleCrypto.supports`: whether an operation accepts an algorithm with its parameters. */

const EMPTY = new Uint8Array(0);
const NUMBER_MAX = 2 ** 32 - 1;

/** Throws if an operation does not accept the parameters of an algorithm. */
function check(operation: Operation, given: unknown): Given {
  const algorithm = algorithmOf(given, operation);
  const { name } = algorithm;
  switch (operation) {
    case "generateKey":
      checkGeneration(algorithm);
      break;
    case "importKey":
      if (name === "HMAC" || name.startsWith("RSA")) hashOf(algorithm["hash"]);
      if (name === "ECDSA" || name === "ECDH") webCurve(algorithm["namedCurve"]);
      break;
    case "sign":
    case "verify":
      if (name === "ECDSA") hashOf(algorithm["hash"]);
      if (name === "RSA-PSS") numberFrom(algorithm["saltLength"], "saltLength", NUMBER_MAX);
      if (name.startsWith("KMAC")) numberFrom(algorithm["outputLength"], "outputLength", NUMBER_MAX);
      if (name === "Ed448" || name.startsWith("ML-DSA")) contextIn(algorithm);
      break;
    case "encrypt":
    case "decrypt":
      if (name !== "RSA-OAEP") seal(algorithm, new Uint8Array(32), EMPTY);
      break;
    case "digest":
      (library.load("keccak").shared as typeof Keccak.shared).digest(algorithm, EMPTY);
      break;
    default:
  }
  return algorithm;
}

function checkGeneration(algorithm: Given): void {
  const { name } = algorithm;
  if (name.startsWith("RSA")) rsaParameters(algorithm);
  else if (name === "ECDSA" || name === "ECDH") webCurve(algorithm["namedCurve"]);
  else if (name === "HMAC" || name.startsWith("KMAC")) macBits(algorithm);
  else if (ALGORITHMS.get(name)?.uses.secret !== undefined) lengthOf(algorithm);
}

function checkDerivation(given: unknown, length: number | null): void {
  const algorithm = algorithmOf(given, "deriveBits");
  const { name } = algorithm;
  if (ALGORITHMS.get(name)?.uses.secret === undefined) {
    const key = algorithm["public"];
    if (!(key instanceof CryptoKey) || key.type !== "public" || key.algorithm.name !== name) throw failed();
    const most = name === "X25519" ? 256 : name === "X448" ? 448 : NUMBER_MAX;
    if (length !== null && length > most) throw failed();
    return;
  }
  if (length === null || length % 8 !== 0) throw failed();
  if (name.startsWith("Argon2")) {
    if (length < 32) throw failed();
    bytesFrom(algorithm["nonce"], "nonce");
    for (const part of ["parallelism", "memory", "passes"]) numberFrom(algorithm[part], part, NUMBER_MAX);
    return;
  }
  hashOf(algorithm["hash"]);
  bytesFrom(algorithm["salt"], "salt");
  if (name === "HKDF") bytesFrom(algorithm["info"], "info");
  else if (numberFrom(algorithm["iterations"], "iterations", NUMBER_MAX) === 0) throw failed();
}

/** A key is wrapped by a wrapping algorithm, or by one that encrypts. */
function checkWrapping(operation: "wrapKey" | "unwrapKey", given: unknown): void {
  const { name } = algorithmOf(given, operation);
  if (name !== "AES-KW") check(operation === "wrapKey" ? "encrypt" : "decrypt", given);
}

function checkCapsule(operation: "encapsulateKey" | "decapsulateKey", given: unknown, more: unknown): void {
  const shared = check("importKey", more);
  if (ALGORITHMS.get(shared.name)?.uses.secret === undefined) throw failed();
  const length = shared["length"];
  if (/^(?:HMAC|KMAC)/.test(shared.name) && length !== undefined && length !== 256) throw failed();
  check(operation, given);
}

function checkAll(operation: string, given: unknown, more: unknown): boolean {
  switch (operation) {
    case "deriveKey":
      check("importKey", more);
      checkDerivation(given, lengthOf(algorithmOf(more, "getLength")));
      return true;
    case "deriveBits":
      checkDerivation(given, more === undefined || more === null ? null : numberFrom(more, "length", NUMBER_MAX));
      return true;
    case "wrapKey":
    case "unwrapKey":
      check(operation === "wrapKey" ? "exportKey" : "importKey", more);
      checkWrapping(operation, given);
      return true;
    case "getPublicKey":
      return ALGORITHMS.get(algorithmOf(given, "exportKey").name)?.uses.public !== undefined;
    case "encapsulateKey":
    case "decapsulateKey":
      checkCapsule(operation, given, more);
      return true;
    case "encapsulateBits":
    case "decapsulateBits":
    case "generateKey":
    case "importKey":
    case "exportKey":
    case "sign":
    case "verify":
    case "encrypt":
    case "decrypt":
    case "digest":
      check(operation, given);
      return true;
    default:
      return false;
  }
}

export function supports(operation: unknown, given: unknown, more?: unknown): boolean {
  try {
    return checkAll(String(operation as string), given, more);
  } catch {
    return false;
  }
}

export const shared: NodeModule = { supports };
