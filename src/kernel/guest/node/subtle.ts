import { hkdf } from "@noble/hashes/hkdf.js";
import { pbkdf2 } from "@noble/hashes/pbkdf2.js";
import { agreed, signEcdsa, signWhole, verifyEcdsa, verifyWhole } from "./curves.ts";
import { hashNamed, hmacOf } from "./hashes.ts";
import { open, seal, unwrapAes, wrapAes } from "./inner/web-aes.ts";
import {
  isSame,
  signPkcs1,
  signPss,
  verifyPkcs1,
  verifyPss,
  encryptOaep,
  decryptOaep,
  type Hashing,
} from "./inner/rsa.ts";
import {
  ALGORITHMS,
  algorithmOf,
  bytesFrom,
  checkUsages,
  contextIn,
  domError,
  failed,
  type Given,
  hashOf,
  numberFrom,
  type Usage,
  usagesFrom,
} from "./inner/web-algorithms.ts";
import { library, type NodeModule, random } from "./inner/library.ts";
import type * as Keccak from "./keccak.ts";
import { encode } from "./inner/encodings.ts";

import { type KeyData } from "./inner/key-forms.ts";
import { dataIn } from "./keys.ts";
import { decapsulate, encapsulate } from "./capsules.ts";
import { checkKey, CryptoKey, generatePair, generateSecret, keyOf, lengthOf, usable } from "./web-generation.ts";
import { exportData, type Format, FORMATS, importData, type KeyImport } from "./web-keys.ts";

/** The algorithms of `crypto.subtle` beyond hashes (Web Cryptography API). */

function hashing(name: string): Hashing {
  const hash = hashNamed(name);
  if (hash === undefined) throw domError("NotSupportedError", `Unrecognized hash "${name}"`);
  return (bytes) => hash(bytes);
}

function keyHash(key: CryptoKey): string {
  return (key.algorithm["hash"] as { name: string }).name;
}

function copied(bytes: Uint8Array): ArrayBuffer {
  return bytes.slice().buffer as ArrayBuffer;
}

function secretBytes(held: KeyData): Uint8Array {
  if (held.kind !== "secret") throw domError("InvalidAccessError", "The key is not secret");
  return held.bytes;
}

/** Functions that few tools use: evaluated on first use. */
function keccak(): typeof Keccak.shared {
  return library.load("keccak").shared as typeof Keccak.shared;
}

function mac(algorithm: Given, key: CryptoKey, secret: Uint8Array, data: Uint8Array): Uint8Array {
  return algorithm.name === "HMAC" ? hmacWith(key, secret, data) : keccak().kmac(algorithm, secret, data);
}

function sign(algorithm: Given, key: CryptoKey, data: Uint8Array): Uint8Array {
  const held = usable(key, algorithm.name, "sign");
  if (held.kind === "secret") return mac(algorithm, key, held.bytes, data);
  if (held.secret === null) throw domError("InvalidAccessError", "The key is not private");
  if (held.kind === "curve") {
    const secret = held.secret;
    return held.curve.kind !== "ec"
      ? signWhole(held.curve, data, secret, contextIn(algorithm))
      : signEcdsa(held.curve, hashing(hashOf(algorithm["hash"]))(data), secret);
  }
  const name = keyHash(key);
  const digest = hashing(name)(data);
  try {
    if (algorithm.name === "RSASSA-PKCS1-v1_5") return signPkcs1(held.secret, name, digest);
    return signPss(
      held.secret,
      hashing(name),
      digest,
      random(numberFrom(algorithm["saltLength"], "saltLength", 2 ** 32 - 1)),
    );
  } catch (error) {
    throw error instanceof RangeError ? failed(error.message) : error;
  }
}

function hmacWith(key: CryptoKey, secret: Uint8Array, data: Uint8Array): Uint8Array {
  const hash = hashNamed(keyHash(key));
  if (hash === undefined) throw failed();
  return hmacOf(hash, secret, data);
}

