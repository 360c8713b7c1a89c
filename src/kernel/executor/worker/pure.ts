import { createHash } from "node:crypto";

/**
 * Pure functions that the worker computes for guests: they need no authority, and Node implements the standards. Each
 * returns a string, even for invalid arguments: nothing may be thrown into an isolate.
 */

const INPUT_MAX = 64 * 1024 * 1024;
const NO_BASE = "\u0000";
const HASHES: ReadonlyMap<string, string> = new Map([
  ["SHA-1", "sha1"],
  ["SHA-256", "sha256"],
  ["SHA-384", "sha384"],
  ["SHA-512", "sha512"],
]);

/**
 * `seedOf`: the seed of the call that runs in the calling realm, by the number that the realm names. `partNamed`: the
 * text of a part of the prelude.
 */
export function createPure(
  seedOf: (run: string) => string,
  partNamed: (name: string) => string,
): (operation: string, a: string, b: string, c: string) => string {
  return (operation, a, b, c) => {
    try {
      if (a.length + b.length + c.length > INPUT_MAX) return "";
      switch (operation) {
        case "url.parse":
          return urlParts(b === NO_BASE ? new URL(a) : new URL(a, b));
        case "url.update":
          return updateUrl(a, b, c);
        case "digest":
          return digest(a, b);
        case "encoding":
          return singleByteEncoding(a);
        case "entropy":
          return seedOf(a);
        case "part":
          return partNamed(a);
        default:
          return "";
      }
    } catch {
      return "";
    }
  };
}

/** Encodings of one byte for each character, other than those that realms have themselves. */
const SINGLE_BYTE =
  /^(?:ibm866|iso-8859-(?:[2-8]|8-i|1[03-6])|koi8-[ru]|macintosh|windows-(?:874|125[013-8])|x-mac-cyrillic|x-user-defined)$/;
const HIGH_BYTES = Uint8Array.from({ length: 0x80 }, (_, index) => 0x80 + index);

const LABEL_MAX = 32;

/** The name of the encoding with this label, a line feed, and the characters of its bytes from 0x80 on. */
function singleByteEncoding(label: string): string {
  if (label.length > LABEL_MAX) return "";
  const decoder = new TextDecoder(label);
  return SINGLE_BYTE.test(decoder.encoding) ? `${decoder.encoding}\n${decoder.decode(HIGH_BYTES)}` : "";
}

const SETTABLE = [
  "href",
  "protocol",
  "username",
  "password",
  "host",
  "hostname",
  "port",
  "pathname",
  "search",
  "hash",
] as const;

function updateUrl(href: string, part: string, value: string): string {
  const url = new URL(href);
  const name = SETTABLE.find((settable) => settable === part);
  if (name === undefined) return "";
  url[name] = value;
  return urlParts(url);
}

function urlParts(url: URL): string {
  return JSON.stringify([...SETTABLE.map((name) => url[name]), url.origin]);
}

function digest(algorithm: string, latin1: string): string {
  const hash = HASHES.get(algorithm);
  return hash === undefined ? "" : createHash(hash).update(latin1, "latin1").digest("latin1");
}
