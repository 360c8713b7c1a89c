/** Common names of encodings, mapped to labels of `TextDecoder`. */
const LABELS: ReadonlyMap<string, string> = new Map([
  ["utf8", "utf-8"],
  ["latin-1", "iso-8859-1"],
  ["latin1", "iso-8859-1"],
  ["us-ascii", "ascii"],
  ["utf-16-le", "utf-16le"],
  ["utf-16-be", "utf-16be"],
]);

/** Thrown for an unknown encoding. */
class LookupError extends Error {
  override readonly name = "LookupError";
}

/** Thrown for bytes that are invalid in the encoding. */
class UnicodeDecodeError extends Error {
  override readonly name = "UnicodeDecodeError";
}

/** Decodes bytes. Throws a `LookupError` or a `UnicodeDecodeError`. */
export function decode(bytes: Uint8Array, encoding: string): string {
  const plain = encoding.trim().toLowerCase().replaceAll("_", "-");
  const label = LABELS.get(plain) ?? plain;
  // `TextDecoder` treats both labels as windows-1252.
  if (label === "iso-8859-1" || label === "ascii") return decodeBytes(bytes, label, label === "ascii" ? 0x7f : 0xff);
  const decoder = decoderOf(label, encoding);
  try {
    return decoder.decode(bytes);
  } catch {
    throw new UnicodeDecodeError(`'${label}' codec can't decode the file's bytes`);
  }
}

function decoderOf(label: string, encoding: string): TextDecoder {
  try {
    return new TextDecoder(label, { fatal: true, ignoreBOM: true });
  } catch {
    throw new LookupError(`unknown encoding: ${encoding}`);
  }
}

/** Decodes each byte as the code point of its value. */
function decodeBytes(bytes: Uint8Array, label: string, max: number): string {
  const at = bytes.findIndex((byte) => byte > max);
  if (at < 0) return Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  throw new UnicodeDecodeError(`'${label}' codec can't decode the byte at ${at}`);
}
