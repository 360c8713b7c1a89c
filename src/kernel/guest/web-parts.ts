import type { ReadableStream } from "web-streams-polyfill";
import { entropyOf, type GuestCall, type TurnState } from "./call.ts";
import { evaluatePart, webPart } from "./deferred.ts";
import { detachBuffer, hardenLater, requireRoom, transferBuffer } from "./harden.ts";
import type { Pure } from "./host.ts";
import { defineLazily, once } from "./lazy-globals.ts";
import { noteClasses } from "./odd-objects.ts";
import { addShow } from "./shown.ts";
import type { FetchPart } from "./web/fetch-globals.ts";
import type { createWebPart, WebHost } from "./web/index.ts";
import { FETCH_NAMES, STREAM_NAMES, WEB_NAMES } from "./web/names.ts";
import type { StreamPart } from "./web/stream-globals.ts";

/** The parts of a realm that hold the web's globals, each created on first use. */
export interface WebParts {
  readonly web: () => ReturnType<typeof createWebPart>;
  readonly streams: () => StreamPart;
  readonly fetch: () => FetchPart;
}

/** Creates an object on first access and, if calls share the realm, freezes everything reachable from it. */
export function prepared<T extends object>(hardened: boolean, make: () => T): () => T {
  return once(hardened ? () => (requireRoom(), hardenLater(make())) : make);
}

export function createWebParts(
  pure: Pure,
  turn: TurnState,
  hardened: boolean,
  report: (call: GuestCall, error: unknown) => void,
  further: WebHost["further"],
): WebParts {
  const host = { ...webHost(pure, turn, report), further };
  const web = prepared(hardened, () => {
    const part = webPart().createWebPart(host);
    noteClasses(Object.values(part.globals));
    return part;
  });
  let streamPart: StreamPart | null = null;
  const streams = prepared(hardened, () => {
    const part = evaluatePart(pure, "streams").createStreamPart(web().globals, transferBuffer, hardened);
    web().cloneRules.refuse(...Object.values(part.globals));
    noteClasses(Object.values(part.globals));
    addShow(part.show);
    streamPart = part;
    return part;
  });
  const isStream = (value: unknown): value is ReadableStream =>
    streamPart !== null && value instanceof streamPart.globals.ReadableStream;
  const fetch = prepared(hardened, () => {
    const { globals, abortStates, cloneRules } = web();
    const part = evaluatePart(pure, "fetch").createFetchPart({
      ...globals,
      abortStates,
      cloneRules,
      streams: () => streams().globals,
      isStream,
      fillRandom: host.fillRandom,
      currentCall: () => turn.call,
    });
    noteClasses(Object.values(part.globals));
    addShow(part.show);
    return part;
  });
  return { web, streams, fetch };
}

/** Defines the globals of all parts. */
export function defineWebGlobals(realm: object, { web, streams, fetch }: WebParts, hardened: boolean): void {
  for (const name of WEB_NAMES) defineLazily(realm, name, () => web().globals[name], hardened);
  for (const name of STREAM_NAMES) defineLazily(realm, name, () => streams().globals[name], hardened);
  for (const name of FETCH_NAMES) defineLazily(realm, name, () => fetch().globals[name], hardened);
}

function webHost(
  pure: Pure,
  turn: TurnState,
  report: (call: GuestCall, error: unknown) => void,
): Omit<WebHost, "further"> {
  return {
    parseUrl: (href, base) => pure("url.parse", href, base, ""),
    updateUrl: (href, part, value) => pure("url.update", href, part, value),
    digest: (algorithm, latin1) => pure("digest", algorithm, latin1, ""),
    findSingleByte: (label) => pure("encoding", label, "", ""),
    fillRandom: (bytes) => entropyOf(turn, pure).fill(bytes),
    detach: detachBuffer,
    setTimeout: (callback, delayMs) => turn.call?.timers.set(callback, delayMs, [], false),
    reportError: (error) => {
      if (turn.call !== null) report(turn.call, error);
    },
  };
}
