import { bufferOver } from "./buffer.ts";
import { agreed, type Curve, curveNamed, CURVES, isSecret, pointOf, publicOf, secretOf } from "./curves.ts";
import { dataOf, deliver, shownAs } from "./crypto.ts";
import {
  bigOf,
  bitsOf,
  bitString,
  bytesOfBig,
  contentOf,
  type Element,
  element,
  integer,
  integerOf,
  join,
  NOTHING,
  octets,
  oid,
  oidOf,
  readAll,
  readElement,
  readSequence,
  sequence,
  TAG,
} from "./inner/asn1.ts";
import { decode, encode } from "./inner/encodings.ts";
import { checkInteger, checkString, invalidArgType, invalidArgValue, nodeError } from "./inner/errors.ts";
import { library, type NodeModule } from "./inner/library.ts";
import { BITS_MAX, generateRsa, modulusBits, privateOf, type RsaPrivate, type RsaPublic } from "./inner/rsa.ts";

/** Keys: `KeyObject`, and the forms in which keys are written. */

/** A key's numbers or bytes. A private key has its public one. */
export type KeyData =
  | { readonly kind: "secret"; readonly bytes: Uint8Array }
  | { readonly kind: "rsa"; readonly isPss?: boolean; readonly open: RsaPublic; readonly secret: RsaPrivate | null }
  | { readonly kind: "curve"; readonly curve: Curve; readonly point: Uint8Array; readonly secret: Uint8Array | null };

export type AsymmetricData = Exclude<KeyData, { kind: "secret" }>;

const RSA_OID = "1.2.840.113549.1.1.1";
const PSS_OID = "1.2.840.113549.1.1.10";
const EC_OID = "1.2.840.10045.2.1";

export function random(size: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size);
  library.host.fillRandom(bytes);
  return bytes;
}

function broken(reason: string): Error {
  return nodeError(Error, "ERR_OSSL_UNSUPPORTED", `the key cannot be read: ${reason}`);
}

/** SubjectPublicKeyInfo (RFC 5280). */
export function readSpki(der: Uint8Array): AsymmetricData {
  const [algorithm, key] = readSequence(der);
  const [name, parameters] = readAll(contentOf(algorithm, TAG.sequence));
  const bits = bitsOf(key);
  const id = oidOf(name);
  if (id === RSA_OID || id === PSS_OID)
    return { kind: "rsa", open: checkedRsa(readRsaPublic(bits)), secret: null, isPss: id === PSS_OID };
  return publicCurve(curveOf(id, parameters), bits);
}

function publicCurve(curve: Curve, bytes: Uint8Array): AsymmetricData {
  if (curve.kind === "ec") return { kind: "curve", curve, point: pointOf(curve, bytes), secret: null };
  if (bytes.length !== curve.size) throw broken("its length is wrong");
  return { kind: "curve", curve, point: bytes.slice(), secret: null };
}

function privateCurve(curve: Curve, secret: Uint8Array): AsymmetricData {
  const isRight = curve.kind === "ec" ? isSecret(curve, secret) : secret.length === curve.size;
  if (!isRight) throw broken("its private part is out of range");
  return { kind: "curve", curve, point: publicOf(curve, secret), secret: secret.slice() };
}

function curveOf(id: string, parameters: Element | undefined): Curve {
  const named = id === EC_OID ? oidOf(parameters) : id;
  const curve = CURVES.find((one) => one.oid === named && (one.kind === "ec") === (id === EC_OID));
  if (curve === undefined) throw broken(`its algorithm ${named} is not supported`);
  return curve;
}

function readRsaPublic(der: Uint8Array): RsaPublic {
  const [n, e] = readSequence(der);
  return { n: integerOf(n), e: integerOf(e) };
}

function checkedRsa<Key extends RsaPublic>(key: Key): Key {
  if (modulusBits(key) > BITS_MAX) throw broken(`its modulus has more than ${BITS_MAX} bits`);
  if (key.n < 1n || key.e < 1n || (key.n & 1n) === 0n) throw broken("its numbers are out of range");
  return key;
}

function readRsaPrivate(der: Uint8Array): RsaPrivate {
  const [, n, e, d, p, q, dp, dq, qi] = readSequence(der);
  return checkedRsa({
    n: integerOf(n),
    e: integerOf(e),
    d: integerOf(d),
    p: integerOf(p),
    q: integerOf(q),
    dp: integerOf(dp),
    dq: integerOf(dq),
    qi: integerOf(qi),
  });
}

