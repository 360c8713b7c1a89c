import { ROLES } from "./caller.ts";
import type { KeyOptions } from "./key-options.ts";
import { hash, randomBytes } from "node:crypto";

/** What keys begin with, so that people and scanners of source code know one when they see it. */
const PREFIX = "gb_";
const RANDOM_BYTES = 32;
/** The same number of random bits or more, in base64url. */
const KEY = /^gb_[A-Za-z0-9_-]{43,256}$/;
const HASH = /^sha256:[0-9a-f]{64}$/;

/** A key that nobody has yet, and what is kept of it. */
export interface FreshKey {
  readonly secret: string;
  readonly hash: string;
}

export function createKey(): FreshKey {
  const secret = `${PREFIX}${randomBytes(RANDOM_BYTES).toString("base64url")}`;
  return { secret, hash: `sha256:${digestOf(secret).toString("hex")}` };
}

/**
 * What is kept of a key. Keys are 256 random bits, which nobody can go through, so a slow hash would make each request
 * dear and no key safer: that is for passwords, which people choose.
 */
export function digestOf(secret: string): Buffer {
  return hash("sha256", secret, "buffer");
}

/** The digest that a hash says, or that a key has; `null` where the text is neither. */
export function readDigest(text: string): Buffer | null {
  if (HASH.test(text)) return Buffer.from(text.slice("sha256:".length), "hex");
  return KEY.test(text) ? digestOf(text) : null;
}

/** A text without the keys that stand in it, wherever somebody put them by mistake. */
export function hideKeys(text: string): string {
  return text.replaceAll(/gb_[A-Za-z0-9_-]{20,}/g, `${PREFIX}…`);
}

/** A list of keys, as a configuration has it: read with the other settings. */
const LIST = "GLOVEBOX_KEYS";
/** One key, for everything: a lone administrator's. */
const ONE = "GLOVEBOX_KEY";

/** The key of the environment's variable `GLOVEBOX_KEY`, where it has one. What it is, is checked with all others. */
export function keyOfEnvironment(environment: NodeJS.ProcessEnv): readonly KeyOptions[] {
  if ((environment[ONE] ?? "").trim() === "") return [];
  return [{ name: "admin", env: ONE, tenant: null, roles: ROLES }];
}

/** Takes keys out of the environment once they have been read: what is not there, nobody finds. */
export function forgetVariables(environment: NodeJS.ProcessEnv, keys: readonly KeyOptions[]): void {
  delete environment[LIST];
  delete environment[ONE];
  for (const key of keys) {
    if ("env" in key) delete environment[key.env];
  }
}
