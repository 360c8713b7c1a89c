import { createAbortClasses } from "./abort.ts";
import { atob, btoa } from "./base64.ts";
import { createCrypto, type DigestAlgorithm, type SubtleMethods } from "./crypto.ts";
import { DOMException, QuotaExceededError } from "./dom-exception.ts";
import { type FindSingleByte, provideSingleByte, TextDecoder, TextEncoder } from "./encoding.ts";
import { createEventClasses } from "./events.ts";
import { CloneRules, createStructuredClone } from "./structured-clone.ts";
import { createUrlClasses, type ParseUrl, type UpdateUrl } from "./url.ts";

/** Functions of the host that the web's classes use. */
export interface WebHost {
  readonly parseUrl: ParseUrl;
  readonly updateUrl: UpdateUrl;
  /** Hashes bytes; data and result are strings with one character for each byte. */
  readonly digest: (algorithm: DigestAlgorithm, latin1: string) => string;
  /** The methods of `crypto.subtle` other than `digest`. */
  readonly further: () => SubtleMethods;
  readonly findSingleByte: FindSingleByte;
  readonly fillRandom: (bytes: Uint8Array) => void;
  /** Detaches a buffer, which loses its bytes. */
  readonly detach: (buffer: ArrayBuffer) => void;
  readonly setTimeout: (callback: () => void, milliseconds: number) => unknown;
  /** Called with exceptions of event listeners, each in its own microtask. */
  readonly reportError: (error: unknown) => void;
}

/** The web's globals for tools, by name. */
export type WebGlobals = ReturnType<typeof createWebPart>["globals"];

/** Creates the web's globals for a realm, with the internals that its other parts use. */
export function createWebPart(host: WebHost) {
  const part = buildPart(host);
  const { globals } = part;
  for (const [name, value] of Object.entries(globals)) {
    // A bundler may have renamed a class because of others with its name.
    if (typeof value === "function") Object.defineProperty(value, "name", { value: name, configurable: true });
  }
  return part;
}

function buildPart(host: WebHost) {
  provideSingleByte(host.findSingleByte);
  const { Event, CustomEvent, EventTarget, abortStates } = createEventClasses(host.reportError);
  const { setTimeout } = host;
  const abortClasses = createAbortClasses({ Event, EventTarget, DOMException, setTimeout, abortStates });
  const { URL, URLSearchParams } = createUrlClasses(host.parseUrl, host.updateUrl);
  const cryptoGlobals = createCrypto({
    fill: host.fillRandom,
    digest: host.digest,
    further: host.further,
    DOMException,
    QuotaExceededError,
  });
  const { AbortController } = abortClasses;
  const { Crypto, SubtleCrypto } = cryptoGlobals;
  const cloneRules = new CloneRules();
  cloneRules.refuse(Event, EventTarget, AbortController, URL, URLSearchParams, TextEncoder, TextDecoder);
  cloneRules.refuse(Crypto, SubtleCrypto);
  const globals = {
    DOMException,
    QuotaExceededError,
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
    structuredClone: createStructuredClone(cloneRules, host.detach),
    ...cryptoGlobals,
  };
  return { globals, abortStates, cloneRules };
}
