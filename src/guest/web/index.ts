import { createAbortClasses } from "./abort.ts";
import { atob, btoa } from "./base64.ts";
import { createCrypto, type DigestAlgorithm } from "./crypto.ts";
import { DOMException } from "./dom-exception.ts";
import { TextDecoder, TextEncoder } from "./encoding.ts";
import { createEventClasses } from "./events.ts";
import { createStructuredClone } from "./structured-clone.ts";
import { createUrlClasses, type ParseUrl, type UpdateUrl } from "./url.ts";

/** What the web's classes leave to the host. */
export interface WebHost {
  readonly parseUrl: ParseUrl;
  readonly updateUrl: UpdateUrl;
  /** Hashes bytes; they go and come as strings with one character for each byte. */
  readonly digest: (algorithm: DigestAlgorithm, latin1: string) => string;
  readonly fillRandom: (bytes: Uint8Array) => void;
  readonly setTimeout: (callback: () => void, milliseconds: number) => unknown;
  /** Hears of exceptions in event listeners, each in a microtask of its own. */
  readonly reportError: (error: unknown) => void;
}

/** The globals that tools know from the web, by name. */
export type WebGlobals = ReturnType<typeof buildGlobals>;

/** Makes the web's globals for a realm. */
export function createWebGlobals(host: WebHost): WebGlobals {
  const globals = buildGlobals(host);
  for (const [name, value] of Object.entries(globals)) {
    // A bundler may have renamed a class that stands beside others of its name.
    if (typeof value === "function") Object.defineProperty(value, "name", { value: name, configurable: true });
  }
  return globals;
}

function buildGlobals(host: WebHost) {
  const { Event, CustomEvent, EventTarget, abortStates } = createEventClasses(host.reportError);
  const { setTimeout } = host;
  const abortClasses = createAbortClasses({ Event, EventTarget, DOMException, setTimeout, abortStates });
  const { URL, URLSearchParams } = createUrlClasses(host.parseUrl, host.updateUrl);
  const cryptoGlobals = createCrypto({ fill: host.fillRandom, digest: host.digest, DOMException });
  const { AbortController } = abortClasses;
  const { Crypto, SubtleCrypto } = cryptoGlobals;
  const refused = [Event, EventTarget, AbortController, URL, URLSearchParams, TextEncoder, TextDecoder] as const;
  return {
    DOMException,
    Event,
    CustomEvent,
    EventTarget,
    ...abortClasses,
    TextEncoder,
    TextDecoder,
    atob,
    btoa,
    URL,
    URLSearchParams,
    structuredClone: createStructuredClone([...refused, Crypto, SubtleCrypto]),
    ...cryptoGlobals,
  };
}