function verify(algorithm: Given, key: CryptoKey, signature: Uint8Array, data: Uint8Array): boolean {
  const held = usable(key, algorithm.name, "verify");
  if (held.kind === "secret") return isSame(mac(algorithm, key, held.bytes, data), signature);
  if (held.kind === "curve") {
    if (held.curve.kind !== "ec") return verifyWhole(held.curve, data, signature, held.point, contextIn(algorithm));
    return verifyEcdsa(held.curve, hashing(hashOf(algorithm["hash"]))(data), signature, held.point);
  }
  const name = keyHash(key);
  const digest = hashing(name)(data);
  if (algorithm.name === "RSASSA-PKCS1-v1_5") return verifyPkcs1(held.open, name, digest, signature);
  return verifyPss(
    held.open,
    hashing(name),
    digest,
    signature,
    numberFrom(algorithm["saltLength"], "saltLength", 2 ** 32 - 1),
  );
}

function labelIn(algorithm: Given): Uint8Array {
  return algorithm["label"] === undefined ? new Uint8Array() : bytesFrom(algorithm["label"], "label");
}

function encrypt(algorithm: Given, key: CryptoKey, data: Uint8Array, usage: "encrypt" | "wrapKey"): Uint8Array {
  const held = usable(key, algorithm.name, usage);
  if (held.kind !== "rsa") return seal(algorithm, secretBytes(held), data);
  try {
    return encryptOaep(held.open, hashing(keyHash(key)), data, labelIn(algorithm), random);
  } catch {
    throw failed();
  }
}

function decrypt(algorithm: Given, key: CryptoKey, data: Uint8Array, usage: "decrypt" | "unwrapKey"): Uint8Array {
  const held = usable(key, algorithm.name, usage);
  if (held.kind !== "rsa") return open(algorithm, secretBytes(held), data);
  if (held.secret === null) throw domError("InvalidAccessError", "The key is not private");
  try {
    return decryptOaep(held.secret, hashing(keyHash(key)), data, labelIn(algorithm));
  } catch {
    throw failed();
  }
}

function deriveBits(algorithm: Given, key: CryptoKey, length: unknown, usage: "deriveBits" | "deriveKey"): Uint8Array {
  const held = usable(key, algorithm.name, usage);
  if (held.kind === "curve") return agree(algorithm, key, held, length);
  if (length === null || length === undefined) throw failed("length cannot be null");
  if (algorithm.name.startsWith("Argon2"))
    return keccak().argon2(algorithm, secretBytes(held), numberFrom(length, "length", 2 ** 32 - 1));
  const bits = numberFrom(length, "length", 2 ** 32 - 1);
  if (bits % 8 !== 0) throw failed("length has to be a multiple of 8");
  const hash = hashNamed(hashOf(algorithm["hash"]));
  if (hash === undefined) throw failed();
  const salt = bytesFrom(algorithm["salt"], "salt");
  const secret = secretBytes(held);
  if (algorithm.name === "PBKDF2") {
    const iterations = numberFrom(algorithm["iterations"], "iterations", 2 ** 32 - 1);
    if (iterations === 0) throw failed("iterations cannot be zero");
    return bits === 0 ? new Uint8Array() : pbkdf2(hash, secret, salt, { c: iterations, dkLen: bits / 8 });
  }
  const info = bytesFrom(algorithm["info"], "info");
  if (bits / 8 > 255 * hash.outputLen) throw failed("length is too large");
  return bits === 0 ? new Uint8Array() : hkdf(hash, secret, salt, info, bits / 8);
}

function agree(algorithm: Given, key: CryptoKey, held: KeyData & { kind: "curve" }, length: unknown): Uint8Array {
  const other: unknown = algorithm["public"];
  checkKey(other);
  if (held.secret === null) throw domError("InvalidAccessError", "The key is not private");
  const open = dataIn(other);
  const isFitting =
    other.type === "public" &&
    other.algorithm.name === key.algorithm.name &&
    open.kind === "curve" &&
    open.curve === held.curve;
  if (!isFitting || open.kind !== "curve") throw domError("InvalidAccessError", "The keys do not belong together");
  if (held.curve.kind === "akp") throw domError("InvalidAccessError", "The key is not for an agreement");
  let secret: Uint8Array;
  try {
    secret = agreed(held.curve, held.secret, open.point);
  } catch {
    throw failed();
  }
  if (secret.every((byte) => byte === 0)) throw failed();
  if (length === null || length === undefined) return secret;
  const bits = numberFrom(length, "length", 2 ** 32 - 1);
  if (bits > secret.length * 8) throw failed("length is too large");
  const bytes = secret.slice(0, Math.ceil(bits / 8));
  if (bits % 8 !== 0) bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) & (0xff << (8 - (bits % 8)));
  return bytes;
}

