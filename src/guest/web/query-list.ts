import { Utf8Decoder, encodeUtf8 } from "./utf8.ts";

/** A name and a value of a query. */
export type QueryEntry = readonly [name: string, value: string];

/**
 * The entries of a query, which a `URL` and its `searchParams` share. Tools never hold one: only code in this folder
 * can thus make parameters that follow a URL.
 */
export class QueryList {
  entries: QueryEntry[];
  readonly #onChange: (() => void) | undefined;

  constructor(entries: QueryEntry[], onChange?: () => void) {
    this.entries = entries;
    this.#onChange = onChange;
  }

  /** Whether a value is a list made here, whatever it pretends. */
  static isList(value: unknown): value is QueryList {
    return typeof value === "object" && value !== null && #onChange in value;
  }

  /** Replaces the entries and tells the URL, if there is one. */
  change(entries: QueryEntry[]): void {
    this.entries = entries;
    this.#onChange?.();
  }
}

/** Reads `application/x-www-form-urlencoded` text; a leading `?` is a part of it. */
export function parseQuery(text: string): QueryEntry[] {
  const entries: QueryEntry[] = [];
  for (const part of text.toWellFormed().split("&")) {
    if (part === "") continue;
    const equals = part.indexOf("=");
    const name = equals < 0 ? part : part.slice(0, equals);
    const value = equals < 0 ? "" : part.slice(equals + 1);
    entries.push([decodeComponent(name), decodeComponent(value)]);
  }
  return entries;
}

/** Writes entries as `application/x-www-form-urlencoded` text. */
export function serializeQuery(entries: readonly QueryEntry[]): string {
  return entries.map(([name, value]) => `${encodeComponent(name)}=${encodeComponent(value)}`).join("&");
}

/** `encodeURIComponent` leaves five characters alone that a form encodes, and writes a space differently. */
function encodeComponent(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replace(/%20|[!'()~]/g, (match) =>
    match === "%20" ? "+" : `%${match.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function decodeComponent(text: string): string {
  const spaced = text.replaceAll("+", " ");
  if (!spaced.includes("%")) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    // It refuses what the form encoding keeps: a bare percent sign, and bytes that are not UTF-8.
    return new Utf8Decoder(false).decode(percentDecode(encodeUtf8(spaced)), true);
  }
}

function percentDecode(bytes: Uint8Array): Uint8Array {
  let length = 0;
  for (let index = 0; index < bytes.length; index += 1) {
    const high = bytes[index] === 0x25 ? hexDigit(bytes[index + 1]) : -1;
    const low = high < 0 ? -1 : hexDigit(bytes[index + 2]);
    // The result is never ahead of what is read, so it can take the place of the input.
    bytes[length++] = low < 0 ? (bytes[index] ?? 0) : high * 16 + low;
    if (low >= 0) index += 2;
  }
  return bytes.subarray(0, length);
}

function hexDigit(byte: number | undefined): number {
  if (byte === undefined) return -1;
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}
