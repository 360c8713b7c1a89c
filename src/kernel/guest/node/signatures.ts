import { bufferOver } from "./buffer.ts";
import { fromDer, signEcdsa, signWhole, toDer, verifyEcdsa, verifyWhole } from "./curves.ts";
import { dataOf, deliver, shownAs } from "./crypto.ts";
import { hashNamed } from "./hashes.ts";
import { join } from "./inner/asn1.ts";
import { callable } from "./inner/callable.ts";
import { checkString, nodeError } from "./inner/errors.ts";
import { type NodeModule, random } from "./inner/library.ts";
import {
  decryptOaep,
  decryptPkcs1,
  encryptOaep,
  encryptPkcs1,
  type Hashing,
  signPkcs1,
  signPss,
  verifyPkcs1,
  verifyPss,
} from "./inner/rsa.ts";
import { type AsymmetricData } from "./inner/key-forms.ts";
import { readKey } from "./keys.ts";
import { crypto as constants } from "./tables.ts";

/** Signatures of `node:crypto`, and RSA's encryption. */

const PSS = constants["RSA_PKCS1_PSS_PADDING"];
const OAEP = constants["RSA_PKCS1_OAEP_PADDING"];

interface Options {
  readonly padding?: number;
  readonly saltLength?: number;
  readonly dsaEncoding?: string;
  readonly oaepHash?: string;
  readonly oaepLabel?: unknown;
}

function optionsIn(key: unknown): Options {
  return typeof key === "object" && key !== null ? (key as Options) : {};
}

function hashingOf(name: string): Hashing {
  const hash = hashNamed(name);
  if (hash === undefined) throw nodeError(Error, "ERR_CRYPTO_INVALID_DIGEST", `Invalid digest: ${name}`);
  return (bytes) => hash(bytes);
}

function asymmetric(input: unknown): AsymmetricData {
  const key = readKey(input);
  if (key.kind === "secret")
    throw nodeError(
      TypeError,
      "ERR_CRYPTO_INVALID_KEY_OBJECT_TYPE",
      "Invalid key object type secret, expected private.",
    );
  return key;
}

function noDigest(): Error {
  return nodeError(Error, "ERR_CRYPTO_UNSUPPORTED_OPERATION", "Unsupported crypto operation: the key needs a digest");
}

/** Length of the salt: Node's negative numbers mean that of the digest, the maximum, or any. */
function saltLength(given: number | undefined, digest: number): number | undefined {
  if (given === undefined || given === constants["RSA_PSS_SALTLEN_AUTO"]) return undefined;
  return given === constants["RSA_PSS_SALTLEN_DIGEST"] ? digest : given;
}

function signWith(algorithm: unknown, bytes: Uint8Array, input: unknown): Uint8Array {
  const key = asymmetric(input);
  const { padding, saltLength: salted, dsaEncoding } = optionsIn(input);
  if (key.secret === null)
    throw nodeError(
      TypeError,
      "ERR_CRYPTO_INVALID_KEY_OBJECT_TYPE",
      "Invalid key object type public, expected private.",
    );
  if (key.kind === "curve") {
    const secret = key.secret;
    if (key.curve.kind !== "ec") return signWhole(key.curve, bytes, secret);
    const signature = signEcdsa(key.curve, hashingOf(nameOf(algorithm))(bytes), secret);
    return dsaEncoding === "ieee-p1363" ? signature : toDer(signature);
  }
  const name = nameOf(algorithm);
  const hashing = hashingOf(name);
  const digest = hashing(bytes);
  if (padding !== PSS && key.isPss !== true) return signPkcs1(key.secret, name, digest);
  const most = ((key.open.n.toString(2).length + 6) >>> 3) - digest.length - 2;
  const size =
    salted === undefined || salted === constants["RSA_PSS_SALTLEN_MAX_SIGN"]
      ? most
      : (saltLength(salted, digest.length) ?? most);
  return signPss(key.secret, hashing, digest, random(size));
}

function nameOf(algorithm: unknown): string {
  if (algorithm === null || algorithm === undefined) return "sha256";
  checkString(algorithm, "algorithm");
  return algorithm;
}

