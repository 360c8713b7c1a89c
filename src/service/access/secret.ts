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