function importKey(given: KeyImport): CryptoKey {
  const { algorithm, extractable, usages } = given;
  const { held, type, facts } = importData(given);
  checkUsages(algorithm.name, type, usages);
  if (type !== "public" && usages.length === 0) throw domError("SyntaxError", `A ${type} key needs a usage`);
  return keyOf(held, type, facts, extractable, usages);
}

/** A key of bytes that were derived or shared. */
function secretKey(data: Uint8Array, algorithm: Given, extractable: unknown, usages: readonly Usage[]): CryptoKey {
  return importKey({ format: "raw-secret", data, algorithm, extractable: Boolean(extractable), usages });
}

function exportKey(format: Format, key: unknown): unknown {
  checkKey(key);
  algorithmOf(key.algorithm.name, "exportKey");
  if (!key.extractable) throw domError("InvalidAccessError", "The key is not extractable");
  return exportData(format, key, dataIn(key));
}

function formatOf(given: unknown): Format {
  const text = String(given as string);
  const format = FORMATS.find((known) => known === text);
  if (format === undefined) throw new TypeError(`"${text.slice(0, 100)}" is no key format`);
  return format;
}

/** Methods of `SubtleCrypto`, which find their arguments copied when they begin. */
const methods = {
  sign(given: unknown, key: unknown, data: unknown): ArrayBuffer {
    const algorithm = algorithmOf(given, "sign");
    checkKey(key);
    return copied(sign(algorithm, key, bytesFrom(data, "data")));
  },
  verify(given: unknown, key: unknown, signature: unknown, data: unknown): boolean {
    const algorithm = algorithmOf(given, "verify");
    checkKey(key);
    return verify(algorithm, key, bytesFrom(signature, "signature"), bytesFrom(data, "data"));
  },
  encrypt(given: unknown, key: unknown, data: unknown): ArrayBuffer {
    const algorithm = algorithmOf(given, "encrypt");
    checkKey(key);
    return copied(encrypt(algorithm, key, bytesFrom(data, "data"), "encrypt"));
  },
  decrypt(given: unknown, key: unknown, data: unknown): ArrayBuffer {
    const algorithm = algorithmOf(given, "decrypt");
    checkKey(key);
    return copied(decrypt(algorithm, key, bytesFrom(data, "data"), "decrypt"));
  },
  deriveBits(given: unknown, key: unknown, length?: unknown): ArrayBuffer {
    const algorithm = algorithmOf(given, "deriveBits");
    checkKey(key);
    return copied(deriveBits(algorithm, key, length, "deriveBits"));
  },
  deriveKey(given: unknown, key: unknown, wanted: unknown, extractable: unknown, usages: unknown): CryptoKey {
    const algorithm = algorithmOf(given, "deriveKey");
    const imported = algorithmOf(wanted, "importKey");
    const length = lengthOf(algorithmOf(wanted, "getLength"));
    const uses = usagesFrom(usages);
    checkKey(key);
    const bits = deriveBits(algorithm, key, length, "deriveKey");
    return secretKey(bits, imported, extractable, uses);
  },
  generateKey(given: unknown, extractable: unknown, usages: unknown): unknown {
    const algorithm = algorithmOf(given, "generateKey");
    const uses = usagesFrom(usages);
    const isSecret = ALGORITHMS.get(algorithm.name)?.uses.secret !== undefined;
    return isSecret
      ? generateSecret(algorithm, Boolean(extractable), uses)
      : generatePair(algorithm, Boolean(extractable), uses);
  },
  importKey(format: unknown, data: unknown, given: unknown, extractable: unknown, usages: unknown): CryptoKey {
    const form = formatOf(format);
    const algorithm = algorithmOf(given, "importKey");
    const uses = usagesFrom(usages);
    if (
      form === "jwk" &&
      (typeof data !== "object" || data === null || ArrayBuffer.isView(data) || data instanceof ArrayBuffer)
    )
      throw new TypeError("A key of the format jwk has to be an object");
    const whole = form === "jwk" ? data : bytesFrom(data, "keyData");
    return importKey({ format: form, data: whole, algorithm, extractable: Boolean(extractable), usages: uses });
  },
  digest(given: unknown, data: unknown): ArrayBuffer {
    const algorithm = algorithmOf(given, "digest");
    const bytes = bytesFrom(data, "data");
    return copied(keccak().digest(algorithm, bytes) ?? hashing(algorithm.name)(bytes));
  },
  getPublicKey(key: unknown, usages: unknown): CryptoKey {
    const uses = usagesFrom(usages);
    checkKey(key);
    if (key.type === "public") throw domError("InvalidAccessError", "The key is not private");
    const held = dataIn(key);
    if (held.kind === "secret") throw domError("NotSupportedError", "The key is not private");
    checkUsages(key.algorithm.name, "public", uses);
    return keyOf({ ...held, secret: null } as KeyData, "public", key.algorithm, true, uses);
  },
  encapsulateBits(given: unknown, key: unknown): object {
    const { shared, sealed } = encapsulate(given, key, "encapsulateBits");
    return { sharedKey: copied(shared), ciphertext: copied(sealed) };
  },
  encapsulateKey(given: unknown, key: unknown, wanted: unknown, extractable: unknown, usages: unknown): object {
    const imported = algorithmOf(wanted, "importKey");
    const uses = usagesFrom(usages);
    const { shared, sealed } = encapsulate(given, key, "encapsulateKey");
    return {
      sharedKey: secretKey(shared, imported, extractable, uses),
      ciphertext: copied(sealed),
    };
  },
  decapsulateBits(given: unknown, key: unknown, sealed: unknown): ArrayBuffer {
    return copied(decapsulate(given, key, sealed, "decapsulateBits"));
  },
  decapsulateKey(
    given: unknown,
    key: unknown,
    sealed: unknown,
    wanted: unknown,
    extractable: unknown,
    usages: unknown,
  ): CryptoKey {
    const imported = algorithmOf(wanted, "importKey");
    const uses = usagesFrom(usages);
    const bits = decapsulate(given, key, sealed, "decapsulateKey");
    return secretKey(bits, imported, extractable, uses);
  },
  supports: (operation: unknown, given: unknown, more?: unknown): unknown =>
    (library.load("web-support").shared as { supports: (...args: readonly unknown[]) => boolean }).supports(
      operation,
      given,
      more,
    ),
  exportKey(format: unknown, key: unknown): unknown {
    return exportKey(formatOf(format), key);
  },
  wrapKey(format: unknown, key: unknown, wrapping: unknown, given: unknown): ArrayBuffer {
    const form = formatOf(format);
    const algorithm = algorithmOf(given, "wrapKey");
    checkKey(wrapping);
    const held = usable(wrapping, algorithm.name, "wrapKey");
    const exported = exportKey(form, key);
    const bytes = form === "jwk" ? encode(JSON.stringify(exported), "utf8") : new Uint8Array(exported as ArrayBuffer);
    if (algorithm.name === "AES-KW") return copied(wrapAes(secretBytes(held), bytes));
    return copied(encrypt(algorithm, wrapping, bytes, "wrapKey"));
  },
  unwrapKey(
    format: unknown,
    wrapped: unknown,
    unwrapping: unknown,
    given: unknown,
    wanted: unknown,
    extractable: unknown,
    usages: unknown,
  ): CryptoKey {
    const form = formatOf(format);
    const algorithm = algorithmOf(given, "unwrapKey");
    const imported = algorithmOf(wanted, "importKey");
    const uses = usagesFrom(usages);
    const data = bytesFrom(wrapped, "wrappedKey");
    checkKey(unwrapping);
    const held = usable(unwrapping, algorithm.name, "unwrapKey");
    const bytes =
      algorithm.name === "AES-KW"
        ? unwrapAes(secretBytes(held), data)
        : decrypt(algorithm, unwrapping, data, "unwrapKey");
    const whole = form === "jwk" ? parsed(bytes) : bytes;
    return importKey({
      format: form,
      data: whole,
      algorithm: imported,
      extractable: Boolean(extractable),
      usages: uses,
    });
  },
};

function parsed(bytes: Uint8Array): object {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    if (typeof value === "object" && value !== null) return value;
  } catch {
    // It is no JSON.
  }
  throw domError("DataError", "The wrapped key is no JSON Web Key");
}

export const shared: NodeModule = { CryptoKey, methods };
