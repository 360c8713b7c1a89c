import { bufferOver } from "./buffer.ts";
import { agreed, type Curve, curveNamed, CURVES, secretOf } from "./curves.ts";
import { dataOf, deliver, shownAs } from "./crypto.ts";
import { callable } from "./inner/callable.ts";
import { checkInteger, checkString, invalidArgValue, nodeError } from "./inner/errors.ts";
import { type NodeModule, random } from "./inner/library.ts";
import { BITS_MAX, generateRsa } from "./inner/rsa.ts";
import { type AsymmetricData, type KeyData, privateCurve } from "./inner/key-forms.ts";
import { createSecretKey, dataIn, type ExportOptions, KeyObject } from "./keys.ts";

/** Generation of keys, and key agreement. */

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
      const curve = CURVES.find((one) => one.kind !== "ec" && one.name.toLowerCase() === type);
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
  if (
    secret.kind !== "curve" ||
    open.kind !== "curve" ||
    secret.secret === null ||
    secret.curve !== open.curve ||
    secret.curve.kind === "akp"
  ) {
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
  generateKeyPair,
  generateKeyPairSync,
  generateKey,
  generateKeySync,
  diffieHellman,
  ECDH: callable(ECDH),
  createECDH: (curve: unknown) => new ECDH(curve),
};
