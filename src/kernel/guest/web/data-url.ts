import { decodeForgivingly } from "./base64-bytes.ts";
import { stringFromUnits } from "./bytes.ts";
import { parseMimeType, serializeMimeType } from "./mime-type.ts";
import { percentDecode } from "./percent-decode.ts";
import { encodeUtf8 } from "./utf8.ts";

/** Content of a `data:` URL. */
export interface DataUrl {
  readonly type: string;
  readonly bytes: Uint8Array;
}

const SCHEME = "data:";

/** Whether a URL holds its own content, so that no request is needed. */
export function isDataUrl(href: string): boolean {
  return href.startsWith(SCHEME);
}

/** Reads a `data:` URL as the Fetch Standard does; `undefined` if it is malformed. */
export function readDataUrl(href: string): DataUrl | undefined {
  const hash = href.indexOf("#");
  const text = href.slice(SCHEME.length, hash < 0 ? undefined : hash);
  const comma = text.indexOf(",");
  if (comma < 0) return undefined;
  const head = text.slice(0, comma).replace(/^[\t\n\f\r ]+|[\t\n\f\r ]+$/g, "");
  const raw = percentDecode(encodeUtf8(text.slice(comma + 1)));
  const mark = /; *base64$/i.exec(head);
  const bytes = mark === null ? raw : decodeForgivingly(stringFromUnits(raw));
  if (bytes === undefined) return undefined;
  const given = mark === null ? head : head.slice(0, mark.index);
  const type = parseMimeType(given.startsWith(";") ? `text/plain${given}` : given);
  return { type: type === undefined ? "text/plain;charset=US-ASCII" : serializeMimeType(type), bytes };
}
