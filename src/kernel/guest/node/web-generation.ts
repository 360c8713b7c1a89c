import { type Curve, curveNamed } from "./curves.ts";
import { bigOf } from "./inner/asn1.ts";
import { library, random } from "./inner/library.ts";
import type { KeyData } from "./inner/key-forms.ts";
import { BITS_MAX } from "./inner/rsa.ts";
import {
  ALGORITHMS,
  checkUsages,
  domError,
  failed,
  type Given,
  hashOf,
  type KeyType,
  numberFrom,
  type Usage,
} from "./inner/web-algorithms.ts";
import { generateData } from "./key-pairs.ts";
import { dataIn, hold } from "./keys.ts";

/** `CryptoKey`, and how keys are generated. */

const MADE = Symbol("CryptoKey");

export class CryptoKey {
  readonly #facts: {
    readonly type: KeyType;
    readonly extractable: boolean;
    readonly algorithm: Given;
    readonly usages: readonly Usage[];
  };

  constructor(made: unknown, type: KeyType, extractable: boolean, algorithm: Given, usages: readonly Usage[]) {
    if (made !== MADE) throw new TypeError("Illegal constructor");
    this.#facts = { type, extractable, algorithm, usages };
  }

  get type(): KeyType {
    return this.#facts.type;
  }

  get extractable(): boolean {
    return this.#facts.extractable;
  }

  get algorithm(): Given {
    return this.#facts.algorithm;
  }

  get usages(): readonly Usage[] {
    return this.#facts.usages;
  }

  get [Symbol.toStringTag](): string {
    return "CryptoKey";
  }
}

export function keyOf(
  held: KeyData,
  type: KeyType,
  algorithm: Given,
  extractable: boolean,
  usages: readonly Usage[],
): CryptoKey {
  const key = new CryptoKey(MADE, type, extractable, algorithm, usages);
  hold(key, held);
  return key;
}

library.host.cloneable((value) => {
  if (!(value instanceof CryptoKey)) return undefined;
  return keyOf(dataIn(value), value.type, value.algorithm, value.extractable, value.usages);
});

export function checkKey(key: unknown): asserts key is CryptoKey {
  if (!(key instanceof CryptoKey)) throw new TypeError("The key is no CryptoKey");
}

/** Checks that a key is one for an operation. */
export function usable(key: unknown, name: string, usage: Usage): KeyData {
  checkKey(key);
  if (key.algorithm.name !== name) throw domError("InvalidAccessError", "The key is not for this algorithm");
  if (!key.usages.includes(usage)) throw domError("InvalidAccessError", `The key is not for ${usage}`);
  return dataIn(key);
}

/** Length of a derived key, in bits. */
export function lengthOf(algorithm: Given): number | null {
  if (/^(?:HKDF|PBKDF2|Argon2)/.test(algorithm.name)) return null;
  if (algorithm.name === "ChaCha20-Poly1305") return 256;
  if (algorithm.name !== "HMAC" && !algorithm.name.startsWith("KMAC")) return aesLength(algorithm);
  if (algorithm["length"] !== undefined) {
    const bits = numberFrom(algorithm["length"], "length", 2 ** 32 - 1);
    if (bits === 0) throw new TypeError("length cannot be zero");
    return bits;
  }
  return usualBits(algorithm);
}

/** The length of a key that leaves it to its algorithm. */
function usualBits({ name, hash }: Given): number {
  if (name.startsWith("KMAC")) return Number(name.slice(4));
  return BLOCK_BITS[hashOf(hash)] ?? 1024;
}

const BLOCK_BITS: { readonly [hash: string]: number } = {
  "SHA-1": 512,
  "SHA-256": 512,
  "SHA3-256": 1088,
  "SHA3-384": 832,
  "SHA3-512": 576,
};

function aesLength(algorithm: Given): number {
  const bits = numberFrom(algorithm["length"], "length", 2 ** 16 - 1);
  if (![128, 192, 256].includes(bits)) throw failed("AES has keys of 128, 192 or 256 bits");
  return bits;
}

