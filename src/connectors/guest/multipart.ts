import { decodeForgivingly, encodeBase64 } from "../../kernel/guest/web/base64-bytes.ts";
import { bytesFromString, stringFromUnits } from "../../kernel/guest/web/bytes.ts";
import { encodeUtf8 } from "../../kernel/guest/web/utf8.ts";
import type { BinaryBody, OpenApiForm } from "../../kernel/guest/host.ts";
import { ArgumentError, entriesOf, isObject, textOf } from "./parameters.ts";

/** A file among the arguments. */
interface FileArgument extends BinaryBody {
  readonly filename?: unknown;
  readonly mediaType?: unknown;
}

const BYTES = "application/octet-stream";
const MEDIA_TYPE = /^[\w!#$&^.+*-]+\/[\w!#$&^.+*-]+(?:\s*;\s*[\w.+-]+=[\w.+"/:-]+)*$/;
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

/** `told`: the media type in the document; empty without one. */
function mediaTypeOf({ mediaType }: FileArgument, told = ""): string {
  if (typeof mediaType === "string" && MEDIA_TYPE.test(mediaType)) return mediaType;
  return told === "" ? BYTES : told;
}

/** One part, with its head; bytes as characters. */
type Part = readonly [head: string, content: string];

/**
 * The members of an object as `multipart/form-data` (RFC 7578): one part for each, and for each item of a list unless
 * its field makes the list one text.
 */
export function multipartBody(
  value: Readonly<Record<string, unknown>>,
  fields: readonly OpenApiForm[],
): { readonly body: BinaryBody; readonly mediaType: string } {
  const parts = Object.entries(value).flatMap(([name, member]) =>
    partsOf(
      fields.find((one) => one.name === name) ?? { name, style: "form", isExploded: true, mediaType: "" },
      member,
    ),
  );
  const boundary = boundaryOf(parts);
  const text = parts.map(([head, content]) => `--${boundary}\r\n${head}\r\n\r\n${content}\r\n`).join("");
  const bytes = bytesFromString(`${text}--${boundary}--\r\n`) ?? new Uint8Array();
  return { body: { base64: encodeBase64(bytes) }, mediaType: `multipart/form-data; boundary=${boundary}` };
}

/** A member with its own style is written as in a form; of any other list, each item is a part. */
function partsOf(form: OpenApiForm, member: unknown): readonly Part[] {
  const all = [member].flat().filter((one) => one !== null && one !== undefined);
  if (form.mediaType !== undefined || all.some(isFile)) return all.map((one) => partOf(form, one));
  return all.length === 0
    ? []
    : entriesOf(form, member, (text) => text).map(([name, text]) => textPart(name, "", text));
}

function partOf({ name, style, mediaType = "" }: OpenApiForm, value: unknown): Part {
  if (isFile(value)) {
    const filename = typeof value.filename === "string" && value.filename !== "" ? value.filename : "file";
    const head = `${dispositionOf(name)}; filename="${escaped(filename)}"`;
    return [`${head}\r\nContent-Type: ${mediaTypeOf(value, mediaType)}`, stringFromUnits(bytesOf(name, value))];
  }
  const type = mediaType === "" && isObject(value) ? "application/json" : mediaType;
  return textPart(name, type, style === "json" ? JSON.stringify(value) : textOf(value));
}

function textPart(name: string, type: string, text: string): Part {
  return [dispositionOf(name) + (type === "" ? "" : `\r\nContent-Type: ${type}`), binary(text)];
}

function dispositionOf(name: string): string {
  return `Content-Disposition: form-data; name="${escaped(name)}"`;
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
