import { blake2b, blake2s } from "@noble/hashes/blake2.js";
import { ripemd160 } from "@noble/hashes/legacy.js";
import { sha3_224, sha3_256, sha3_384, sha3_512, shake128, shake256 } from "@noble/hashes/sha3.js";
import type { CHash } from "@noble/hashes/utils.js";

/** Hash functions that few tools name. */

export const HASHES: ReadonlyMap<string, CHash> = new Map<string, CHash>([
  ["ripemd160", ripemd160],
  ["sha3224", sha3_224],
  ["sha3256", sha3_256],
  ["sha3384", sha3_384],
  ["sha3512", sha3_512],
  ["blake2b512", blake2b],
  ["blake2s256", blake2s],
]);

/** A hash of any length; `undefined` if there is no such function. */
export function startShake(name: string, bytes?: number): ReturnType<typeof shake128.create> | undefined {
  switch (name) {
    case "shake128":
      return shake128.create({ dkLen: bytes ?? 16 });
    case "shake256":
      return shake256.create({ dkLen: bytes ?? 32 });
    default:
      return undefined;
  }
}
