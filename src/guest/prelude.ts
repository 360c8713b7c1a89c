import { CapabilityError, type CallWorld, type TurnState } from "./call.ts";
import { CallGlobal, prepareCallGlobal } from "./call-global.ts";
import { createPerformance, installClock } from "./clock.ts";
import { harden, removeEscapes } from "./harden.ts";
import { type Emit, type Guest, OWN_NAMES, type Pure } from "./host.ts";
import { Realm } from "./realm.ts";
import { ToolContext } from "./tool-context.ts";
import { createWebGlobals, WEB_NAMES } from "./web/index.ts";

/**
 * The first code that runs in an isolate. It takes away what escapes the isolate's limits, gives tools the globals
 * they may expect, freezes the realm where it will be used for many calls, and hands the worker its face.
 */
export function boot(emit: Emit, pure: Pure, hardened: boolean): Guest {
  const realm = globalThis;
  const turn: TurnState = { nowMs: 0, call: null };
  let guest: Realm | null = null;
  removeEscapes(realm);
  const clock = { nowMs: () => turn.nowMs, originMs: () => turn.call?.originMs ?? turn.nowMs };
  installClock(realm, clock);
  realm.Math.random = function random() {
    return turn.call?.entropy.fraction() ?? 0;
  };
  const web = once(() =>
    createWebGlobals({
      parseUrl: (href, base) => pure("url.parse", href, base, ""),
      updateUrl: (href, part, value) => pure("url.update", href, part, value),
      digest: (algorithm, latin1) => pure("digest", algorithm, latin1, ""),
      fillRandom: (bytes) => turn.call?.entropy.fill(bytes),
      setTimeout: (callback, delayMs) => turn.call?.timers.set(callback, delayMs, [], false),
      // An error that nobody catches ends the call, as it would end a process.
      reportError: (error) => {
        if (turn.call !== null) guest?.report(turn.call, error);
      },
    }),
  );
  define(realm, { performance: createPerformance(clock) });
  if (hardened) {
    define(realm, web());
    prepareCallGlobal(realm);
  } else defineLazily(realm, WEB_NAMES, web);
  for (const name of OWN_NAMES) defineCallOwned(realm, name, turn);
  if (hardened) harden(realm, [CallGlobal, ToolContext, CapabilityError]);
  const world: CallWorld = { emit, pure, turn, createAbort: () => new (web().AbortController)() };
  guest = new Realm(world, hardened);
  return faceOf(guest);
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | null = null;
  return () => (made ??= { value: make() }).value;
}

/** A realm that serves one call is opened for it, so what the call does not use is not made. */
function defineLazily<Globals extends object>(realm: object, names: readonly (keyof Globals)[], make: () => Globals) {
  for (const name of names) {
    const replace = (value: unknown) => {
      Object.defineProperty(realm, name, { value, writable: true, enumerable: false, configurable: true });
    };
    Object.defineProperty(realm, name, {
      get() {
        const value = make()[name];
        replace(value);
        return value;
      },
      set: replace,
      enumerable: false,
      configurable: true,
    });
  }
}

function define(realm: object, globals: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(globals)) {
    Object.defineProperty(realm, name, { value, writable: true, enumerable: false, configurable: true });
  }
}

/** Code made by `Function` or an indirect `eval` sees the realm's global: there, too, these belong to the call. */
function defineCallOwned(realm: object, name: string, turn: TurnState): void {
  Object.defineProperty(realm, name, {
    get: (): unknown => (turn.call?.global ? Reflect.get(turn.call.global, name) : undefined),
    set(value: unknown) {
      Object.defineProperty(realm, name, { value, writable: true, enumerable: false, configurable: true });
    },
    enumerable: false,
    configurable: true,
  });
}

/** Functions without a receiver: the worker keeps a reference to each. */
function faceOf(guest: Guest): Guest {
  return {
    load: (factory, ownNames, facts, shared) => guest.load(factory, ownNames, facts, shared),
    start: (run, id, args, nowMs, outputMax) => guest.start(run, id, args, nowMs, outputMax),
    startMany: (batch) => guest.startMany(batch),
    settle: (run, ask, ok, payload, nowMs) => guest.settle(run, ask, ok, payload, nowMs),
    fire: (run, nowMs) => guest.fire(run, nowMs),
    cancel: (run, nowMs) => guest.cancel(run, nowMs),
    recover: () => guest.recover(),
    inspect: (run, nowMs) => guest.inspect(run, nowMs),
  };
}
