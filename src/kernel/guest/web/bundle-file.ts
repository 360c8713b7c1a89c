import { FILES_FOLDER, FILES_KEY } from "../host.ts";
import { decodeForgivingly } from "./base64-bytes.ts";
import type { DataUrl } from "./data-url.ts";
import { percentDecode } from "./percent-decode.ts";
import type { FetchCall } from "./realm-parts.ts";
import { encodeUtf8, Utf8Decoder } from "./utf8.ts";

const SCHEME = "file://";
const KEY = Symbol.for(FILES_KEY);
const { get } = Reflect;

/** Media types by extension, for files in bundles. */
const TYPES: readonly (readonly [extension: string, type: string])[] = [
  [".json", "application/json"],
  [".txt", "text/plain;charset=utf-8"],
  [".md", "text/markdown;charset=utf-8"],
  [".csv", "text/csv;charset=utf-8"],
  [".html", "text/html;charset=utf-8"],
  [".wasm", "application/wasm"],
];

export function isFileUrl(href: string): boolean {
  return href.startsWith("file:");
}

/** A file in the bundle of a call's tool, which needs no host; `undefined` for any other. */
export function readBundleFile(href: string, call: FetchCall | null): DataUrl | undefined {
  const path = pathOf(href);
  const bytes = path === undefined ? undefined : bundleFileAt(path, call);
  const type = TYPES.find(([extension]) => path?.endsWith(extension))?.[1] ?? "application/octet-stream";
  return bytes === undefined ? undefined : { type, bytes };
}

/** The same by its path. */
export function bundleFileAt(path: string, call: Pick<FetchCall, "own"> | null): Uint8Array | undefined {
  const files = call?.own(KEY);
  const isBrought = path.startsWith(`${FILES_FOLDER}/`) && typeof files === "object" && files !== null;
  return isBrought ? bytesOf(get(files, path)) : undefined;
}

function pathOf(href: string): string | undefined {
  const end = href.search(/[?#]/);
  const path = href.slice(SCHEME.length, end < 0 ? undefined : end);
  return path.startsWith("/") ? new Utf8Decoder(false).decode(percentDecode(encodeUtf8(path)), true) : undefined;
}

function bytesOf(file: unknown): Uint8Array | undefined {
  if (typeof file === "string") return encodeUtf8(file);
  const base64: unknown = typeof file === "object" && file !== null ? get(file, "base64") : undefined;
  return typeof base64 === "string" ? decodeForgivingly(base64) : undefined;
}
