import { type Curve, curveNamed, CURVES, isSecret, pointOf, publicOf, secretSize } from "../curves.ts";
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
} from "./asn1.ts";
import { decode, encode } from "./encodings.ts";
import { invalidArgValue, nodeError } from "./errors.ts";
import { BITS_MAX, modulusBits, privateOf, type RsaPrivate, type RsaPublic } from "./rsa.ts";

/** The forms in which keys are written: DER, PEM and JSON Web Keys. */

/** A key's numbers or bytes. A private key has its public one. */
export type KeyData =
  | { readonly kind: "secret"; readonly bytes: Uint8Array }
  | { readonly kind: "rsa"; readonly isPss?: boolean; readonly open: RsaPublic; readonly secret: RsaPrivate | null }
  | { readonly kind: "curve"; readonly curve: Curve; readonly point: Uint8Array; readonly secret: Uint8Array | null };

export type AsymmetricData = Exclude<KeyData, { kind: "secret" }>;

const RSA_OID = "1.2.840.113549.1.1.1";
const PSS_OID = "1.2.840.113549.1.1.10";
const SEED_TAG = 0x80;
const EC_OID = "1.2.840.10045.2.1";

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

export function privateCurve(curve: Curve, secret: Uint8Array): AsymmetricData {
  const isRight = curve.kind === "ec" ? isSecret(curve, secret) : secret.length === secretSize(curve);
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
  if (curve.kind === "akp") return privateCurve(curve, seedIn(content));
  return readSec1(content, curve);
}

/** The seed of a private key over a lattice (RFC 9881, 9935): alone, or before the key that is made of it. */
function seedIn(content: Uint8Array): Uint8Array {
  const { element: found } = readElement(content);
  if (found.tag === SEED_TAG) return found.content;
  if (found.tag === TAG.sequence) return contentOf(readAll(found.content)[0], TAG.bytes);
  throw nodeError(Error, "ERR_CRYPTO_SEEDLESS_KEY", "the key cannot be read: it has no seed");
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

export function rsaPublicDer({ n, e }: RsaPublic): Uint8Array {
  return sequence(integer(n), integer(e));
}

export function rsaPrivateDer({ n, e, d, p, q, dp, dq, qi }: RsaPrivate): Uint8Array {
  return sequence(...[0n, n, e, d, p, q, dp, dq, qi].map((value) => integer(value)));
}

export function sec1Of(curve: Curve, secret: Uint8Array, point: Uint8Array, isNamed: boolean): Uint8Array {
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
  const inner = innerKey(key.curve, secret, key.point);
  return sequence(integer(0n), algorithmOf(key), octets(inner));
}

function innerKey(curve: Curve, secret: Uint8Array, point: Uint8Array): Uint8Array {
  if (curve.kind === "akp") return element(SEED_TAG, secret);
  return curve.kind === "ec" ? sec1Of(curve, secret, point, false) : octets(secret);
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
  if (curve.kind === "akp") {
    const seed = isPrivate && secret !== null ? { priv: url64(secret) } : {};
    return { kty: "AKP", alg: curve.name, pub: url64(point), ...seed };
  }
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
    case "AKP":
      return readLatticeJwk(jwk, bytes);
    case "EC":
    case "OKP":
      return readCurveJwk(jwk, bytes);
    default:
      throw invalidArgValue("key.kty", jwk["kty"]);
  }
}

function readCurveJwk(jwk: Jwk, bytes: (name: string) => Uint8Array): KeyData {
  const curve = curveNamed(String(jwk["crv"] as string));
  if (curve === undefined || curve.kind === "akp" || (curve.kind === "ec") !== (jwk["kty"] === "EC"))
    throw invalidArgValue("key.crv", jwk["crv"]);
  const sized = (name: string): Uint8Array => {
    const value = bytes(name);
    if (value.length !== curve.size) throw broken(`its member ${name} has a wrong length`);
    return value;
  };
  const point = curve.kind === "ec" ? join(Uint8Array.of(4), sized("x"), sized("y")) : sized("x");
  if (jwk["d"] === undefined) return publicCurve(curve, point);
  return belonging(privateCurve(curve, sized("d")), point);
}

function readLatticeJwk(jwk: Jwk, bytes: (name: string) => Uint8Array): KeyData {
  const curve = CURVES.find(({ kind, name }) => kind === "akp" && name === jwk["alg"]);
  if (curve === undefined) throw invalidArgValue("key.alg", jwk["alg"]);
  const open = publicCurve(curve, bytes("pub"));
  return jwk["priv"] === undefined ? open : belonging(privateCurve(curve, bytes("priv")), bytes("pub"));
}

/** A private key that matches the given public key. */
function belonging(key: AsymmetricData, point: Uint8Array): AsymmetricData {
  if (key.kind !== "curve" || key.point.some((byte, at) => byte !== point[at]))
    throw broken("its parts do not belong together");
  return key;
}

const PEM = /-----BEGIN ([A-Z0-9 ]+)-----([\s\S]*?)-----END \1-----/;

export function readPem(text: string): KeyData {
  const [, label = "", body = ""] = PEM.exec(text) ?? [];
  if (label === "") throw nodeError(Error, "ERR_OSSL_UNSUPPORTED", "error:1E08010C:DECODER routines::unsupported");
  if (body.includes("Proc-Type") || label.startsWith("ENCRYPTED"))
    throw broken("it is encrypted, which is not supported inside an isolate");
  return readDer(encode(body, "base64"), label);
}

export function readDer(der: Uint8Array, label: string): KeyData {
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

export function pemOf(label: string, der: Uint8Array): string {
  const lines = decode(der, "base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}
