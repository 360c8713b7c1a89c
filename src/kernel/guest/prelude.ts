import { installBigInts } from "../base/exact-json.ts";
import { GuestCall, CapabilityError, type CallWorld, entropyOf, issue, type TurnState } from "./call.ts";
import { CallGlobal, prepareCallGlobal } from "./call-global.ts";
import { adapterClasses } from "./contracts/index.ts";
import { CalledToolError } from "./faces/tools.ts";
import { type Clock, createPerformance, installClock } from "./clock.ts";
import { harden, removeEscapes } from "./harden.ts";
import { type Boot, EMIT_WORN, type Guest, OWN_NAMES } from "./host.ts";
import { defineLazily, defineReplaceable } from "./lazy-globals.ts";
import { LineWriter } from "./line-writer.ts";
import { nodePart } from "./node-part.ts";
import { noteRealm } from "./odd-objects.ts";
import { Realm } from "./realm.ts";
import { countSymbolNames } from "./symbol-names.ts";
import { createTemporal, separateDates } from "./temporal.ts";
import { ToolContext } from "./tool-context.ts";
import { limitRawNumbers, ValueError } from "./values.ts";
import { createWebParts, defineWebGlobals, prepared } from "./web-parts.ts";

export { addLibraries } from "./contracts/find-tools.ts";
export { addAdapter } from "./contracts/index.ts";
// Imports of libraries from the prelude: their objects are the realm's own.
export { failure, parserOf, Refusal, refuseArguments } from "./contracts/defined.ts";
export { ToolContext } from "./tool-context.ts";

/**
 * The first code that runs in a context. It removes all that escapes the isolate's limits, defines the globals that
 * tools may expect, freezes the realm if it serves many calls, and returns the worker's interface. A realm that is
 * opened for a tool loads it at once.
 */
export const boot: Boot = (emit, pure, lines, hardened, engine, ...tool) => {
  const realm = globalThis;
  const turn: TurnState = { nowMs: 0, call: null, lastRun: 0, leftover: null };
  const realMs = realm.Date.now;
  const lineWriter = lines === null ? null : new LineWriter(lines, emit, realMs);
  removeEscapes(realm);
  installTime(realm, turn, hardened);
  installBigInts(realm);
  limitRawNumbers(realm);
  noteRealm(realm);
  countSymbolNames(realm, () => emit(EMIT_WORN, turn.call?.run ?? turn.lastRun, "", "", "", 0));
  // Named by its key, which no bundler changes, and no constructor.
  const { random } = { random: () => entropyOf(turn, pure).fraction() };
  realm.Math.random = random;
  // An uncaught error ends the call, as it would end a process.
  const report = (call: GuestCall, error: unknown): void => guest.report(call, error);
  const node = nodePart({ realm, pure, turn, hardened, report, cloneRules: () => parts.web().cloneRules });
  const parts = createWebParts(pure, turn, hardened, report, node.subtle);
  defineWebGlobals(realm, parts, hardened);
  // Code made by `Function` or an indirect `eval` sees the realm's global: these belong to the call there, too.
  const owned = (name: string): unknown => (turn.call?.global ? Reflect.get(turn.call.global, name) : undefined);
  for (const name of OWN_NAMES) defineReplaceable(realm, name, () => owned(name));
  if (hardened) {
    prepareCallGlobal(realm);
    const errors = [CapabilityError, CalledToolError, ValueError];
    harden(realm, [CallGlobal, ToolContext, GuestCall, Realm, ...errors, ...adapterClasses()]);
  }
  const world: CallWorld = {
    emit,
    lines: lineWriter,
    pure,
    turn,
    realMs,
    fetch: (call) => (guest.isShared ? parts.fetch().fetchOf(call) : parts.fetch().globals.fetch),
    node,
    createAbort: () => new (parts.web().globals.AbortController)(),
  };
  engine?.connect({ turn, emit, issue });
  const guest = new Realm(world, hardened);
  const [factory, ownNames = "", facts = "", shared = false, checks = null] = tool;
  if (factory !== undefined) guest.load(factory, ownNames, facts, shared, checks);
  return faceOf(guest);
};

function installTime(realm: typeof globalThis, turn: TurnState, hardened: boolean): void {
  const clock: Clock = { nowMs: () => turn.nowMs, originMs: () => turn.call?.originMs ?? turn.nowMs };
  const RealDate = realm.Date;
  let dates = RealDate.prototype;
  // Node 24's V8 has no Temporal yet.
  if ("toTemporalInstant" in dates) {
    const temporal = prepared(hardened, () => createTemporal(RealDate, clock));
    if (hardened) dates = separateDates(RealDate, temporal);
    defineLazily(realm, "Temporal", temporal, hardened);
  }
  installClock(realm, clock, dates);
  const performance = prepared(hardened, () => createPerformance(clock));
  defineLazily(realm, "performance", performance, hardened);
}

/** Functions without a receiver: the worker keeps a reference to each. */
function faceOf(guest: Guest): Guest {
  return {
    load: (factory, ownNames, facts, shared, checks) => guest.load(factory, ownNames, facts, shared, checks),
    start: (calls, hasLongIntegers) => guest.start(calls, hasLongIntegers),
    startNext: () => guest.startNext(),
    settle: (run, asks, payloads, nowMs) => guest.settle(run, asks, payloads, nowMs),
    fire: (run, nowMs) => guest.fire(run, nowMs),
    cancel: (run, nowMs) => guest.cancel(run, nowMs),
    recover: () => guest.recover(),
    inspect: (run, nowMs) => guest.inspect(run, nowMs),
  };
}
