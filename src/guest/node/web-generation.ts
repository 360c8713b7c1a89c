import { type Curve, curveNamed } from "./curves.ts";
import { bigOf } from "./inner/asn1.ts";
import type { KeyData } from "./inner/key-forms.ts";
import { BITS_MAX } from "./inner/rsa.ts";
import {
  ALGORITHMS,
  checkUsages,
  domError,
  type Given,
  hashOf,
  type KeyType,
  numberFrom,
  type Usage,
} from "./inner/web-algorithms.ts";
import { generateData } from "./key-pairs.ts";
import { hold, random } from "./keys.ts";

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

export function failed(message = "The operation failed"): Error {
  return domError("OperationError", message);
}

/** Length of a derived key, in bits. */
export function lengthOf(algorithm: Given): number | null {
  if (algorithm.name === "HKDF" || algorithm.name === "PBKDF2") return null;
  if (algorithm.name !== "HMAC") return aesLength(algorithm);
  if (algorithm["length"] !== undefined) {
    const bits = numberFrom(algorithm["length"], "length", 2 ** 32 - 1);
    if (bits === 0) throw new TypeError("length cannot be zero");
    return bits;
  }
  return blockBits(hashOf(algorithm["hash"]));
}

function blockBits(hash: string): number {
  return hash === "SHA-1" || hash === "SHA-256" ? 512 : 1024;
}

function aesLength(algorithm: Given): number {
  const bits = numberFrom(algorithm["length"], "length", 2 ** 16 - 1);
  if (![128, 192, 256].includes(bits)) throw failed("AES has keys of 128, 192 or 256 bits");
  return bits;
}

export function generateSecret(algorithm: Given, extractable: boolean, usages: readonly Usage[]): CryptoKey {
  checkUsages(algorithm.name, "secret", usages);
  const isHmac = algorithm.name === "HMAC";
  const hash = isHmac ? { hash: { name: hashOf(algorithm["hash"]) } } : {};
  const bits = isHmac ? hmacBits(algorithm) : aesLength(algorithm);
  if (usages.length === 0) throw domError("SyntaxError", "A secret key needs a usage");
  const held = { kind: "secret", bytes: random(Math.ceil(bits / 8)) } as const;
  return keyOf(held, "secret", { name: algorithm.name, length: bits, ...hash }, extractable, usages);
}

function hmacBits(algorithm: Given): number {
  const bits =
    algorithm["length"] === undefined
      ? blockBits(hashOf(algorithm["hash"]))
      : numberFrom(algorithm["length"], "length", 2 ** 32 - 1);
  if (bits === 0) throw failed("length cannot be zero");
  return bits;
}

export function generatePair(algorithm: Given, extractable: boolean, usages: readonly Usage[]): object {
  const { name } = algorithm;
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
    const hash = { name: hashOf(algorithm["hash"]) };
    const modulusLength = numberFrom(algorithm["modulusLength"], "modulusLength", 2 ** 32 - 1);
    const publicExponent = algorithm["publicExponent"];
    if (!(publicExponent instanceof Uint8Array)) throw new TypeError("publicExponent has to be a Uint8Array");
    const exponent = bigOf(publicExponent);
    if (
      modulusLength < 512 ||
      modulusLength > BITS_MAX ||
      modulusLength % 8 !== 0 ||
      exponent < 3n ||
      (exponent & 1n) === 0n ||
      exponent > 2n ** 32n
    ) {
      throw failed("RSA keys of these numbers are not made");
    }
    const held = generateData("rsa", { modulusLength, publicExponent: Number(exponent) });
    return { held, facts: { name, modulusLength, publicExponent: new Uint8Array(publicExponent), hash } };
  }
  if (name === "ECDSA" || name === "ECDH") {
    const { name: namedCurve } = webCurve(algorithm["namedCurve"]);
    return { held: generateData("ec", { namedCurve }), facts: { name, namedCurve } };
  }
  return { held: generateData(name.toLowerCase(), {}), facts: { name } };
}

function webCurve(given: unknown): Curve {
  if (given === undefined) throw new TypeError("The algorithm has no namedCurve");
  const curve = curveNamed(String(given as string));
  if (curve?.kind !== "ec" || curve.name !== given) throw domError("NotSupportedError", "Unrecognized curve");
  return curve;
}
