import type { WebGlobals } from "./index.ts";

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