export function generateSecret(algorithm: Given, extractable: boolean, usages: readonly Usage[]): CryptoKey {
  const { name } = algorithm;
  const hash = name === "HMAC" ? { hash: { name: hashOf(algorithm["hash"]) } } : {};
  checkUsages(name, "secret", usages);
  const bits = name === "HMAC" || name.startsWith("KMAC") ? macBits(algorithm) : (lengthOf(algorithm) ?? 0);
  if (usages.length === 0) throw domError("SyntaxError", "A secret key needs a usage");
  const held = { kind: "secret", bytes: random(Math.ceil(bits / 8)) } as const;
  const length = name === "ChaCha20-Poly1305" ? {} : { length: bits };
  return keyOf(held, "secret", { name, ...length, ...hash }, extractable, usages);
}

export function macBits(algorithm: Given): number {
  const { length } = algorithm as { length?: unknown };
  const bits = length === undefined ? usualBits(algorithm) : numberFrom(length, "length", 2 ** 32 - 1);
  if (bits === 0) throw failed("length cannot be zero");
  return bits;
}

export function generatePair(algorithm: Given, extractable: boolean, usages: readonly Usage[]): object {
  const { name } = algorithm;
  if (name.startsWith("RSA")) hashOf(algorithm["hash"]);
  const { public: open = [], private: closed = [] } = ALGORITHMS.get(name)?.uses ?? {};
  if (usages.some((usage) => !open.includes(usage) && !closed.includes(usage)))
    throw domError("SyntaxError", `Unsupported key usage for a ${name} key`);
  const { held, facts } = pairOf(algorithm);
  const secretUsages = usages.filter((usage) => closed.includes(usage));
  if (secretUsages.length === 0) throw domError("SyntaxError", "A private key needs a usage");
  return {
    publicKey: keyOf(
      { ...held, secret: null } as KeyData,
      "public",
      facts,
      true,
      usages.filter((usage) => open.includes(usage)),
    ),
    privateKey: keyOf(held, "private", facts, extractable, secretUsages),
  };
}

function pairOf(algorithm: Given): { held: KeyData; facts: Given } {
  const { name } = algorithm;
  if (name.startsWith("RSA")) {
    const { modulusLength, publicExponent, hash } = rsaParameters(algorithm);
    const held = generateData("rsa", { modulusLength, publicExponent: Number(bigOf(publicExponent)) });
    return { held, facts: { name, modulusLength, publicExponent, hash: { name: hash } } };
  }
  if (name === "ECDSA" || name === "ECDH") {
    const { name: namedCurve } = webCurve(algorithm["namedCurve"]);
    return { held: generateData("ec", { namedCurve }), facts: { name, namedCurve } };
  }
  return { held: generateData(name.toLowerCase(), {}), facts: { name } };
}

export function rsaParameters(algorithm: Given) {
  const hash = hashOf(algorithm["hash"]);
  const modulusLength = numberFrom(algorithm["modulusLength"], "modulusLength", 2 ** 32 - 1);
  const { publicExponent } = algorithm as { publicExponent?: unknown };
  if (!(publicExponent instanceof Uint8Array)) throw new TypeError("publicExponent has to be a Uint8Array");
  const exponent = bigOf(publicExponent);
  const isRight =
    modulusLength >= 512 &&
    modulusLength <= BITS_MAX &&
    modulusLength % 8 === 0 &&
    exponent >= 3n &&
    (exponent & 1n) === 1n &&
    exponent <= 2n ** 32n;
  if (!isRight) throw failed("RSA keys of these numbers are not made");
  return { modulusLength, publicExponent: new Uint8Array(publicExponent), hash };
}

export function webCurve(given: unknown): Curve {
  if (given === undefined) throw new TypeError("The algorithm has no namedCurve");
  const curve = curveNamed(String(given as string));
  if (curve?.kind !== "ec" || curve.name !== given) throw domError("NotSupportedError", "Unrecognized curve");
  return curve;
}
