import { percentDecode } from "./percent-decode.ts";
import { Utf8Decoder, encodeUtf8 } from "./utf8.ts";

/** A name and a value of a query. */
export type QueryEntry = readonly [name: string, value: string];

/**
 * The entries of a query, shared by a `URL` and its `searchParams`. Tools never hold a list, so only code in this
 * folder can create parameters that are bound to a URL.
 */
export class QueryList {
  entries: QueryEntry[];
  readonly #onChange: (() => void) | undefined;

  constructor(entries: QueryEntry[], onChange?: () => void) {
    this.entries = entries;
    this.#onChange = onChange;
  }

  /** Whether a value is a real `QueryList`: checks a private field, which cannot be forged. */
  static isList(value: unknown): value is QueryList {
    return typeof value === "object" && value !== null && #onChange in value;
  }

  /** Replaces the entries and notifies the URL, if there is one. */
  change(entries: QueryEntry[]): void {
    this.entries = entries;
    this.#onChange?.();
  }
}

/** Parses `application/x-www-form-urlencoded` text. A leading `?` counts as text. */
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

/** Serialises entries as `application/x-www-form-urlencoded` text. */
export function serializeQuery(entries: readonly QueryEntry[]): string {
  return entries.map(([name, value]) => `${encodeComponent(name)}=${encodeComponent(value)}`).join("&");
}

/** Adds the five characters that `encodeURIComponent` leaves unencoded, and encodes a space as `+`. */
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
    // Thrown for input that the form encoding accepts: a bare percent sign, and bytes that are not UTF-8.
    return new Utf8Decoder(false).decode(percentDecode(encodeUtf8(spaced)), true);
  }
}
