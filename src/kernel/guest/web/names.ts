import type { FetchGlobals } from "./fetch-globals.ts";
import type { WebGlobals } from "./index.ts";
import type { StreamGlobals } from "./stream-globals.ts";

/** Names of the web's globals, for code that defines them lazily. */
export const WEB_NAMES = [
  "DOMException",
  "QuotaExceededError",
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

/** Names of the globals of `fetch`. */
export const FETCH_NAMES = [
  "fetch",
  "Headers",
  "Request",
  "Response",
  "Blob",
  "File",
  "FormData",
] as const satisfies readonly (keyof FetchGlobals)[];

/** Names of the globals of streams. */
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
