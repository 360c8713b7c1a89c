import { ml_dsa44, ml_dsa65, ml_dsa87 } from "@noble/post-quantum/ml-dsa.js";
import { ml_kem1024, ml_kem512, ml_kem768 } from "@noble/post-quantum/ml-kem.js";
import { random } from "./inner/library.ts";

/** Signatures and encapsulation over lattices: ML-DSA and ML-KEM. Their private keys are seeds. */

export type Name = `ML-${"DSA" | "KEM"}-${number}`;
interface Context {
  readonly context?: Uint8Array;
}

const DSA = new Map([
  ["ML-DSA-44", ml_dsa44],
  ["ML-DSA-65", ml_dsa65],
  ["ML-DSA-87", ml_dsa87],
]);
const RANDOM_BYTES = 32;
const KEM = new Map([
  ["ML-KEM-512", ml_kem512],
  ["ML-KEM-768", ml_kem768],
  ["ML-KEM-1024", ml_kem1024],
]);

function known<T>(table: ReadonlyMap<string, T>, name: Name): T {
  const found = table.get(name);
  if (found === undefined) throw new TypeError(`${name} is for something else`);
  return found;
}

export const shared = {
  publicOf: (name: Name, seed: Uint8Array): Uint8Array => (DSA.get(name) ?? known(KEM, name)).keygen(seed).publicKey,
  sign: (name: Name, data: Uint8Array, seed: Uint8Array, context: Context): Uint8Array => {
    const scheme = known(DSA, name);
    return scheme.sign(data, scheme.keygen(seed).secretKey, { ...context, extraEntropy: random(RANDOM_BYTES) });
  },
  verify: (name: Name, data: Uint8Array, signature: Uint8Array, key: Uint8Array, context: Context): boolean =>
    known(DSA, name).verify(signature, data, key, context),
  encapsulate: (name: Name, key: Uint8Array): { readonly cipherText: Uint8Array; readonly sharedSecret: Uint8Array } =>
    known(KEM, name).encapsulate(key, random(RANDOM_BYTES)),
  decapsulate: (name: Name, sealed: Uint8Array, seed: Uint8Array): Uint8Array => {
    const scheme = known(KEM, name);
    return scheme.decapsulate(sealed, scheme.keygen(seed).secretKey);
  },
};
