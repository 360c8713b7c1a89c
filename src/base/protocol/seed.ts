import { hash } from "node:crypto";

const FIXED = "seed:";

/** From what a call's randomness is made: 256 bits in hexadecimal, of the executor's key and the call's number. */
export function seedOf(entropyKey: string, run: string): string {
  if (entropyKey.startsWith(FIXED)) return entropyKey.slice(FIXED.length);
  // Keys are of one length, so no two of them and their numbers are one text; a keyed hash proper takes several times as long.
  return hash("sha256", `${entropyKey}:${run}`);
}

/** A key of which every call is given this seed: a recorded call is run again with its own. */
export function fixedKey(seed: string): string {
  return FIXED + seed;
}
