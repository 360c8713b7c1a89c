import { bufferOver } from "./buffer.ts";
import { dataOf } from "./crypto.ts";
import { readSequence } from "./inner/asn1.ts";
import { decode } from "./inner/encodings.ts";
import { invalidArgType, invalidArgValue, nodeError } from "./inner/errors.ts";
import {
  type AsymmetricData,
  type Jwk,
  type KeyData,
  pemOf,
  readDer,
  readJwk,
  readPem,
  rsaPrivateDer,
  rsaPublicDer,
  sec1Of,
  writeJwk,
  writePkcs8,
  writeSpki,
} from "./inner/key-forms.ts";
import { library, type NodeModule } from "./inner/library.ts";
import { modulusBits } from "./inner/rsa.ts";

/** Keys: `KeyObject`, and values that can be read as one. */

/** Whatever Node takes as a key that is not secret. */
export function readKey(input: unknown): KeyData {
  if (input instanceof KeyObject) return dataIn(input);
  if (typeof input === "string") return readPem(input);
  if (typeof input === "object" && input !== null && !ArrayBuffer.isView(input) && !(input instanceof ArrayBuffer)) {
    const { key, format, type } = input as { key?: unknown; format?: unknown; type?: unknown };
    const held = data.get(input);
    if (held !== undefined) return held;
    if (key === undefined)
      throw invalidArgType(
        "key",
        ["string", "ArrayBuffer", "Buffer", "TypedArray", "DataView", "KeyObject", "CryptoKey"],
        input,
      );
    if (format === "jwk") return readJwk(key as Jwk);
    if (format === "der") {
      const bytes = dataOf(key, "key");
      return type === "pkcs1" ? readPkcs1(bytes) : readDer(bytes, String((type ?? "spki") as string));
    }
    return readKey(key);
  }
  const bytes = dataOf(input, "key");
  return readPem(decode(bytes, "latin1"));
}

function readPkcs1(bytes: Uint8Array): KeyData {
  return readSequence(bytes).length > 2 ? readDer(bytes, "RSA PRIVATE KEY") : readDer(bytes, "RSA PUBLIC KEY");
}

export interface ExportOptions {
  readonly type?: string;
  readonly format?: string;
  readonly cipher?: string;
}

const data = new WeakMap<object, KeyData>();

export function dataIn(key: object): KeyData {
  const found = data.get(key);
  if (found === undefined) throw invalidArgType("key", "KeyObject", key);
  return found;
}

/** Makes an object a key: the web's have another class. */
export function hold(key: object, held: KeyData): void {
  data.set(key, held);
}

/** Bytes of a secret key. */
export function secretIn(key: object): Uint8Array {
  const held = data.get(key);
  if (held?.kind === "secret") return held.bytes;
  throw invalidArgType(
    "key",
    ["ArrayBuffer", "Buffer", "TypedArray", "DataView", "string", "KeyObject", "CryptoKey"],
    key,
  );
}

type KeyType = "secret" | "public" | "private";

export class KeyObject {
  readonly type: KeyType;

  constructor(type: KeyType, held: KeyData) {
    this.type = type;
    data.set(this, held);
  }

  static from(key: object): KeyObject {
    return new KeyObject(Reflect.get(key, "type") as KeyType, dataIn(key));
  }

  get [Symbol.for("glovebox.KeyObject")](): boolean {
    return true;
  }

  get [Symbol.toStringTag](): string {
    return "KeyObject";
  }

  get symmetricKeySize(): number | undefined {
    const held = dataIn(this);
    return held.kind === "secret" ? held.bytes.length : undefined;
  }

  get asymmetricKeyType(): string | undefined {
    const held = dataIn(this);
    if (held.kind === "secret") return undefined;
    if (held.kind === "rsa") return held.isPss === true ? "rsa-pss" : "rsa";
    return held.curve.kind === "ec" ? "ec" : held.curve.name.toLowerCase();
  }

  get asymmetricKeyDetails(): object | undefined {
    const held = dataIn(this);
    if (held.kind === "secret") return undefined;
    if (held.kind === "rsa") return { modulusLength: modulusBits(held.open), publicExponent: held.open.e };
    return held.curve.kind === "ec" ? { namedCurve: held.curve.named } : {};
  }

  equals(other: unknown): boolean {
    if (!(other instanceof KeyObject)) throw invalidArgType("otherKeyObject", "KeyObject", other);
    if (this.type !== other.type) return false;
    const [one, two] = [this, other].map((key) => JSON.stringify(writeJwk(dataIn(key), key.type !== "public")));
    return one === two;
  }

  export(options: ExportOptions = {}): unknown {
    const held = dataIn(this);
    if (options.format === "jwk") return writeJwk(held, this.type === "private");
    if (held.kind === "secret") return bufferOver(held.bytes.slice());
    if (options.cipher !== undefined)
      throw nodeError(
        Error,
        "ERR_FEATURE_UNAVAILABLE_ON_PLATFORM",
        "keys cannot be exported encrypted inside an isolate: export the key, and encrypt it with createCipheriv",
      );
    const [label, der] = this.type === "public" ? publicForm(held, options.type) : privateForm(held, options.type);
    return options.format === "der" ? bufferOver(der) : pemOf(label, der);
  }

  toCryptoKey(): never {
    throw library.refusal("crypto", "KeyObject.toCryptoKey");
  }
}

function publicForm(key: AsymmetricData, type: unknown): [string, Uint8Array] {
  if (type === "pkcs1" && key.kind === "rsa") return ["RSA PUBLIC KEY", rsaPublicDer(key.open)];
  if (type !== undefined && type !== "spki") throw invalidArgValue("options.type", type);
  return ["PUBLIC KEY", writeSpki(key)];
}

function privateForm(key: AsymmetricData, type: unknown): [string, Uint8Array] {
  if (type === "pkcs1" && key.kind === "rsa" && key.secret !== null)
    return ["RSA PRIVATE KEY", rsaPrivateDer(key.secret)];
  if (type === "sec1" && key.kind === "curve" && key.secret !== null)
    return ["EC PRIVATE KEY", sec1Of(key.curve, key.secret, key.point, true)];
  if (type !== undefined && type !== "pkcs8") throw invalidArgValue("options.type", type);
  return ["PRIVATE KEY", writePkcs8(key)];
}

export function createSecretKey(key: unknown, encoding?: unknown): KeyObject {
  return new KeyObject("secret", { kind: "secret", bytes: dataOf(key, "key", encoding).slice() });
}

function createPublicKey(input: unknown): KeyObject {
  const held = readKey(input);
  if (held.kind === "secret") throw invalidArgValue("key", "secret", "must be a public or private key");
  return new KeyObject("public", { ...held, secret: null } as KeyData);
}

function createPrivateKey(input: unknown): KeyObject {
  const held = readKey(input);
  if (held.kind === "secret" || held.secret === null)
    throw nodeError(Error, "ERR_OSSL_UNSUPPORTED", "error:1E08010C:DECODER routines::unsupported");
  return new KeyObject("private", held);
}

export const shared: NodeModule = { KeyObject, createSecretKey, createPublicKey, createPrivateKey };
