import { argon2d, argon2i, argon2id } from "@noble/hashes/argon2.js";
import {
  cshake128,
  cshake256,
  kmac128,
  kmac256,
  kt128,
  kt256,
  turboshake128,
  turboshake256,
} from "@noble/hashes/sha3-addons.js";
import { bytesFrom, failed, type Given, numberFrom } from "./inner/web-algorithms.ts";

/** Functions of the Web Cryptography API that few tools use: those over Keccak with an output of any length, and Argon2. */

const NOTHING = new Uint8Array(0);

function bytesIn(algorithm: Given, name: string, most = Number.MAX_SAFE_INTEGER): Uint8Array {
  if (algorithm[name] === undefined) return NOTHING;
  const bytes = bytesFrom(algorithm[name], name);
  if (bytes.length > most) throw failed(`${name} has more than ${most} bytes`);
  return bytes;
}

/** Output of an isolate's function: more than a call may give is not computed. */
const OUTPUT_MAX = 2 ** 27;

function outputBytes(algorithm: Given): number {
  const bits = numberFrom(algorithm["outputLength"], "outputLength", 2 ** 32 - 1);
  if (bits % 8 !== 0 || bits > OUTPUT_MAX) throw failed("outputLength has to be a multiple of 8, up to 2^27");
  return bits / 8;
}

function someBytes(algorithm: Given): number {
  const bytes = outputBytes(algorithm);
  if (bytes === 0) throw failed("outputLength cannot be zero");
  return bytes;
}

/** The digest of a function with any output length; `undefined` if the name is of no such function. */
function digest(algorithm: Given, data: Uint8Array): Uint8Array | undefined {
  const { name } = algorithm;
  switch (name) {
    case "cSHAKE128":
    case "cSHAKE256": {
      const dkLen = outputBytes(algorithm);
      const NISTfn = bytesIn(algorithm, "functionName", 512);
      const personalization = bytesIn(algorithm, "customization", 512);
      if (dkLen === 0) return NOTHING;
      return (name === "cSHAKE128" ? cshake128 : cshake256)(data, { dkLen, NISTfn, personalization });
    }
    case "TurboSHAKE128":
    case "TurboSHAKE256": {
      const dkLen = someBytes(algorithm);
      const given = algorithm["domainSeparation"];
      const D = given === undefined ? 0x1f : numberFrom(given, "domainSeparation", 255);
      if (D < 1 || D > 0x7f) throw failed("domainSeparation is out of range");
      return (name === "TurboSHAKE128" ? turboshake128 : turboshake256)(data, { dkLen, D });
    }
    case "KT128":
    case "KT256": {
      const dkLen = someBytes(algorithm);
      const personalization = bytesIn(algorithm, "customization", 512);
      return (name === "KT128" ? kt128 : kt256)(data, { dkLen, personalization });
    }
    default:
      return undefined;
  }
}

function kmac(algorithm: Given, key: Uint8Array, data: Uint8Array): Uint8Array {
  const dkLen = outputBytes(algorithm);
  const personalization = bytesIn(algorithm, "customization");
  if (dkLen === 0) return NOTHING;
  return (algorithm.name === "KMAC128" ? kmac128 : kmac256)(key, data, { dkLen, personalization });
}

const ARGON2: ReadonlyMap<string, typeof argon2d> = new Map([
  ["Argon2d", argon2d],
  ["Argon2i", argon2i],
  ["Argon2id", argon2id],
]);

function argon2(algorithm: Given, password: Uint8Array, bits: number): Uint8Array {
  if (bits < 32 || bits % 8 !== 0) throw failed("length has to be a multiple of 8, from 32");
  const nonce = bytesFrom(algorithm["nonce"], "nonce");
  if (nonce.length < 8) throw failed("nonce has to have 8 bytes");
  const p = numberFrom(algorithm["parallelism"], "parallelism", 2 ** 32 - 1);
  if (p === 0 || p >= 2 ** 24) throw failed("parallelism is out of range");
  const m = numberFrom(algorithm["memory"], "memory", 2 ** 32 - 1);
  if (m < 8 * p) throw failed("memory has to be at least 8 times the parallelism");
  const t = numberFrom(algorithm["passes"], "passes", 2 ** 32 - 1);
  if (t === 0) throw failed("passes cannot be zero");
  const version = algorithm["version"] === undefined ? 0x13 : numberFrom(algorithm["version"], "version", 255);
  if (version !== 0x13) throw failed("version is not 0x13");
  const derive = ARGON2.get(algorithm.name);
  if (derive === undefined) throw failed("There is no such function");
  const [key, personalization] = [bytesIn(algorithm, "secretValue"), bytesIn(algorithm, "associatedData")];
  return derive(password, nonce, { t, m, p, version, key, personalization, dkLen: bits / 8 });
}

export const shared = { digest, kmac, argon2 };
