import type { FetchGlobals } from "./fetch-globals.ts";
import type { WebGlobals } from "./index.ts";
import type { StreamGlobals } from "./stream-globals.ts";

/** The names of the web's globals, for who defines them before they are made. */
export const WEB_NAMES = [
  "DOMException",
  "Event",
  "CustomEvent",
  "EventTarget",
  "AbortController",
  "AbortSignal",
  "TextEncoder",
  "TextDecoder",
  "atob",
  "btoa",
  "URL",
  "URLSearchParams",
  "structuredClone",
  "crypto",
  "Crypto",
  "SubtleCrypto",
] as const satisfies readonly (keyof WebGlobals)[];

/** The names of the globals that come with `fetch`. */
export const FETCH_NAMES = [
  "fetch",
  "Headers",
  "Request",
  "Response",
  "Blob",
  "File",
  "FormData",
] as const satisfies readonly (keyof FetchGlobals)[];

/** The names of the globals that streams are made of. */
export const STREAM_NAMES = [
  "ReadableStream",
  "ReadableStreamDefaultReader",
  "ReadableStreamBYOBReader",
  "ReadableStreamDefaultController",
  "ReadableByteStreamController",
  "ReadableStreamBYOBRequest",
  "WritableStream",
  "WritableStreamDefaultWriter",
  "WritableStreamDefaultController",
  "TransformStream",
  "TransformStreamDefaultController",
  "ByteLengthQueuingStrategy",
  "CountQueuingStrategy",
  "TextDecoderStream",
  "TextEncoderStream",
] as const satisfies readonly (keyof StreamGlobals)[];