function verifyWith(algorithm: unknown, bytes: Uint8Array, input: unknown, signature: Uint8Array): boolean {
  const key = asymmetric(input);
  const { padding, saltLength: salted, dsaEncoding } = optionsIn(input);
  if (key.kind === "curve") {
    if (key.curve.kind !== "ec") return verifyWhole(key.curve, bytes, signature, key.point);
    const plain = dsaEncoding === "ieee-p1363" ? signature : fromDer(key.curve, signature);
    return plain !== undefined && verifyEcdsa(key.curve, hashingOf(nameOf(algorithm))(bytes), plain, key.point);
  }
  const name = nameOf(algorithm);
  const hashing = hashingOf(name);
  const digest = hashing(bytes);
  if (padding !== PSS && key.isPss !== true) return verifyPkcs1(key.open, name, digest, signature);
  return verifyPss(key.open, hashing, digest, signature, saltLength(salted, digest.length));
}

class Signing {
  readonly #chunks: Uint8Array[] = [];
  readonly #algorithm: string;

  constructor(algorithm: unknown) {
    checkString(algorithm, "algorithm");
    hashingOf(algorithm);
    this.#algorithm = algorithm;
  }

  update(data: unknown, encoding?: unknown): this {
    this.#chunks.push(dataOf(data, "data", encoding).slice());
    return this;
  }

  write(data: unknown, encoding?: unknown): boolean {
    this.update(data, encoding);
    return true;
  }

  end(data?: unknown, encoding?: unknown): this {
    return data === undefined ? this : this.update(data, encoding);
  }

  protected content(): { algorithm: string; bytes: Uint8Array } {
    return { algorithm: this.#algorithm, bytes: join(...this.#chunks) };
  }
}

class Sign extends Signing {
  sign(key: unknown, encoding?: unknown): unknown {
    const { algorithm, bytes } = this.content();
    return shownAs(signWith(algorithm, bytes, key), encoding);
  }
}

class Verify extends Signing {
  verify(key: unknown, signature: unknown, encoding?: unknown): boolean {
    const { algorithm, bytes } = this.content();
    return verifyWith(algorithm, bytes, key, dataOf(signature, "signature", encoding));
  }
}

function sign(algorithm: unknown, data: unknown, key: unknown, callback?: unknown): unknown {
  return deliver(() => bufferOver(signWith(algorithm, dataOf(data, "data"), key)), callback);
}

function verify(algorithm: unknown, data: unknown, key: unknown, signature: unknown, callback?: unknown): unknown {
  return deliver(() => verifyWith(algorithm, dataOf(data, "data"), key, dataOf(signature, "signature")), callback);
}

function rsaKey(input: unknown): AsymmetricData & { kind: "rsa" } {
  const key = asymmetric(input);
  if (key.kind !== "rsa") throw noDigest();
  return key;
}

const labelOf = ({ oaepLabel }: Options): Uint8Array =>
  oaepLabel === undefined ? new Uint8Array() : dataOf(oaepLabel, "key.oaepLabel");

function publicEncrypt(input: unknown, data: unknown): unknown {
  const options = optionsIn(input);
  const { open } = rsaKey(input);
  const bytes = dataOf(data, "buffer");
  if ((options.padding ?? OAEP) !== OAEP) return bufferOver(encryptPkcs1(open, bytes, random));
  return bufferOver(encryptOaep(open, hashingOf(options.oaepHash ?? "sha1"), bytes, labelOf(options), random));
}

function privateDecrypt(input: unknown, data: unknown): unknown {
  const options = optionsIn(input);
  const { secret } = rsaKey(input);
  if (secret === null) throw noDigest();
  const bytes = dataOf(data, "buffer");
  if ((options.padding ?? OAEP) !== OAEP) return bufferOver(decryptPkcs1(secret, bytes));
  return bufferOver(decryptOaep(secret, hashingOf(options.oaepHash ?? "sha1"), bytes, labelOf(options)));
}

function privateEncrypt(input: unknown, data: unknown): unknown {
  const { secret } = rsaKey(input);
  if (secret === null) throw noDigest();
  return bufferOver(signPkcs1(secret, "", dataOf(data, "buffer")));
}

export const shared: NodeModule = {
  sign,
  verify,
  Sign: callable(Sign),
  Verify: callable(Verify),
  createSign: (algorithm: unknown) => new Sign(algorithm),
  createVerify: (algorithm: unknown) => new Verify(algorithm),
  publicEncrypt,
  privateDecrypt,
  privateEncrypt,
};
