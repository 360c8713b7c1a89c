import { ROLES } from "./caller.ts";
import type { KeyOptions } from "./key-options.ts";
import { hash, randomBytes } from "node:crypto";

/** Prefix of keys, by which people and secret scanners recognize one. */
const PREFIX = "gb_";
const RANDOM_BYTES = 32;
/** The same number of random bits or more, in base64url. */
const KEY = /^gb_[A-Za-z0-9_-]{43,256}$/;
const HASH = /^sha256:[0-9a-f]{64}$/;

/** A newly created key, and the hash to store in its place. */
export interface FreshKey {
  readonly secret: string;
  readonly hash: string;
}

export function createKey(): FreshKey {
  const secret = `${PREFIX}${randomBytes(RANDOM_BYTES).toString("base64url")}`;
  return { secret, hash: `sha256:${digestOf(secret).toString("hex")}` };
}

/**
 * The stored digest of a key. Keys are 256 random bits, beyond brute force: a slow password hash would cost CPU time on
 * each request and add no security.
 */
export function digestOf(secret: string): Buffer {
  return hash("sha256", secret, "buffer");
}

/** The digest in a `sha256:` hash, or of a key; `null` if the text is neither. */
export function readDigest(text: string): Buffer | null {
  if (HASH.test(text)) return Buffer.from(text.slice("sha256:".length), "hex");
  return KEY.test(text) ? digestOf(text) : null;
}

/** Whether a text has the form of a key, and is not another issuer's token. */
export function isKey(text: string): boolean {
  return KEY.test(text);
}

/** Masks keys in a text, such as keys entered in the wrong setting. */
export function hideKeys(text: string): string {
  return text.replaceAll(/gb_[A-Za-z0-9_-]{20,}/g, `${PREFIX}…`);
}

/** Variable with a list of keys, in the form of the setting `keys`; read with the other settings. */
const LIST = "GLOVEBOX_KEYS";
/** Variable with a single key that has all roles. */
const ONE = "GLOVEBOX_KEY";

/** Place of a key in its list: `GLOVEBOX_KEY` for the key of that variable, as it is in no list of the operator. */
export function placeOf(key: KeyOptions, at: number): string {
  return "env" in key && key.env === ONE ? ONE : `/keys/${at}`;
}

/** The key in the variable `GLOVEBOX_KEY`, if set. Its value is validated with all other keys. */
export function keyOfEnvironment(environment: NodeJS.ProcessEnv): readonly KeyOptions[] {
  if ((environment[ONE] ?? "").trim() === "") return [];
  return [{ name: "admin", env: ONE, tenant: null, roles: ROLES }];
}

/** Deletes keys from the environment once read, so that no code can read them there later. */
export function forgetVariables(environment: NodeJS.ProcessEnv, keys: readonly KeyOptions[]): void {
  delete environment[LIST];
  delete environment[ONE];
  for (const key of keys) {
    if ("env" in key) delete environment[key.env];
  }
}
