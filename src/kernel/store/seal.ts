import { createCipheriv, createDecipheriv, createHmac, randomBytes, scryptSync } from "node:crypto";

/** Minimum length of a secret, in characters. */
export const SECRET_LEAST = 16;
export const SECRET_MOST = 4_096;
/** Prefixes of texts, with the version of the format. */
const SEALED = "gcm1:";
const UNSEALED = "plain1:";
const CIPHER = "aes-256-gcm";
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Random bytes of each text: the first half derives its key, the second is its nonce. */
const RANDOM_BYTES = 2 * NONCE_BYTES;
/** Salt: constant, because all users of the secret must derive the same key. */
const PURPOSE = "glovebox seal 1";
/** Differs in length from the random bytes that `keyOf` hashes with the same key. */
const MARKED = "glovebox mark 1";
/** Prefix of each text of which a digest is made: none is as long as those above. */
const DIGESTED = "glovebox digest 1";
const MARK_CHARS = 8;
const SHORT_CHARS = 12;

/** Thrown if a text cannot be opened: it was changed, moved to another place, or sealed with another secret. */
export class SealError extends Error {
  override readonly name = "SealError";
}

/**
 * Encrypts texts against readers and writers of a store, with a secret shared by its users: AES-256-GCM, with the place
 * of the text as associated data, so that a text moved elsewhere is rejected. Without a secret, texts are stored in
 * plain form with a prefix that says so.
 */
export class Seal {
  readonly #key: Buffer | null;

  private constructor(key: Buffer | null) {
    this.#key = key;
  }

  /** Derives the key, which takes tens of milliseconds. Throws a `TypeError` if the secret is too short. */
  static of(secret: string | undefined): Seal {
    if (secret === undefined) return new Seal(null);
    if (secret.length < SECRET_LEAST) throw new TypeError(`a secret has at least ${SECRET_LEAST} characters`);
    return new Seal(scryptSync(secret, PURPOSE, KEY_BYTES));
  }

  /** Uses a random key of 256 bits. */
  static keyed(key: Buffer): Seal {
    if (key.length !== KEY_BYTES) throw new TypeError(`a key has ${KEY_BYTES} bytes`);
    return new Seal(key);
  }

  /** Whether sealed values are encrypted. */
  get isSecret(): boolean {
    return this.#key !== null;
  }

  /** Fingerprint of the secret, a few characters; empty without a secret. */
  get mark(): string {
    return this.#key === null ? "" : createHmac("sha256", this.#key).update(MARKED).digest("hex").slice(0, MARK_CHARS);
  }

  /**
   * Digest of a text, in base64url: the same for all users of the secret. Only they can find the text by it; without a
   * secret, anyone can.
   */
  digest(text: string): string {
    return createHmac("sha256", this.#key ?? "")
      .update(`${DIGESTED} ${text}`)
      .digest("base64url");
  }

  /** The first 72 bits of a digest, for names among those of one store. */
  shortDigest(text: string): string {
    return this.digest(text).slice(0, SHORT_CHARS);
  }

  /** Seals a text. `about` is its place: a key of Redis or a row, and a part of it if that has several texts. */
  close(text: string, about: string): string {
    if (this.#key === null) return UNSEALED + text;
    const random = randomBytes(RANDOM_BYTES);
    const cipher = createCipheriv(CIPHER, keyOf(this.#key, random), random.subarray(NONCE_BYTES), {
      authTagLength: TAG_BYTES,
    });
    cipher.setAAD(Buffer.from(about));
    const body = Buffer.concat([random, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]);
    return SEALED + body.toString("base64");
  }

  /** Opens a text. Throws a `SealError` if it was not sealed with the same secret for the same place. */
  open(sealed: string, about: string): string {
    if (this.#key === null) {
      if (sealed.startsWith(UNSEALED)) return sealed.slice(UNSEALED.length);
      throw new SealError(
        sealed.startsWith(SEALED) ? "it is sealed, and there is no secret" : "it has an unknown form",
      );
    }
    if (!sealed.startsWith(SEALED)) throw new SealError("it is not sealed, and there is a secret");
    const text = sealed.slice(SEALED.length);
    const body = Buffer.from(text, "base64");
    // Node skips characters that base64 does not have, and takes some for others.
    if (body.toString("base64") !== text) throw new SealError("it was changed");
    const end = body.length - TAG_BYTES;
    if (end < RANDOM_BYTES) throw new SealError("it is cut off");
    const random = body.subarray(0, RANDOM_BYTES);
    const decipher = createDecipheriv(CIPHER, keyOf(this.#key, random), random.subarray(NONCE_BYTES), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAAD(Buffer.from(about)).setAuthTag(body.subarray(end));
    try {
      return Buffer.concat([decipher.update(body.subarray(RANDOM_BYTES, end)), decipher.final()]).toString("utf8");
    } catch {
      throw new SealError("it was changed, is of another place, or was sealed with another secret");
    }
  }
}

/** Checks the secret of an option, with which texts are sealed. Throws a `RangeError` that does not show it. */
export function resolveSecret(option: string, secret: unknown): string | undefined {
  if (secret === undefined) return undefined;
  if (typeof secret !== "string" || secret.length < SECRET_LEAST || secret.length > SECRET_MOST)
    throw new RangeError(`${option} has ${SECRET_LEAST} to ${SECRET_MOST} characters`);
  return secret;
}

/** Derives a key for each text: with one key for all, random nonces would repeat within days in a busy fleet. */
function keyOf(key: Buffer, random: Buffer): Buffer {
  return createHmac("sha256", key).update(random.subarray(0, NONCE_BYTES)).digest();
}