/** PrivateKeyInfo (RFC 5208, 5958). */
export function readPkcs8(der: Uint8Array): AsymmetricData {
  const [, algorithm, key] = readSequence(der);
  const [name, parameters] = readAll(contentOf(algorithm, TAG.sequence));
  const id = oidOf(name);
  const content = contentOf(key, TAG.bytes);
  if (id === RSA_OID || id === PSS_OID) {
    const secret = readRsaPrivate(content);
    return { kind: "rsa", open: { n: secret.n, e: secret.e }, secret, isPss: id === PSS_OID };
  }
  const curve = curveOf(id, parameters);
  if (curve.kind === "okp") return privateCurve(curve, contentOf(readElement(content).element, TAG.bytes));
  return readSec1(content, curve);
}

/** ECPrivateKey (RFC 5915). */
function readSec1(der: Uint8Array, known?: Curve): AsymmetricData {
  const [, secret, ...rest] = readSequence(der);
  const named = rest.find(({ tag }) => tag === 0xa0);
  const curve = known ?? curveOf(EC_OID, named === undefined ? undefined : readElement(named.content).element);
  const bytes = contentOf(secret, TAG.bytes);
  return privateCurve(
    curve,
    bytes.length < curve.size ? join(new Uint8Array(curve.size - bytes.length), bytes) : bytes,
  );
}

function algorithmOf(key: AsymmetricData): Uint8Array {
  if (key.kind === "rsa") return key.isPss === true ? sequence(oid(PSS_OID)) : sequence(oid(RSA_OID), NOTHING);
  return key.curve.kind === "ec" ? sequence(oid(EC_OID), oid(key.curve.oid)) : sequence(oid(key.curve.oid));
}

function rsaPublicDer({ n, e }: RsaPublic): Uint8Array {
  return sequence(integer(n), integer(e));
}

function rsaPrivateDer({ n, e, d, p, q, dp, dq, qi }: RsaPrivate): Uint8Array {
  return sequence(...[0n, n, e, d, p, q, dp, dq, qi].map((value) => integer(value)));
}

function sec1Of(curve: Curve, secret: Uint8Array, point: Uint8Array, isNamed: boolean): Uint8Array {
  const name = isNamed ? [element(0xa0, oid(curve.oid))] : [];
  return sequence(integer(1n), octets(secret), ...name, element(0xa1, bitString(point)));
}

export function writeSpki(key: AsymmetricData): Uint8Array<ArrayBuffer> {
  return sequence(algorithmOf(key), bitString(key.kind === "rsa" ? rsaPublicDer(key.open) : key.point));
}

export function writePkcs8(key: AsymmetricData): Uint8Array<ArrayBuffer> {
  if (key.secret === null) throw broken("it is not private");
  if (key.kind === "rsa")
    return sequence(integer(0n), algorithmOf(key), octets(rsaPrivateDer(key.secret as RsaPrivate)));
  const secret = key.secret as Uint8Array;
  const inner = key.curve.kind === "ec" ? sec1Of(key.curve, secret, key.point, false) : octets(secret);
  return sequence(integer(0n), algorithmOf(key), octets(inner));
}

export interface Jwk {
  readonly [member: string]: unknown;
}

const url64 = (bytes: Uint8Array): string => decode(bytes, "base64url");
const big64 = (value: bigint): string => url64(bytesOfBig(value));

export function writeJwk(key: KeyData, isPrivate: boolean): Jwk {
  if (key.kind === "secret") return { kty: "oct", k: url64(key.bytes) };
  if (key.kind === "rsa") {
    const { n, e } = key.open;
    const open = { kty: "RSA", n: big64(n), e: big64(e) };
    if (!isPrivate || key.secret === null) return open;
    const { d, p, q, dp, dq, qi } = key.secret;
    return { ...open, d: big64(d), p: big64(p), q: big64(q), dp: big64(dp), dq: big64(dq), qi: big64(qi) };
  }
  const { curve, point, secret } = key;
  const mine = isPrivate && secret !== null ? { d: url64(secret) } : {};
  if (curve.kind === "okp") return { crv: curve.name, ...mine, x: url64(point), kty: "OKP" };
  const x = url64(point.subarray(1, 1 + curve.size));
  return { kty: "EC", x, y: url64(point.subarray(1 + curve.size)), crv: curve.name, ...mine };
}

