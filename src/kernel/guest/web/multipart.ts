import { blobBytes, blobOf, fileOf } from "./blob.ts";
import { joinBytes, stringFromUnits } from "./bytes.ts";
import { FormData, type FormEntry } from "./form-data.ts";
import { parseMimeType } from "./mime-type.ts";
import { encodeUtf8, Utf8Decoder } from "./utf8.ts";

const BOUNDARY = /^[0-9A-Za-z'()+_,\-./:=? ]{1,70}$/;

/** Encodes a form as `multipart/form-data`. */
export function encodeMultipart(entries: readonly FormEntry[], boundary: string): Uint8Array {
  const chunks = entries.flatMap(([name, value]): Uint8Array[] => {
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="${escape(toCrLf(name))}"`;
    if (typeof value === "string") return [encodeUtf8(`${head}\r\n\r\n${toCrLf(value)}\r\n`)];
    const type = value.type === "" ? "application/octet-stream" : value.type;
    const file = `${head}; filename="${escape(value.name)}"\r\nContent-Type: ${type}\r\n\r\n`;
    return [encodeUtf8(file), blobBytes(value) ?? new Uint8Array(), encodeUtf8("\r\n")];
  });
  return joinBytes([...chunks, encodeUtf8(`--${boundary}--\r\n`)]);
}

/** Decodes `multipart/form-data`; throws if the bytes are malformed. */
export function decodeMultipart(bytes: Uint8Array, boundary: string | undefined): FormData {
  if (boundary === undefined || !BOUNDARY.test(boundary)) throw malformed("its boundary");
  const form = new FormData();
  // One character for each byte, because strings can be searched fast.
  const text = stringFromUnits(bytes);
  const delimiter = `--${boundary}`;
  let at = text.startsWith(delimiter) ? delimiter.length : text.indexOf(`\r\n${delimiter}`) + delimiter.length + 2;
  if (at < delimiter.length + 2 && !text.startsWith(delimiter)) throw malformed("its first boundary");
  while (!text.startsWith("--", at)) {
    const headEnd = text.indexOf("\r\n\r\n", at);
    const next = headEnd < 0 ? -1 : text.indexOf(`\r\n${delimiter}`, headEnd + 2);
    if (next < 0 || !text.startsWith("\r\n", at)) throw malformed("a part");
    const start = Math.min(headEnd + 4, next);
    const part = readHead(text.slice(at + 2, headEnd));
    const content = bytes.subarray(start, next);
    if (part.fileName === undefined) form.append(part.name, decode(content));
    else form.append(part.name, fileOf(blobOf(content.slice(), part.type), part.fileName));
    at = next + delimiter.length + 2;
  }
  return form;
}

interface Part {
  readonly name: string;
  readonly fileName: string | undefined;
  readonly type: string;
}

function readHead(head: string): Part {
  const headers = new Map<string, string>();
  for (const line of head.split("\r\n")) {
    const colon = line.indexOf(":");
    if (colon < 0) throw malformed("a part's header");
    headers.set(line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim());
  }
  const disposition = headers.get("content-disposition") ?? "";
  const parameters = readParameters(disposition);
  const name = parameters.get("name");
  if (!/^form-data\s*;/i.test(disposition) || name === undefined) throw malformed("a part's name");
  const type = headers.get("content-type") ?? "text/plain";
  return {
    name,
    fileName: parameters.get("filename"),
    type: parseMimeType(type) === undefined ? "" : type.toLowerCase(),
  };
}

/** The parameters of `content-disposition`. Their values are UTF-8 with three characters escaped. */
function readParameters(disposition: string): Map<string, string> {
  const parameters = new Map<string, string>();
  for (const [, key = "", quoted, plain] of disposition.matchAll(/;\s*([^\s=;"]+)\s*=\s*(?:"([^"]*)"|([^;\s"]*))/g)) {
    const escaped = quoted ?? plain ?? "";
    const raw = escaped.replace(/%(0A|0D|22)/gi, (_match, code: string) =>
      String.fromCharCode(Number.parseInt(code, 16)),
    );
    const name = key.toLowerCase();
    if (!parameters.has(name)) parameters.set(name, decode(Uint8Array.from(raw, (char) => char.charCodeAt(0))));
  }
  return parameters;
}

function decode(bytes: Uint8Array): string {
  return new Utf8Decoder(false).decode(bytes, true);
}

function toCrLf(text: string): string {
  return text.replace(/\r\n?|\n/g, "\r\n");
}

function escape(text: string): string {
  return text.replaceAll("\n", "%0A").replaceAll("\r", "%0D").replaceAll('"', "%22");
}

function malformed(what: string): TypeError {
  return new TypeError(`The body is no multipart/form-data: ${what} is malformed`);
}
