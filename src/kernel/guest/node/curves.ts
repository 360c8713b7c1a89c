import type { ECDSA } from "@noble/curves/abstract/weierstrass.js";
import { ed25519, x25519 } from "@noble/curves/ed25519.js";
import { ed448, x448 } from "@noble/curves/ed448.js";
import { p256, p384, p521 } from "@noble/curves/nist.js";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { library } from "./inner/library.ts";
import type * as Lattices from "./lattices.ts";
import { bigOf, bytesOfBig, integer, integerOf, join, readSequence, sequence } from "./inner/asn1.ts";

/** Elliptic curves, and schemes over lattices in their place, by their names in JSON Web Keys. */

export interface WeierstrassCurve {
  readonly kind: "ec";
  readonly name: string;
  readonly oid: string;
  /** OpenSSL's name. */
  readonly named: string;
  /** Size of a coordinate, in bytes. */
  readonly size: number;
  readonly curve: ECDSA;
}

export interface OctetCurve {
  readonly kind: "okp";
  readonly name: string;
  readonly oid: string;
  readonly size: number;
  readonly signs: boolean;
}

/** Schemes over lattices (FIPS 203, 204). Their private keys are seeds. */
export interface Lattice {
  readonly kind: "akp";
  readonly name: Lattices.Name;
  readonly oid: string;
  /** Sizes of the public key, and of the seed. */
  readonly size: number;
  readonly seed: number;
  readonly signs: boolean;
}

export type Curve = WeierstrassCurve | OctetCurve | Lattice;

export const CURVES: readonly Curve[] = [
  { kind: "ec", name: "P-256", named: "prime256v1", oid: "1.2.840.10045.3.1.7", size: 32, curve: p256 },
  { kind: "ec", name: "P-384", named: "secp384r1", oid: "1.3.132.0.34", size: 48, curve: p384 },
  { kind: "ec", name: "P-521", named: "secp521r1", oid: "1.3.132.0.35", size: 66, curve: p521 },
  { kind: "ec", name: "secp256k1", named: "secp256k1", oid: "1.3.132.0.10", size: 32, curve: secp256k1 },
  { kind: "okp", name: "Ed25519", oid: "1.3.101.112", size: 32, signs: true },
  { kind: "okp", name: "X25519", oid: "1.3.101.110", size: 32, signs: false },
  { kind: "okp", name: "Ed448", oid: "1.3.101.113", size: 57, signs: true },
  { kind: "okp", name: "X448", oid: "1.3.101.111", size: 56, signs: false },
  { kind: "akp", name: "ML-DSA-44", oid: "2.16.840.1.101.3.4.3.17", size: 1312, seed: 32, signs: true },
  { kind: "akp", name: "ML-DSA-65", oid: "2.16.840.1.101.3.4.3.18", size: 1952, seed: 32, signs: true },
  { kind: "akp", name: "ML-DSA-87", oid: "2.16.840.1.101.3.4.3.19", size: 2592, seed: 32, signs: true },
  { kind: "akp", name: "ML-KEM-512", oid: "2.16.840.1.101.3.4.4.1", size: 800, seed: 64, signs: false },
  { kind: "akp", name: "ML-KEM-768", oid: "2.16.840.1.101.3.4.4.2", size: 1184, seed: 64, signs: false },
  { kind: "akp", name: "ML-KEM-1024", oid: "2.16.840.1.101.3.4.4.3", size: 1568, seed: 64, signs: false },
];

export function curveNamed(name: string): Curve | undefined {
  return CURVES.find(
    (curve) =>
      curve.name === name ||
      (curve.kind === "ec" && (curve.named === name || (name === "secp256r1" && curve.name === "P-256"))),
  );
}

function octetFunctions(name: string) {
  switch (name) {
    case "Ed25519":
      return { edwards: ed25519, montgomery: null };
    case "Ed448":
      return { edwards: ed448, montgomery: null };
    case "X25519":
      return { edwards: null, montgomery: x25519 };
    default:
      return { edwards: null, montgomery: x448 };
  }
}

/** The schemes over lattices, which few tools use: evaluated on first use. */
export function lattices(): typeof Lattices.shared {
  return library.load("lattices").shared as typeof Lattices.shared;
}

/** The size of a private key. */
export function secretSize(curve: Curve): number {
  return curve.kind === "akp" ? curve.seed : curve.size;
}