/** Reads a JSON Web Key (RFC 7517, 8037). */
export function readJwk(jwk: Jwk): KeyData {
  const bytes = (name: string): Uint8Array => {
    const value = jwk[name];
    if (typeof value !== "string" || /[^\w-]/.test(value)) throw broken(`its member ${name} is no text of base64url`);
    return encode(value, "base64url");
  };
  const big = (name: string): bigint => bigOf(bytes(name));
  switch (jwk["kty"]) {
    case "oct":
      return { kind: "secret", bytes: bytes("k") };
    case "RSA": {
      const open = checkedRsa({ n: big("n"), e: big("e") });
      if (jwk["d"] === undefined) return { kind: "rsa", open, secret: null };
      const secret =
        jwk["qi"] === undefined
          ? privateOf(open.n, open.e, big("d"), big("p"), big("q"))
          : { ...open, d: big("d"), p: big("p"), q: big("q"), dp: big("dp"), dq: big("dq"), qi: big("qi") };
      if (secret.p * secret.q !== open.n) throw broken("its primes are not those of its modulus");
      return { kind: "rsa", open, secret };
    }
    case "EC":
    case "OKP":
      return readCurveJwk(jwk, bytes);
    default:
      throw invalidArgValue("key.kty", jwk["kty"]);
  }
}

function readCurveJwk(jwk: Jwk, bytes: (name: string) => Uint8Array): KeyData {
  const curve = curveNamed(String(jwk["crv"] as string));
  if (curve === undefined || (curve.kind === "ec") !== (jwk["kty"] === "EC"))
    throw invalidArgValue("key.crv", jwk["crv"]);
  const sized = (name: string): Uint8Array => {
    const value = bytes(name);
    if (value.length !== curve.size) throw broken(`its member ${name} has a wrong length`);
    return value;
  };
  const point = curve.kind === "ec" ? join(Uint8Array.of(4), sized("x"), sized("y")) : sized("x");
  if (jwk["d"] === undefined) return publicCurve(curve, point);
  const key = privateCurve(curve, sized("d"));
  if (key.kind !== "curve" || key.point.some((byte, at) => byte !== point[at]))
    throw broken("its parts do not belong together");
  return key;
}

const PEM = /-----BEGIN ([A-Z0-9 ]+)-----([\s\S]*?)-----END \1-----/;

function readPem(text: string): KeyData {
  const [, label = "", body = ""] = PEM.exec(text) ?? [];
  if (label === "") throw nodeError(Error, "ERR_OSSL_UNSUPPORTED", "error:1E08010C:DECODER routines::unsupported");
  if (body.includes("Proc-Type") || label.startsWith("ENCRYPTED"))
    throw broken("it is encrypted, which is not supported inside an isolate");
  return readDer(encode(body, "base64"), label);
}

function readDer(der: Uint8Array, label: string): KeyData {
  switch (label) {
    case "PUBLIC KEY":
    case "spki":
      return readSpki(der);
    case "RSA PUBLIC KEY":
      return { kind: "rsa", open: checkedRsa(readRsaPublic(der)), secret: null };
    case "PRIVATE KEY":
    case "pkcs8":
      return readPkcs8(der);
    case "RSA PRIVATE KEY": {
      const secret = readRsaPrivate(der);
      return { kind: "rsa", open: { n: secret.n, e: secret.e }, secret };
    }
    case "EC PRIVATE KEY":
    case "sec1":
      return readSec1(der);
    case "CERTIFICATE":
      return readCertificate(der);
    default:
      throw broken(`its form "${label}" is not supported`);
  }
}

/** The public key of an X.509 certificate. */
function readCertificate(der: Uint8Array): KeyData {
  const [body] = readSequence(der);
  const members = readAll(contentOf(body, TAG.sequence));
  const at = members[0]?.tag === 0xa0 ? 6 : 5;
  const key = members[at];
  if (key === undefined) throw broken("it is no certificate");
  return readSpki(key.whole);
}

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

