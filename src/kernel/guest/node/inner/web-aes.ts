import { aeskw, cbc } from "@noble/ciphers/aes.js";
import { chacha20poly1305 } from "@noble/ciphers/chacha.js";
import { Aes, GcmTag } from "./aes.ts";
import { join } from "./asn1.ts";
import { openOcb, sealOcb } from "./ocb.ts";
import { isSame } from "./rsa.ts";
import { bytesFrom, failed, type Given, numberFrom } from "./web-algorithms.ts";

/** Ciphers as the Web Cryptography API has it: one whole text at a time. */

function vectorIn(algorithm: Given, name: string): Uint8Array {
  const bytes = bytesFrom(algorithm[name], name);
  if (bytes.length !== 16) throw failed(`${name} has to have 16 bytes`);
  return bytes;
}

function tagBytes(algorithm: Given): number {
  const bits = algorithm["tagLength"] === undefined ? 128 : numberFrom(algorithm["tagLength"], "tagLength", 255);
  if (![32, 64, 96, 104, 112, 120, 128].includes(bits)) throw failed("tagLength is invalid");
  return bits / 8;
}

/** Encrypts a stream with a counter in the last bits of its block, which wraps around there. */
function stream(aes: Aes, start: Uint8Array, bits: number, data: Uint8Array): Uint8Array {
  const out = new Uint8Array(data.length);
  const counter = start.slice();
  for (let at = 0; at < data.length; at += 16) {
    const mask = aes.encrypt(counter);
    for (let index = at; index < Math.min(at + 16, data.length); index++)
      out[index] = (data[index] ?? 0) ^ (mask[index - at] ?? 0);
    countBits(counter, start, bits);
  }
  return out;
}

function countBits(counter: Uint8Array, start: Uint8Array, bits: number): void {
  const whole = bits >>> 3;
  const part = bits & 7;
  const size = whole + (part === 0 ? 0 : 1);
  Aes.count(counter, size);
  if (part === 0) return;
  const at = 16 - size;
  const mask = (1 << part) - 1;
  counter[at] = ((start[at] ?? 0) & ~mask) | ((counter[at] ?? 0) & mask);
}

function ctr(algorithm: Given, key: Uint8Array, data: Uint8Array): Uint8Array {
  const counter = vectorIn(algorithm, "counter");
  const bits = numberFrom(algorithm["length"], "length", 255);
  if (bits < 1 || bits > 128) throw failed("length is invalid");
  if (bits < 32 && Math.ceil(data.length / 16) > 2 ** bits) throw failed("The counter repeats itself");
  return stream(new Aes(key), counter, bits, data);
}

function gcm(algorithm: Given, key: Uint8Array): { aes: Aes; tag: GcmTag; size: number } {
  const iv = bytesFrom(algorithm["iv"], "iv");
  const size = tagBytes(algorithm);
  if (iv.length === 0) throw failed("iv cannot be empty");
  const aes = new Aes(key);
  const tag = new GcmTag(aes, iv);
  if (algorithm["additionalData"] !== undefined)
    tag.authenticate(bytesFrom(algorithm["additionalData"], "additionalData"));
  return { aes, tag, size };
}

/** Parameters of OCB: its tag has 64 bits at least. */
function ocb(algorithm: Given, key: Uint8Array) {
  const iv = bytesFrom(algorithm["iv"], "iv");
  const size = tagBytes(algorithm);
  if (iv.length === 0 || iv.length > 15) throw failed("iv has to have 1 to 15 bytes");
  if (![8, 12, 16].includes(size)) throw failed("tagLength is invalid");
  return { aes: new Aes(key), iv, size, more: additional(algorithm) };
}

function additional(algorithm: Given): Uint8Array {
  if (algorithm["additionalData"] === undefined) return new Uint8Array();
  return bytesFrom(algorithm["additionalData"], "additionalData");
}

function chacha(algorithm: Given, key: Uint8Array) {
  const iv = bytesFrom(algorithm["iv"], "iv");
  if (iv.length !== 12) throw failed("iv has to have 12 bytes");
  if (tagBytes(algorithm) !== 16) throw failed("tagLength is invalid");
  return chacha20poly1305(key, iv, additional(algorithm));
}

export function seal(algorithm: Given, key: Uint8Array, data: Uint8Array): Uint8Array {
  switch (algorithm.name) {
    case "AES-OCB":
      return sealOcb(ocb(algorithm, key), data);
    case "ChaCha20-Poly1305":
      return chacha(algorithm, key).encrypt(data);
    case "AES-CBC":
      return cbc(key, vectorIn(algorithm, "iv")).encrypt(data);
    case "AES-CTR":
      return ctr(algorithm, key, data);
    default: {
      const { aes, tag, size } = gcm(algorithm, key);
      const sealed = stream(aes, tag.firstCounter(), 32, data);
      tag.update(sealed);
      return join(sealed, tag.finish().subarray(0, size));
    }
  }
}

/** Plain bytes, with the web's error if a library cannot decrypt. */
function opened(decrypt: () => Uint8Array | undefined): Uint8Array {
  let plain: Uint8Array | undefined;
  try {
    plain = decrypt();
  } catch {
    // The error has no further details.
  }
  if (plain === undefined) throw failed("The data cannot be decrypted");
  return plain;
}

export function open(algorithm: Given, key: Uint8Array, data: Uint8Array): Uint8Array {
  switch (algorithm.name) {
    case "AES-OCB": {
      const parameters = ocb(algorithm, key);
      if (data.length < parameters.size) throw failed("The data is too short");
      return opened(() => openOcb(parameters, data));
    }
    case "ChaCha20-Poly1305": {
      const cipher = chacha(algorithm, key);
      return opened(() => cipher.decrypt(data));
    }
    case "AES-CBC": {
      const iv = vectorIn(algorithm, "iv");
      if (data.length === 0 || data.length % 16 !== 0) throw failed("The data has a wrong length");
      return opened(() => cbc(key, iv).decrypt(data));
    }
    case "AES-CTR":
      return ctr(algorithm, key, data);
    default: {
      const { aes, tag, size } = gcm(algorithm, key);
      if (data.length < size) throw failed("The data is too short");
      const sealed = data.subarray(0, data.length - size);
      tag.update(sealed);
      if (!isSame(tag.finish().subarray(0, size), data.subarray(data.length - size)))
        throw failed("The data cannot be decrypted");
      return stream(aes, tag.firstCounter(), 32, sealed);
    }
  }
}

export function wrapAes(key: Uint8Array, data: Uint8Array): Uint8Array {
  if (data.length % 8 !== 0 || data.length < 16)
    throw failed("The key cannot be wrapped: its length is no multiple of 8 bytes");
  return aeskw(key).encrypt(data);
}

export function unwrapAes(key: Uint8Array, data: Uint8Array): Uint8Array {
  try {
    return aeskw(key).decrypt(data);
  } catch {
    throw failed("The key cannot be unwrapped");
  }
}
