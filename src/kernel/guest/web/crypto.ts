import { bytesFromString, hexOf, stringFromUnits } from "./bytes.ts";
import { bytesOf } from "./buffer-source.ts";
import { describeInterface } from "./web-interface.ts";

/** The hash functions of the web's `crypto.subtle.digest`. */
export type DigestAlgorithm = "SHA-1" | "SHA-256" | "SHA-384" | "SHA-512";

/** Functions of the host for `crypto`. */
export interface CryptoParts {
  /** Fills an array with random bytes. */
  readonly fill: (bytes: Uint8Array) => void;
  /** Hashes bytes; data and result are strings with one character for each byte. */
  readonly digest: (algorithm: DigestAlgorithm, latin1: string) => string;
  /** The methods of `SubtleCrypto` other than `digest`, evaluated on first use. */
  readonly further: () => SubtleMethods;
  readonly DOMException: new (message: string, name: string) => Error;
  readonly QuotaExceededError: new (message: string) => Error;
}

/** Methods by name: each takes its caller's arguments, and throws the error with which the caller's promise rejects. */
export type SubtleMethods = { readonly [name: string]: (...args: readonly unknown[]) => unknown };

/** `SubtleCrypto` of this engine: it implements hashing, and loads the rest from a separate part. */
export interface WebSubtleCrypto {
  digest(algorithm: string | { readonly name: string }, data: ArrayBuffer | ArrayBufferView): Promise<ArrayBuffer>;
}

export interface WebCrypto {
  readonly subtle: WebSubtleCrypto;
  getRandomValues<T extends ArrayBufferView>(array: T): T;
  randomUUID(): string;
}

/** Result of `createCrypto`. */
export interface CryptoGlobals {
  readonly crypto: WebCrypto;
  readonly Crypto: new () => WebCrypto;
  readonly SubtleCrypto: new () => WebSubtleCrypto;
}

const ALGORITHMS: readonly DigestAlgorithm[] = ["SHA-1", "SHA-256", "SHA-384", "SHA-512"];
const DATA_MAX = 16 * 1024 * 1024;
const RANDOM_MAX = 65_536;

const INTEGER_ARRAYS: readonly unknown[] = [
  "Int8Array",
  "Uint8Array",
  "Uint8ClampedArray",
  "Int16Array",
  "Uint16Array",
  "Int32Array",
  "Uint32Array",
  "BigInt64Array",
  "BigUint64Array",
];

/** Further methods of `SubtleCrypto`, with the number of arguments of each. */
const FURTHER: readonly (readonly [name: string, length: number])[] = [
  ["encrypt", 3],
  ["decrypt", 3],
  ["sign", 3],
  ["verify", 4],
  ["generateKey", 3],
  ["deriveKey", 5],
  ["deriveBits", 2],
  ["importKey", 5],
  ["exportKey", 2],
  ["wrapKey", 4],
  ["unwrapKey", 7],
  ["getPublicKey", 2],
  ["encapsulateKey", 5],
  ["encapsulateBits", 2],
  ["decapsulateKey", 6],
  ["decapsulateBits", 3],
];

/** Creates `crypto` and its classes, which tools cannot construct. */
export function createCrypto({ fill, digest, further, DOMException, QuotaExceededError }: CryptoParts): CryptoGlobals {
  const key = Symbol("Crypto");

  class SubtleCrypto implements WebSubtleCrypto {
    static {
      for (const [name, length] of FURTHER) defineFurther(this.prototype, name, length, further);
      describeInterface(this, "SubtleCrypto");
    }

    static supports(...args: [operation: unknown, algorithm: unknown]): boolean {
      if (args.length < 2) throw new TypeError("SubtleCrypto.supports takes 2 arguments");
      return further()["supports"]?.(...args) === true;
    }

    constructor(...[shown]: [shown?: unknown]) {
      if (shown !== key) throw new TypeError("Illegal constructor");
    }

    // Hashes synchronously, so that changing the data after the call has no effect.
    async digest(
      algorithm: string | { readonly name: string },
      data: ArrayBuffer | ArrayBufferView,
    ): Promise<ArrayBuffer> {
      const given = algorithmName(algorithm);
      const wanted = given.toUpperCase();
      const known = ALGORITHMS.find((name) => name === wanted);
      const bytes = bytesOf(data);
      if (bytes === undefined) throw new TypeError("The data of digest has to be an ArrayBuffer or a view of one");
      if (known === undefined) {
        const parameters: object | null = typeof algorithm === "object" ? algorithm : null;
        // A getter is called once.
        const whole: unknown = Object.create(parameters, { name: { value: given } });
        return further()["digest"]?.(whole, bytes) as ArrayBuffer;
      }
      if (bytes.length > DATA_MAX) throw new DOMException("digest takes 16 MiB at most", "OperationError");
      const hash = bytesFromString(digest(known, stringFromUnits(bytes)));
      if (hash === undefined) throw new DOMException("The data could not be hashed", "OperationError");
      return hash.buffer;
    }
  }

  class Crypto implements WebCrypto {
    // One object for all callers: frozen, so that none of them can leave data on it.
    readonly #subtle = Object.freeze(new SubtleCrypto(key));

    static {
      describeInterface(this, "Crypto");
    }

    constructor(...[shown]: [shown?: unknown]) {
      if (shown !== key) throw new TypeError("Illegal constructor");
    }

    get subtle(): WebSubtleCrypto {
      return this.#subtle;
    }

    getRandomValues<T extends ArrayBufferView>(array: T): T {
      if (!(#subtle in this)) throw new TypeError("Illegal invocation");
      const bytes = integerBytes(array);
      if (bytes === undefined) {
        throw new DOMException("getRandomValues needs an array of integers", "TypeMismatchError");
      }
      if (bytes.length > RANDOM_MAX) {
        throw new QuotaExceededError(`getRandomValues gives ${RANDOM_MAX} bytes at most`);
      }
      fill(bytes);
      return array;
    }

    randomUUID(): string {
      if (!(#subtle in this)) throw new TypeError("Illegal invocation");
      const bytes = new Uint8Array(16);
      fill(bytes);
      return formatUuid(bytes);
    }
  }

  return { crypto: Object.freeze(new Crypto(key)), Crypto, SubtleCrypto };
}

function defineFurther(prototype: object, name: string, length: number, further: () => SubtleMethods): void {
  const methods = {
    async [name](...args: readonly unknown[]): Promise<unknown> {
      if (args.length < length) throw new TypeError(`crypto.subtle.${name} takes ${length} arguments`);
      return further()[name]?.(...args);
    },
  };
  Object.defineProperty(methods[name], "length", { value: length, configurable: true });
  Object.defineProperty(prototype, name, { value: methods[name], writable: true, configurable: true });
}

function algorithmName(algorithm: unknown): string {
  if (typeof algorithm !== "object" || algorithm === null) return `${algorithm as string}`;
  const name: unknown = Reflect.get(algorithm, "name");
  if (name === undefined) throw new TypeError("The algorithm has no name");
  return `${name as string}`;
}

function integerBytes(array: unknown): Uint8Array | undefined {
  if (typeof array !== "object" || array === null) return undefined;
  const name: unknown = Reflect.get(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag, array);
  return INTEGER_ARRAYS.includes(name) ? bytesOf(array) : undefined;
}

/** Formats 16 random bytes as a UUID of version 4. Changes the bytes. */
function formatUuid(bytes: Uint8Array): string {
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = hexOf(bytes);
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}