function pemOf(label: string, der: Uint8Array): string {
  const lines = decode(der, "base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}

interface ExportOptions {
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

function createSecretKey(key: unknown, encoding?: unknown): KeyObject {
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

interface PairOptions {
  readonly modulusLength?: number;
  readonly publicExponent?: number;
  readonly namedCurve?: string;
  readonly publicKeyEncoding?: ExportOptions;
  readonly privateKeyEncoding?: ExportOptions;
}

export function generateData(type: string, options: PairOptions): AsymmetricData {
  switch (type) {
    case "rsa":
    case "rsa-pss": {
      checkInteger(options.modulusLength, "options.modulusLength", 512, BITS_MAX);
      const secret = generateRsa(options.modulusLength, BigInt(options.publicExponent ?? 65_537), random);
      return { kind: "rsa", open: { n: secret.n, e: secret.e }, secret, isPss: type === "rsa-pss" };
    }
    case "ec": {
      checkString(options.namedCurve, "options.namedCurve");
      const curve = curveNamed(options.namedCurve);
      if (curve?.kind !== "ec") throw nodeError(TypeError, "ERR_CRYPTO_INVALID_CURVE", "Invalid EC curve name");
      return privateCurve(curve, secretOf(curve, random));
    }
    default: {
      const curve = CURVES.find((one) => one.kind === "okp" && one.name.toLowerCase() === type);
      if (curve === undefined) throw invalidArgValue("type", type, "must be a supported key type");
      return privateCurve(curve, secretOf(curve, random));
    }
  }
}

function generateKeyPairSync(type: unknown, options: PairOptions = {}): { publicKey: unknown; privateKey: unknown } {
  checkString(type, "type");
  const made = generateData(type, options);
  const [open, secret] = [
    new KeyObject("public", { ...made, secret: null } as KeyData),
    new KeyObject("private", made),
  ];
  const { publicKeyEncoding, privateKeyEncoding } = options;
  return {
    publicKey: publicKeyEncoding === undefined ? open : open.export(publicKeyEncoding),
    privateKey: privateKeyEncoding === undefined ? secret : secret.export(privateKeyEncoding),
  };
}

function generateKeyPair(type: unknown, ...rest: readonly unknown[]): Promise<unknown> | undefined {
  const callback = rest.at(-1) as (error: unknown, open?: unknown, secret?: unknown) => void;
  const options = (rest.length > 1 ? rest[0] : {}) as PairOptions;
  const done = (error: unknown, pair?: { publicKey: unknown; privateKey: unknown }): void => {
    if (error !== null) callback(error);
    else callback(null, pair?.publicKey, pair?.privateKey);
  };
  deliver(() => generateKeyPairSync(type, options), done);
  return undefined;
}
Object.defineProperty(generateKeyPair, Symbol.for("nodejs.util.promisify.custom"), {
  value: async (type: unknown, options?: PairOptions) => generateKeyPairSync(type, options),
});

function generateKeySync(type: unknown, options: { length: number }): KeyObject {
  checkInteger(options.length, "options.length", 8, 2 ** 31 - 1);
  if (type !== "hmac" && type !== "aes") throw invalidArgValue("type", type, "must be a supported key type");
  return createSecretKey(random(options.length >>> 3));
}

function generateKey(type: unknown, options: { length: number }, callback: unknown): void {
  deliver(() => generateKeySync(type, options), callback);
}

function agree(secret: KeyData, open: KeyData): Uint8Array {
  if (secret.kind !== "curve" || open.kind !== "curve" || secret.secret === null || secret.curve !== open.curve) {
    throw nodeError(Error, "ERR_CRYPTO_INCOMPATIBLE_KEY", "Incompatible key types for Diffie-Hellman");
  }
  return agreed(secret.curve, secret.secret, open.point);
}

function diffieHellman(options: { privateKey: object; publicKey: object }): unknown {
  return bufferOver(agree(dataIn(options.privateKey), dataIn(options.publicKey)).slice());
}

class ECDH {
  readonly #curve: Curve & { kind: "ec" };
  #secret: Uint8Array | null = null;

  constructor(name: unknown) {
    checkString(name, "curve");
    const curve = curveNamed(name);
    if (curve?.kind !== "ec") throw nodeError(TypeError, "ERR_CRYPTO_INVALID_CURVE", "Invalid EC curve name");
    this.#curve = curve;
  }

  generateKeys(encoding?: unknown): unknown {
    this.#secret = secretOf(this.#curve, random);
    return this.getPublicKey(encoding);
  }

  setPrivateKey(key: unknown, encoding?: unknown): void {
    this.#secret = dataOf(key, "key", encoding).slice();
  }

  #own(): Uint8Array {
    if (this.#secret === null) throw nodeError(Error, "ERR_CRYPTO_ECDH_INVALID_KEY", "the keys are not generated yet");
    return this.#secret;
  }

  getPrivateKey(encoding?: unknown): unknown {
    return shownAs(this.#own().slice(), encoding);
  }

  getPublicKey(encoding?: unknown, format?: unknown): unknown {
    return shownAs(this.#curve.curve.getPublicKey(this.#own(), format === "compressed"), encoding);
  }

  computeSecret(other: unknown, encoding?: unknown, shown?: unknown): unknown {
    return shownAs(agreed(this.#curve, this.#own(), dataOf(other, "otherPublicKey", encoding)).slice(), shown);
  }
}

export const shared: NodeModule = {
  KeyObject,
  createSecretKey,
  createPublicKey,
  createPrivateKey,
  generateKeyPair,
  generateKeyPairSync,
  generateKey,
  generateKeySync,
  diffieHellman,
  ECDH,
  createECDH: (curve: unknown) => new ECDH(curve),
};
