import type { ReadableStream } from "web-streams-polyfill";
import type { AbortState } from "./abort-state.ts";
import type { AbortClasses } from "./abort.ts";
import type { StreamGlobals } from "./stream-globals.ts";
import type { CloneRules } from "./structured-clone.ts";
import type { UrlClasses } from "./url.ts";

/** A call, as far as its requests need to know it. */
export interface FetchCall {
  /** Whether it has ended: nobody answers it any more. */
  readonly settled: boolean;
  /** The number of the call's next request, from 1. */
  nextRequest(): number;
  ask(capability: string, method: string, args: unknown): Promise<unknown>;
}

/** What the classes around `fetch` take from other parts of their realm. */
export interface RealmParts extends UrlClasses, AbortClasses {
  readonly abortStates: Pick<WeakMap<object, AbortState>, "get">;
  readonly cloneRules: CloneRules;
  /** The realm's classes of streams, which are made when something first needs them. */
  readonly streams: () => StreamGlobals;
  /** Whether a value is one of the realm's readable streams, as far as these have been made. */
  readonly isStream: (value: unknown) => value is ReadableStream;
  readonly fillRandom: (bytes: Uint8Array) => void;
  /** The call that runs now. */
  readonly currentCall: () => FetchCall | null;
}

let given: RealmParts | null = null;

/** Tells what the realm has: this code is evaluated once in each. */
export function provideParts(parts: RealmParts): void {
  given = parts;
}

/** What the realm has. */
export function realmParts(): RealmParts {
  if (given === null) throw new TypeError("the realm's parts are not provided yet");
  return given;
}
