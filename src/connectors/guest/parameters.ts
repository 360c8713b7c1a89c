import type { OpenApiForm, OpenApiParameter } from "../../kernel/guest/host.ts";

/** Arguments that the request cannot carry; the message names them, and a valid alternative. */
export class ArgumentError extends TypeError {
  override readonly name = "ArgumentError";
}

/** Characters that `encodeURIComponent` does not encode and RFC 3986 reserves. */
const RESERVED = /[!'()*]/g;
/** A header's value is bytes; these would end it. */
const NOT_IN_HEADERS = /[^\t\u0020-\u007e\u0080-\u00ff]/;
const HEX = 16;
/**
 * The reserved characters of RFC 3986 that a reserved value keeps: all that do not end a query, or a part of one
 * (OpenAPI 3.1.1, appendix E). Sequences that are percent-encoded stay so.
 */
const KEPT = /%(?:3A|2F|3F|40|21|24|27|28|29|2A|2C|3B|3D)|%25(?=[\dA-Fa-f]{2})/g;

type Encode = (text: string) => string;
type Entry = readonly [name: string, value: unknown];
type TextEntry = readonly [name: string, text: string];

export function percentEncode(text: string): string {
  const encoded = encodeURIComponent(text.toWellFormed());
  return encoded.replaceAll(RESERVED, (one) => `%${one.charCodeAt(0).toString(HEX).toUpperCase()}`);
}

function reservedEncode(text: string): string {
  return percentEncode(text).replaceAll(KEPT, (one) => (one === "%25" ? "%" : decodeURIComponent(one)));
}

/** The text of a parameter in a path, percent-encoded. */
export function pathText(parameter: OpenApiParameter, value: unknown): string {
  const { style } = parameter;
  if (style === "label" || style === "matrix") return prefixedText(parameter, value);
  const text = simpleText(parameter, value, percentEncode);
  if (text === "") throw new ArgumentError(`${parameter.property} is empty: a part of the path cannot be left out`);
  return text;
}

/** Styles `label` and `matrix` of RFC 6570. */
function prefixedText({ name, style, isExploded }: OpenApiForm, value: unknown): string {
  const isLabel = style === "label";
  const own = `;${percentEncode(name)}`;
  const texts = Array.isArray(value)
    ? items(value, percentEncode)
    : isObject(value)
      ? membersOf(value).map(([key, one]) => [percentEncode(key), percentEncode(textOf(one))])
      : [percentEncode(textOf(value))];
  if (!isExploded) return isLabel ? `.${texts.flat().join(",")}` : matrixPart(own, texts.flat().join(","));
  if (isLabel) return texts.map((text) => `.${typeof text === "string" ? text : text.join("=")}`).join("") || ".";
  const parts = texts.map((text) => (typeof text === "string" ? matrixPart(own, text) : `;${text.join("=")}`));
  return parts.join("") || own;
}

function matrixPart(own: string, text: string): string {
  return text === "" ? own : `${own}=${text}`;
}

/** The text of a parameter in a header, unchanged. */
export function headerText(parameter: OpenApiParameter, value: unknown): string {
  const text = simpleText(parameter, value, (one) => one);
  if (NOT_IN_HEADERS.test(text)) {
    const problem = "a header carries one line of characters up to U+00FF";
    throw new ArgumentError(`${parameter.property} cannot be sent: ${problem}`);
  }
  return text;
}

/** Style `simple`. A nested value without a description is written as JSON. */
function simpleText({ style, isExploded }: OpenApiForm, value: unknown, encode: Encode): string {
  if (style === "json") return encode(JSON.stringify(value));
  if (Array.isArray(value)) return items(value, encode).join(",");
  if (!isObject(value)) return encode(textOf(value));
  const between = isExploded ? "=" : ",";
  return membersOf(value)
    .map(([name, one]) => encode(name) + between + encode(textOf(one)))
    .join(",");
}

/** A value as entries of a query or of a form, percent-encoded: none for an empty list or object. */
export function queryEntries(form: OpenApiForm, value: unknown): readonly string[] {
  const encode = form.isReserved === true ? reservedEncode : form.style === "cookie" ? plainCookie : percentEncode;
  return entriesOf(form, value, encode).map(([name, text]) => `${name}=${text}`);
}

/** The same as names and texts, which `encode` writes. */
export function entriesOf(form: OpenApiForm, value: unknown, encode: Encode): readonly TextEntry[] {
  const { style, isExploded } = form;
  const name = encode(form.name);
  if (style === "json") return [[name, encode(JSON.stringify(value))]];
  if (style === "deepObject") return deepEntries(name, value, encode);
  const delimiter = style === "spaceDelimited" ? encode(" ") : style === "pipeDelimited" ? encode("|") : ",";
  if (Array.isArray(value)) {
    const texts = items(value, encode);
    if (isExploded) return texts.map((text) => [name, text]);
    return texts.length === 0 ? [] : [[name, texts.join(delimiter)]];
  }
  if (!isObject(value)) return [[name, encode(textOf(value))]];
  const pairs = membersOf(value).map(([key, one]): TextEntry => [encode(key), encode(textOf(one))]);
  if (isExploded) return pairs;
  return pairs.length === 0 ? [] : [[name, pairs.flat().join(delimiter)]];
}

/**
 * The members of an object as entries of a form, percent-encoded. Members without a field: objects as JSON, all others
 * in style form.
 */
export function formEntries(fields: readonly OpenApiForm[], value: object): readonly string[] {
  return membersOf(value).flatMap(([name, one]) => {
    const known = fields.find((field) => field.name === name);
    return queryEntries(known ?? { name, style: isObject(one) ? "json" : "form", isExploded: true }, one);
  });
}

/** A value as the whole query of a request. Throws an `ArgumentError`. */
export function wholeQuery({ property, style, fields = [] }: OpenApiParameter, value: unknown): readonly string[] {
  if (style !== "form") return [percentEncode(style === "json" ? JSON.stringify(value) : textOf(value))];
  if (!isObject(value)) throw new ArgumentError(`${property} must be an object: it is sent as a form`);
  return formEntries(fields, value);
}

/** Style `cookie` of OpenAPI 3.2: unchanged, if a cookie may contain it. */
function plainCookie(text: string): string {
  if (!/[;,\s"\\]/.test(text) && !NOT_IN_HEADERS.test(text)) return text;
  throw new ArgumentError(
    "a value of a cookie cannot be sent: it has blanks, quotes, commas, semicolons or backslashes",
  );
}

/**
 * Style `deepObject`. Below its first level, which the specification leaves open, names and indexes are in brackets
 * too.
 */
function deepEntries(name: string, value: unknown, encode: Encode): readonly TextEntry[] {
  if (value === null || value === undefined) return [];
  if (typeof value !== "object") return [[name, encode(textOf(value))]];
  const members = Array.isArray(value) ? value.map((one, at): Entry => [String(at), one]) : membersOf(value);
  return members.flatMap(([key, one]) => deepEntries(name + encode(`[${key}]`), one, encode));
}

/** `null` means an absent value. */
function items(list: readonly unknown[], encode: Encode): readonly string[] {
  return list.filter((item) => item !== null).map((item) => encode(textOf(item)));
}

function membersOf(value: object): readonly Entry[] {
  return Object.entries(value).filter(([, one]) => one !== null && one !== undefined);
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
