import type { WebAbortSignal } from "./abort.ts";
import { type Body, type BodyInit, extractBody } from "./body.ts";
import { HeaderList, isToken } from "./header-list.ts";
import { fillHeaders, type HeadersInit } from "./headers.ts";
import { realmParts } from "./realm-parts.ts";

/** Options of a request. */
export interface RequestInit {
  readonly method?: string;
  readonly headers?: HeadersInit;
  readonly body?: BodyInit | null;
  readonly redirect?: string;
  readonly signal?: WebAbortSignal | null;
  readonly duplex?: string;
  readonly referrer?: string;
  readonly referrerPolicy?: string;
  readonly mode?: string;
  readonly credentials?: string;
  readonly cache?: string;
  readonly integrity?: string;
  readonly keepalive?: boolean;
  readonly window?: null;
}

/** State of a request. */
export interface RequestState {
  readonly method: string;
  readonly url: string;
  readonly headers: HeaderList;
  readonly redirect: string;
  /** The signal that aborts the request, as given. */
  readonly signal: WebAbortSignal | null;
  readonly body: Body | null;
  readonly options: BrowserOptions;
}

/** Options that only browsers use: stored and returned, without any effect. */
interface BrowserOptions {
  readonly referrer: string;
  readonly referrerPolicy: string;
  readonly mode: string;
  readonly credentials: string;
  readonly cache: string;
  readonly integrity: string;
  readonly keepalive: boolean;
}

const DEFAULTS: BrowserOptions = {
  referrer: "about:client",
  referrerPolicy: "",
  mode: "cors",
  credentials: "same-origin",
  cache: "default",
  integrity: "",
  keepalive: false,
};

/** Allowed values of options. Values that a request must not have are left out. */
const WORDS = {
  redirect: ["follow", "error", "manual"],
  mode: ["same-origin", "no-cors", "cors"],
  credentials: ["omit", "same-origin", "include"],
  cache: ["default", "no-store", "reload", "no-cache", "force-cache", "only-if-cached"],
  duplex: ["half"],
  referrerPolicy: [
    "",
    "no-referrer",
    "no-referrer-when-downgrade",
    "same-origin",
    "origin",
    "strict-origin",
    "origin-when-cross-origin",
    "strict-origin-when-cross-origin",
    "unsafe-url",
  ],
} as const;

const USUAL_METHODS = ["DELETE", "GET", "HEAD", "OPTIONS", "POST", "PUT"];
const FORBIDDEN_METHODS = ["CONNECT", "TRACE", "TRACK"];

/** The state of a new request, from another request or a URL, and from an init that overrides it. */
export function readRequest(input: unknown, given: unknown): RequestState {
  const init = readDictionary(given);
  const from = isState(input) ? input : null;
  const url = from?.url ?? readUrl(input);
  if (init.window !== undefined && init.window !== null)
    throw new TypeError("The window of a request can only be null");
  const options = readOptions(init, from?.options ?? DEFAULTS);
  const redirect = readWord(init, "redirect") ?? from?.redirect ?? "follow";
  const method = init.method === undefined ? (from?.method ?? "GET") : readMethod(init.method);
  const signal = init.signal === undefined ? (from?.signal ?? null) : readSignal(init.signal);
  const headers = new HeaderList(init.headers === undefined ? (from?.headers.entries ?? []) : []);
  if (init.headers !== undefined) fillHeaders(headers, init.headers);
  const body = readBody(init, from, method, headers);
  return { method, url, headers, redirect, signal, body, options };
}

function readSignal(signal: WebAbortSignal | null): WebAbortSignal | null {
  if (signal === null) return null;
  if (typeof signal === "object" && realmParts().abortStates.get(signal) !== undefined) return signal;
  throw new TypeError("The signal of a request has to be an AbortSignal");
}

function isState(input: unknown): input is RequestState {
  return typeof input === "object" && input !== null && "headers" in input && HeaderList.isList(input.headers);
}

function readUrl(input: unknown): string {
  const text = `${input as string}`;
  const url = realmParts().URL.parse(text);
  if (url === null) throw new TypeError(`Failed to parse URL from ${text.slice(0, 1_000)}`);
  if (url.username !== "" || url.password !== "") {
    throw new TypeError("Request cannot be constructed from a URL that includes credentials");
  }
  return url.href;
}

function readMethod(given: unknown): string {
  const method = `${given as string}`;
  const upper = method.toUpperCase();
  if (!isToken(method) || FORBIDDEN_METHODS.includes(upper)) {
    throw new TypeError(`'${method.slice(0, 100)}' is not a valid HTTP method.`);
  }
  return USUAL_METHODS.includes(upper) ? upper : method;
}

function readBody(init: RequestInit, from: RequestState | null, method: string, headers: HeaderList): Body | null {
  const given = init.body ?? null;
  const inherited = from?.body ?? null;
  if ((given !== null || inherited !== null) && (method === "GET" || method === "HEAD")) {
    throw new TypeError("Request with GET/HEAD method cannot have body");
  }
  const duplex = readWord(init, "duplex");
  if (given === null) return inherited?.move() ?? null;
  if (realmParts().isStream(given) && duplex === undefined) {
    throw new TypeError("RequestInit: duplex option is required when sending a body");
  }
  const { body, type } = extractBody(given);
  if (type !== null && !headers.has("content-type")) headers.append("content-type", type);
  return body;
}

function readOptions(init: RequestInit, base: BrowserOptions): BrowserOptions {
  const options = {
    referrer: init.referrer === undefined ? base.referrer : readReferrer(init.referrer),
    referrerPolicy: readWord(init, "referrerPolicy") ?? base.referrerPolicy,
    mode: readWord(init, "mode") ?? base.mode,
    credentials: readWord(init, "credentials") ?? base.credentials,
    cache: readWord(init, "cache") ?? base.cache,
    integrity: init.integrity === undefined ? base.integrity : `${init.integrity}`,
    keepalive: init.keepalive === undefined ? base.keepalive : Boolean(init.keepalive),
  };
  if (options.cache === "only-if-cached" && options.mode !== "same-origin") {
    throw new TypeError("'only-if-cached' can be set only with 'same-origin' mode");
  }
  return options;
}

function readReferrer(given: unknown): string {
  const text = `${given as string}`;
  if (text === "") return "";
  const url = realmParts().URL.parse(text);
  if (url === null) throw new TypeError(`Referrer "${text.slice(0, 1_000)}" is not a valid URL.`);
  return url.href;
}

function readWord(init: RequestInit, name: keyof typeof WORDS): string | undefined {
  const given = init[name];
  if (given === undefined) return undefined;
  const word = `${given}`;
  if ((WORDS[name] as readonly string[]).includes(word)) return word;
  throw new TypeError(`'${word.slice(0, 100)}' is no ${name} of a request`);
}

function readDictionary(init: unknown): RequestInit {
  if (init === undefined || init === null) return {};
  if (typeof init === "object" || typeof init === "function") return init;
  throw new TypeError("The init of a request has to be an object");
}
