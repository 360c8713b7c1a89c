import { createCipheriv, createDecipheriv, createHmac, randomBytes, scryptSync } from "node:crypto";

/** Characters that a secret has at least. */
export const SECRET_LEAST = 16;
export const SECRET_MOST = 4_096;
/** Both say the version of the form with which a text begins. */
const SEALED = "gcm1:";
const UNSEALED = "plain1:";
const CIPHER = "aes-256-gcm";
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Of each text: the half from which its key is derived, and its nonce. */
const RANDOM_BYTES = 2 * NONCE_BYTES;
/** Everybody who knows the secret has to come to the same key, so there is no salt but these words. */
const PURPOSE = "glovebox seal 1";
/** Unlike the first half of any text's nonce, in length. */
const MARKED = "glovebox mark 1";
const MARK_CHARS = 8;

/** What was to be opened is not what was sealed: it was changed, is of another place, or another secret's. */
export class SealError extends Error {
  override readonly name = "SealError";
}

/**
 * What keeps texts from whoever can read or write Redis, where those who use it share a secret: AES-256-GCM, with what a
 * text is about as associated data, so that one that is moved to another place is not accepted there. Without a secret texts
 * are as they were, and say so.
 */
export class Seal {
  readonly #key: Buffer | null;

  private constructor(key: Buffer | null) {
    this.#key = key;
  }

  /** Takes some tens of milliseconds where there is a secret. Throws a `TypeError` where it is too short. */
  static of(secret: string | undefined): Seal {
    if (secret === undefined) return new Seal(null);
    if (secret.length < SECRET_LEAST) throw new TypeError(`a secret has at least ${SECRET_LEAST} characters`);
    return new Seal(scryptSync(secret, PURPOSE, KEY_BYTES));
  }

  /** With a key of 256 bits that is nobody's to remember. */
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

  /** `about` is the place of the text: a key of Redis, and the part of it where there are several. */
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

  /** Throws a `SealError` where it is not what somebody with the same secret closed for the same place. */
  open(sealed: string, about: string): string {
    if (this.#key === null) {
      if (sealed.startsWith(UNSEALED)) return sealed.slice(UNSEALED.length);
      throw new SealError(
        sealed.startsWith(SEALED) ? "it is sealed, and there is no secret" : "it has an unknown form",
      );
    }
    if (!sealed.startsWith(SEALED)) throw new SealError("it is not sealed, and there is a secret");
    const body = Buffer.from(sealed.slice(SEALED.length), "base64");
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

/** A key for each text: with one for all of them, nonces drawn at random would repeat within days of a busy fleet. */
function keyOf(key: Buffer, random: Buffer): Buffer {
  return createHmac("sha256", key).update(random.subarray(0, NONCE_BYTES)).digest();
}
