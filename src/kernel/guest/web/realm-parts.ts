import type { ReadableStream } from "web-streams-polyfill";
import type { AbortState } from "./abort-state.ts";
import type { AbortClasses } from "./abort.ts";
import type { StreamGlobals } from "./stream-globals.ts";
import type { CloneRules, StructuredClone } from "./structured-clone.ts";
import type { UrlClasses } from "./url.ts";

/** The part of a call that its requests use. */
export interface FetchCall {
  /** Whether the call has ended: its capability calls get no response any more. */
  readonly settled: boolean;
  /** Number of the call's next request, starting at 1. */
  nextRequest(): number;
  /** A tool's own value under a symbol on the global object of the call's instance. */
  own(key: symbol): unknown;
  ask(capability: string, method: string, args: unknown): Promise<unknown>;
}

/** Dependencies of the fetch classes on other parts of their realm. */
export interface RealmParts extends UrlClasses, AbortClasses {
  readonly abortStates: Pick<WeakMap<object, AbortState>, "get">;
  readonly cloneRules: CloneRules;
  readonly structuredClone: StructuredClone;
  /** The realm's stream classes, created on first use. */
  readonly streams: () => StreamGlobals;
  /** Whether a value is one of the realm's readable streams. False as long as the stream classes do not exist. */
  readonly isStream: (value: unknown) => value is ReadableStream;
  readonly fillRandom: (bytes: Uint8Array) => void;
  /** The current call. */
  readonly currentCall: () => FetchCall | null;
}

let given: RealmParts | null = null;

/** Sets the parts. This code is evaluated once in each realm. */
export function provideParts(parts: RealmParts): void {
  given = parts;
}

/** The parts of the realm. */
export function realmParts(): RealmParts {
  if (given === null) throw new TypeError("the realm's parts are not provided yet");
  return given;
}
