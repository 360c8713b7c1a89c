import { decodeForgivingly, encodeBase64 } from "../../kernel/guest/web/base64-bytes.ts";
import { bytesFromString, stringFromUnits } from "../../kernel/guest/web/bytes.ts";
import { encodeUtf8 } from "../../kernel/guest/web/utf8.ts";
import type { BinaryBody, OpenApiForm } from "../../kernel/guest/host.ts";
import { ArgumentError, isObject, textOf } from "./parameters.ts";

/** A file among the arguments. */
interface FileArgument extends BinaryBody {
  readonly filename?: unknown;
  readonly mediaType?: unknown;
}

const BYTES = "application/octet-stream";
const MEDIA_TYPE = /^[\w!#$&^.+*-]+\/[\w!#$&^.+*-]+(?:\s*;\s*[\w.+-]+=[\w.+"/:-]+)*$/;
/** Between the items of a list that is one text. */
const DELIMITERS: ReadonlyMap<OpenApiForm["style"], string> = new Map([
  ["form", ","],
  ["spaceDelimited", " "],
  ["pipeDelimited", "|"],
]);
/** Characters that would end a name in its quotes, as browsers write them. */
const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['"', "%22"],
  ["\r", "%0D"],
  ["\n", "%0A"],
]);

export function isFile(value: unknown): value is FileArgument {
  return isObject(value) && typeof value["base64"] === "string";
}

/** The bytes of a file, and their media type. Throws an `ArgumentError`. */
export function fileBody(property: string, value: unknown): { readonly body: BinaryBody; readonly mediaType: string } {
  if (!isFile(value)) throw new ArgumentError(`${property} must be a file: { base64, mediaType? }`);
  return { body: { base64: encodeBase64(bytesOf(property, value)) }, mediaType: mediaTypeOf(value) };
}

function bytesOf(property: string, { base64 }: FileArgument): Uint8Array {
  const bytes = decodeForgivingly(base64);
  if (bytes === undefined) throw new ArgumentError(`${property}.base64 is not Base64`);
  return bytes;
}

function mediaTypeOf({ mediaType }: FileArgument): string {
  return typeof mediaType === "string" && MEDIA_TYPE.test(mediaType) ? mediaType : BYTES;
}

/** One part, with its head; bytes as characters. */
type Part = readonly [head: string, content: string];

/**
 * The members of an object as `multipart/form-data` (RFC 7578): one part for each, and for each item of a list whose field
 * does not say that they are one text.
 */
export function multipartBody(
  value: Readonly<Record<string, unknown>>,
  fields: readonly OpenApiForm[],
): { readonly body: BinaryBody; readonly mediaType: string } {
  const parts = Object.entries(value).flatMap(([name, member]) => {
    const form = fields.find((one) => one.name === name);
    const all: readonly unknown[] = Array.isArray(member) ? partsOf(form, member) : [member];
    return all.flatMap((one): readonly Part[] => (one === null || one === undefined ? [] : [partOf(name, one)]));
  });
  const boundary = boundaryOf(parts);
  const text = parts.map(([head, content]) => `--${boundary}\r\n${head}\r\n\r\n${content}\r\n`).join("");
  const bytes = bytesFromString(`${text}--${boundary}--\r\n`) ?? new Uint8Array();
  return { body: { base64: encodeBase64(bytes) }, mediaType: `multipart/form-data; boundary=${boundary}` };
}

function partsOf(form: OpenApiForm | undefined, list: readonly unknown[]): readonly unknown[] {
  const delimiter = form === undefined || form.isExploded ? undefined : DELIMITERS.get(form.style);
  if (delimiter === undefined || list.length === 0 || list.some(isFile)) return list;
  return [
    list
      .filter((item) => item !== null)
      .map(textOf)
      .join(delimiter),
  ];
}

function partOf(name: string, value: unknown): Part {
  const head = `Content-Disposition: form-data; name="${escaped(name)}"`;
  if (isFile(value)) {
    const filename = typeof value.filename === "string" && value.filename !== "" ? value.filename : "file";
    const type = `Content-Type: ${mediaTypeOf(value)}`;
    return [`${head}; filename="${escaped(filename)}"\r\n${type}`, stringFromUnits(bytesOf(name, value))];
  }
  const type = isObject(value) ? "\r\nContent-Type: application/json" : "";
  return [head + type, binary(textOf(value))];
}

function escaped(text: string): string {
  return binary(text.replaceAll(/["\r\n]/g, (one) => ESCAPES.get(one) ?? one));
}

/** UTF-8 as characters, one for each byte. */
function binary(text: string): string {
  return stringFromUnits(encodeUtf8(text));
}

/** A boundary that no part contains. */
function boundaryOf(parts: readonly Part[]): string {
  let boundary = "glovebox-boundary";
  for (let at = 0; parts.some(([, content]) => content.includes(boundary)); at++) boundary = `glovebox-boundary-${at}`;
  return boundary;
}
