import { lattices } from "./curves.ts";
import { algorithmOf, bytesFrom, domError, failed, type Given } from "./inner/web-algorithms.ts";
import { type CryptoKey, usable } from "./web-generation.ts";

/** Secrets that are sealed for the holder of a key: ML-KEM. */

type Capsule = "encapsulateKey" | "encapsulateBits" | "decapsulateKey" | "decapsulateBits";

function lattice(algorithm: Given, key: unknown, usage: Capsule, type: "public" | "private") {
  const held = usable(key, algorithm.name, usage);
  if (held.kind !== "curve" || held.curve.kind !== "akp" || (key as CryptoKey).type !== type)
    throw domError("InvalidAccessError", `The key is not a ${type} one`);
  return { name: held.curve.name, point: held.point, seed: held.secret ?? new Uint8Array() };
}

export function encapsulate(given: unknown, key: unknown, usage: Capsule): { shared: Uint8Array; sealed: Uint8Array } {
  const { name, point } = lattice(algorithmOf(given, usage), key, usage, "public");
  try {
    const { cipherText, sharedSecret } = lattices().encapsulate(name, point);
    return { shared: sharedSecret, sealed: cipherText };
  } catch {
    throw failed();
  }
}

export function decapsulate(given: unknown, key: unknown, sealed: unknown, usage: Capsule): Uint8Array {
  const { name, seed } = lattice(algorithmOf(given, usage), key, usage, "private");
  const bytes = bytesFrom(sealed, "ciphertext");
  try {
    return lattices().decapsulate(name, bytes, seed);
  } catch {
    throw failed();
  }
}
