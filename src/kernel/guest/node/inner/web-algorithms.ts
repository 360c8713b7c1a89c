/** Algorithms of the Web Cryptography API: their names, parameters and the uses of their keys. */

export const USAGES = [
  "encrypt",
  "decrypt",
  "sign",
  "verify",
  "deriveKey",
  "deriveBits",
  "wrapKey",
  "unwrapKey",
  "encapsulateKey",
  "encapsulateBits",
  "decapsulateKey",
  "decapsulateBits",
] as const;

export type Usage = (typeof USAGES)[number];
export type Operation = Usage | "generateKey" | "importKey" | "exportKey" | "getLength" | "digest";
export type KeyType = "secret" | "public" | "private";

/** Hash functions that others are made of; `digest` has more. */
export const HASHES: readonly string[] = ["SHA-1", "SHA-256", "SHA-384", "SHA-512", "SHA3-256", "SHA3-384", "SHA3-512"];

interface Facts {
  readonly operations: readonly Operation[];
  readonly uses: { readonly [Type in KeyType]?: readonly Usage[] };
  /** Whether the hash function belongs to the key. */
  readonly hashed?: true;
}

const AES: Facts = {
  operations: ["generateKey", "importKey", "exportKey", "encrypt", "decrypt", "wrapKey", "unwrapKey", "getLength"],
  uses: { secret: ["encrypt", "decrypt", "wrapKey", "unwrapKey"] },
};
const MAC: Facts = {
  operations: ["generateKey", "importKey", "exportKey", "sign", "verify", "getLength"],
  uses: { secret: ["sign", "verify"] },
};
const ENCAPSULATER: Facts = {
  operations: [
    "generateKey",
    "importKey",
    "exportKey",
    "encapsulateKey",
    "encapsulateBits",
    "decapsulateKey",
    "decapsulateBits",
  ],
  uses: { public: ["encapsulateKey", "encapsulateBits"], private: ["decapsulateKey", "decapsulateBits"] },
};
const DIGESTER: Facts = { operations: ["digest"], uses: {} };
const SIGNER: Facts = {
  operations: ["generateKey", "importKey", "exportKey", "sign", "verify"],
  uses: { public: ["verify"], private: ["sign"] },
};
const AGREER: Facts = {
  operations: ["generateKey", "importKey", "exportKey", "deriveKey", "deriveBits"],
  uses: { public: [], private: ["deriveKey", "deriveBits"] },
};
const DERIVER: Facts = {
  operations: ["importKey", "deriveKey", "deriveBits", "getLength"],
  uses: { secret: ["deriveKey", "deriveBits"] },
};

export const ALGORITHMS: ReadonlyMap<string, Facts> = new Map<string, Facts>([
  ["HMAC", { ...MAC, hashed: true }],
  ["KMAC128", MAC],
  ["KMAC256", MAC],
  ["AES-CBC", AES],
  ["AES-CTR", AES],
  ["AES-GCM", AES],
  ["AES-OCB", AES],
  ["ChaCha20-Poly1305", AES],
  [
    "AES-KW",
    {
      operations: ["generateKey", "importKey", "exportKey", "wrapKey", "unwrapKey", "getLength"],
      uses: { secret: ["wrapKey", "unwrapKey"] },
    },
  ],
  ["RSASSA-PKCS1-v1_5", { ...SIGNER, hashed: true }],
  ["RSA-PSS", { ...SIGNER, hashed: true }],
  [
    "RSA-OAEP",
    {
      operations: ["generateKey", "importKey", "exportKey", "encrypt", "decrypt", "wrapKey", "unwrapKey"],
      uses: { public: ["encrypt", "wrapKey"], private: ["decrypt", "unwrapKey"] },
      hashed: true,
    },
  ],
  ["ECDSA", SIGNER],
  ["ECDH", AGREER],
  ["Ed25519", SIGNER],
  ["Ed448", SIGNER],
  ["X25519", AGREER],
  ["X448", AGREER],
  ["HKDF", DERIVER],
  ["PBKDF2", DERIVER],
  ["Argon2d", DERIVER],
  ["Argon2i", DERIVER],
  ["Argon2id", DERIVER],
  ...["ML-DSA-44", "ML-DSA-65", "ML-DSA-87"].map((name) => [name, SIGNER] as const),
  ...["ML-KEM-512", "ML-KEM-768", "ML-KEM-1024"].map((name) => [name, ENCAPSULATER] as const),
  ...[...HASHES, "cSHAKE128", "cSHAKE256", "TurboSHAKE128", "TurboSHAKE256", "KT128", "KT256"].map(
    (name) => [name, DIGESTER] as const,
  ),
]);