/** The public key of a private one: for Weierstrass' curves, an uncompressed point. */
export function publicOf(curve: Curve, secret: Uint8Array): Uint8Array {
  if (curve.kind === "ec") return curve.curve.getPublicKey(secret, false);
  if (curve.kind === "akp") return lattices().publicOf(curve.name, secret);
  const { edwards, montgomery } = octetFunctions(curve.name);
  return edwards === null ? (montgomery?.getPublicKey(secret) ?? new Uint8Array()) : edwards.getPublicKey(secret);
}

/** A random private key. */
export function secretOf(curve: Curve, random: (size: number) => Uint8Array): Uint8Array {
  if (curve.kind !== "ec") return random(secretSize(curve));
  const { n } = curve.curve.Point.CURVE();
  const excess = curve.size * 8 - n.toString(2).length;
  for (;;) {
    const bytes = random(curve.size);
    bytes[0] = (bytes[0] ?? 0) & (0xff >>> excess);
    const value = bigOf(bytes);
    if (value > 0n && value < n) return bytes;
  }
}

/** An uncompressed point from a point in any form; throws if it is not on the curve. */
export function pointOf(curve: WeierstrassCurve, bytes: Uint8Array): Uint8Array {
  return curve.curve.Point.fromBytes(bytes).toBytes(false);
}

export function isSecret(curve: WeierstrassCurve, bytes: Uint8Array): boolean {
  const value = bigOf(bytes);
  return bytes.length === curve.size && value > 0n && value < curve.curve.Point.CURVE().n;
}

/** The signature of a digest, as both numbers one after the other. */
export function signEcdsa(curve: WeierstrassCurve, digest: Uint8Array, secret: Uint8Array): Uint8Array {
  return curve.curve.sign(digest, secret, { prehash: false, lowS: false });
}

export function verifyEcdsa(
  curve: WeierstrassCurve,
  digest: Uint8Array,
  signature: Uint8Array,
  point: Uint8Array,
): boolean {
  if (signature.length !== 2 * curve.size) return false;
  try {
    return curve.curve.verify(signature, digest, point, { prehash: false, lowS: false });
  } catch {
    return false;
  }
}

/** Parameters of a signature that hashes the data itself. */
interface Context {
  readonly context?: Uint8Array;
}

type Signer = OctetCurve | Lattice;

export function signWhole(curve: Signer, data: Uint8Array, secret: Uint8Array, context: Context = {}): Uint8Array {
  if (curve.kind === "akp") return lattices().sign(curve.name, data, secret, context);
  return octetFunctions(curve.name).edwards?.sign(data, secret, context) ?? new Uint8Array();
}

export function verifyWhole(
  curve: Signer,
  data: Uint8Array,
  signature: Uint8Array,
  key: Uint8Array,
  context: Context = {},
): boolean {
  try {
    if (curve.kind === "akp") return lattices().verify(curve.name, data, signature, key, context);
    const { edwards } = octetFunctions(curve.name);
    if (edwards === null) return false;
    // A key of a small order makes every signature valid, and so does a signature that starts with such a point.
    const { Point } = edwards;
    if ([key, signature.subarray(0, curve.size)].some((point) => Point.fromBytes(point).isSmallOrder())) return false;
    return edwards.verify(signature, data, key, { ...context, zip215: false });
  } catch {
    return false;
  }
}

/** The shared secret of two keys. */
export function agreed(curve: WeierstrassCurve | OctetCurve, secret: Uint8Array, other: Uint8Array): Uint8Array {
  if (curve.kind === "okp")
    return octetFunctions(curve.name).montgomery?.getSharedSecret(secret, other) ?? new Uint8Array();
  // Without the byte for the form of the point.
  return curve.curve.getSharedSecret(secret, other, true).slice(1);
}

/** Signatures as OpenSSL writes them: a sequence of both numbers. */
export function toDer(signature: Uint8Array): Uint8Array {
  const half = signature.length / 2;
  return sequence(integer(bigOf(signature.subarray(0, half))), integer(bigOf(signature.subarray(half))));
}

export function fromDer(curve: WeierstrassCurve, signature: Uint8Array): Uint8Array | undefined {
  try {
    const [r, s] = readSequence(signature);
    return join(bytesOfBig(integerOf(r), curve.size), bytesOfBig(integerOf(s), curve.size));
  } catch {
    return undefined;
  }
}