export function domError(name: string, message: string): Error {
  return new DOMException(message, name);
}

export function failed(message = "The operation failed"): Error {
  return domError("OperationError", message);
}

/** An algorithm with its parameters, as a caller gives it. */
export interface Given {
  readonly name: string;
  readonly [parameter: string]: unknown;
}

function named(given: unknown): Given {
  if (typeof given !== "object" || given === null) return { name: String(given as string) };
  const name: unknown = Reflect.get(given, "name");
  if (name === undefined) throw new TypeError("The algorithm has no name");
  return withName(given, String(name as string));
}

/** An algorithm whose parameters may be inherited, as those of a dictionary of the web. */
function withName(given: object, name: string): Given {
  return Object.create(given, { name: { value: name, enumerable: true } }) as Given;
}

/** Reads an algorithm for an operation; throws if no algorithm has that name. */
export function algorithmOf(given: unknown, operation: Operation): Given {
  const algorithm = named(given);
  for (const [name, facts] of ALGORITHMS) {
    if (name.toUpperCase() === algorithm.name.toUpperCase() && facts.operations.includes(operation))
      return withName(algorithm, name);
  }
  throw domError("NotSupportedError", `Unrecognized algorithm name "${algorithm.name.slice(0, 100)}" for ${operation}`);
}

/** The parameter `context` of some signatures: 255 bytes at most. */
export function contextIn(algorithm: Given): { readonly context?: Uint8Array } {
  if (algorithm["context"] === undefined) return {};
  const context = bytesFrom(algorithm["context"], "context");
  if (context.length > 255) throw domError("OperationError", "context has more than 255 bytes");
  return { context };
}

/** The name of the hash function that a parameter names. */
export function hashOf(given: unknown): string {
  if (given === undefined) throw new TypeError("The algorithm has no hash");
  const { name } = named(given);
  const known = HASHES.find((hash) => hash === name.toUpperCase());
  if (known === undefined) throw domError("NotSupportedError", `Unrecognized hash "${name.slice(0, 100)}"`);
  return known;
}

export function bytesFrom(source: unknown, name: string): Uint8Array<ArrayBuffer> {
  const isView = ArrayBuffer.isView(source);
  if (!isView && !(source instanceof ArrayBuffer))
    throw new TypeError(`${name} has to be an ArrayBuffer or a view of one`);
  // A transferred buffer is empty.
  if (source.byteLength === 0) return new Uint8Array(0);
  const bytes = isView
    ? new Uint8Array(source.buffer as ArrayBuffer, source.byteOffset, source.byteLength)
    : new Uint8Array(source);
  return bytes.slice();
}

export function numberFrom(given: unknown, name: string, max: number): number {
  const value = Number(given);
  if (given === undefined || !Number.isFinite(value)) throw new TypeError(`${name} has to be a number`);
  const whole = Math.trunc(value);
  if (whole < 0 || whole > max) throw new TypeError(`${name} is out of range`);
  return whole;
}

export function usagesFrom(given: unknown): Usage[] {
  if (typeof given !== "object" || given === null || !(Symbol.iterator in given))
    throw new TypeError("keyUsages has to be a list");
  const usages = [...(given as Iterable<unknown>)].map((one) => String(one as string));
  for (const usage of usages)
    if (!USAGES.some((known) => known === usage)) throw new TypeError(`"${usage}" is no key usage`);
  return USAGES.filter((usage) => usages.includes(usage));
}

/** Throws if a key of an algorithm does not allow these usages. */
export function checkUsages(name: string, type: KeyType, usages: readonly Usage[]): void {
  const allowed = ALGORITHMS.get(name)?.uses[type] ?? [];
  if (usages.some((usage) => !allowed.includes(usage)))
    throw domError("SyntaxError", `Unsupported key usage for a ${type} ${name} key`);
}
