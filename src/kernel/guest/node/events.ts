import { checkFunction, checkNumber, invalidArgType, nodeError } from "./inner/errors.ts";
import { isEmitter, isTarget, on, once } from "./inner/event-promises.ts";
import { emitWarning, kept, library, type NodeModule, soon } from "./inner/library.ts";

/** `node:events`. The default number of listeners belongs to the instance. */

type Listener = ((...args: unknown[]) => unknown) & { listener?: Listener };
type Listeners = { [event: string | symbol]: Listener | Listener[] };

/** An emitter, for its functions: an object that inherits from the prototype, also without its constructor. */
export interface Emitter {
  _events: Listeners | undefined;
  _eventsCount: number;
  _maxListeners: number | undefined;
  emit(event: string | symbol, ...args: unknown[]): boolean;
  on(event: string | symbol, listener: unknown): Emitter;
  once(event: string | symbol, listener: unknown): Emitter;
  removeListener(event: string | symbol, listener: unknown): Emitter;
}

const { apply, ownKeys } = Reflect;

export const captureRejectionSymbol = Symbol.for("nodejs.rejection");
const errorMonitor = Symbol("events.errorMonitor");
const CAPTURE = Symbol("kCapture");

interface Defaults {
  max: number;
  captures: boolean;
}
const defaults = (): Defaults => kept("events", () => ({ max: 10, captures: false }));

/** Callable without `new`, as classes written before the language had them do. */
export function EventEmitter(this: Emitter, options?: { captureRejections?: boolean }): unknown {
  if (new.target === undefined && !(this instanceof EventEmitter)) return Reflect.construct(EventEmitter, [options]);
  init(this, options);
  return undefined;
}

function init(emitter: Emitter, options?: { captureRejections?: boolean }): void {
  const inherited = Object.getPrototypeOf(emitter) as Emitter | null;
  if (emitter._events === undefined || emitter._events === inherited?._events) {
    emitter._events = Object.create(null) as Listeners;
    emitter._eventsCount = 0;
  }
  emitter._maxListeners ??= undefined;
  const captures = options?.captureRejections;
  if (captures !== undefined && captures !== null && typeof captures !== "boolean")
    throw invalidArgType("options.captureRejections", "boolean", captures);
  if (captures ?? defaults().captures) Object.defineProperty(emitter, CAPTURE, { value: true });
}

function eventsOf(emitter: Emitter): Listeners {
  if (emitter._events === undefined) {
    emitter._events = Object.create(null) as Listeners;
    emitter._eventsCount = 0;
  }
  return emitter._events;
}

function add(emitter: Emitter, event: string | symbol, listener: unknown, isFirst: boolean): Emitter {
  checkFunction(listener, "listener");
  let events = eventsOf(emitter);
  if (events["newListener"] !== undefined) {
    emitter.emit("newListener", event, (listener as Listener).listener ?? listener);
    events = eventsOf(emitter);
  }
  const present = events[event];
  if (present === undefined) {
    events[event] = listener;
    emitter._eventsCount++;
  } else if (typeof present === "function") events[event] = isFirst ? [listener, present] : [present, listener];
  else if (isFirst) present.unshift(listener);
  else present.push(listener);
  warnOfLeak(emitter, event);
  return emitter;
}

function warnOfLeak(emitter: Emitter, event: string | symbol): void {
  const listeners = emitter._events?.[event] as (Listener[] & { warned?: boolean }) | Listener | undefined;
  if (listeners === undefined || typeof listeners === "function" || listeners.warned === true) return;
  const max = maxOf(emitter);
  if (max === 0 || listeners.length <= max) return;
  Object.defineProperty(listeners, "warned", { value: true, configurable: true, writable: true });
  const text =
    `Possible EventEmitter memory leak detected. ${listeners.length} ${String(event)} listeners added to ` +
    `${inspectFlat(emitter)}. MaxListeners is ${max}. Use emitter.setMaxListeners() to increase limit`;
  const warning = Object.assign(new Error(text), { emitter, type: event, count: listeners.length });
  warning.name = "MaxListenersExceededWarning";
  emitWarning(warning);
}

function inspectFlat(emitter: Emitter): string {
  const { inspect } = library.load("node-util").shared as { inspect: (value: unknown, options: object) => string };
  return inspect(emitter, { depth: -1 });
}

function maxOf(emitter: Emitter): number {
  return emitter._maxListeners ?? defaults().max;
}

/** A listener that removes itself before its first call. */
function onceOf(emitter: Emitter, event: string | symbol, listener: unknown): Listener {
  checkFunction(listener, "listener");
  let isFired = false;
  const wrapped: Listener = function (this: unknown, ...args: unknown[]): unknown {
    if (isFired) return undefined;
    isFired = true;
    emitter.removeListener(event, wrapped);
    return apply(listener, this, args);
  };
  wrapped.listener = listener;
  return wrapped;
}

function call(emitter: Emitter, event: string | symbol, listener: Listener, args: unknown[]): void {
  const result = apply(listener, emitter, args);
  if (Reflect.get(emitter, CAPTURE) !== true || result === undefined || result === null) return;
  const { then } = result as { then?: unknown };
  if (typeof then !== "function") return;
  apply(then as Listener, result, [
    undefined,
    (error: unknown) => {
      soon(() => {
        const handler: unknown = Reflect.get(emitter, captureRejectionSymbol);
        if (typeof handler === "function") apply(handler, emitter, [error, event, ...args]);
        else emitter.emit("error", error);
      });
    },
  ]);
}

/** An `error` event without a listener is thrown. */
function unhandled(args: readonly unknown[]): unknown {
  const [error] = args;
  if (error instanceof Error) return error;
  const shown =
    typeof error === "string"
      ? `'${error}'`
      : (library.load("node-util").shared as { inspect: (value: unknown) => string }).inspect(error);
  const made = nodeError(
    Error,
    "ERR_UNHANDLED_ERROR",
    args.length === 0 ? "Unhandled error." : `Unhandled error. (${shown})`,
  );
  return Object.assign(made, { context: error });
}

function removeAt(emitter: Emitter, event: string | symbol, listeners: Listener[], at: number): void {
  const rest = listeners.toSpliced(at, 1);
  const [only] = rest;
  if (rest.length === 1 && only !== undefined) eventsOf(emitter)[event] = only;
  else {
    if (Object.hasOwn(listeners, "warned"))
      Object.defineProperty(rest, "warned", { value: true, configurable: true, writable: true });
    eventsOf(emitter)[event] = rest;
  }
}

function drop(emitter: Emitter, event: string | symbol): void {
  if (--emitter._eventsCount === 0) emitter._events = Object.create(null) as Listeners;
  else delete eventsOf(emitter)[event];
}

function listenersOf(emitter: Emitter, event: string | symbol): readonly Listener[] {
  const listeners = emitter._events?.[event];
  if (listeners === undefined) return [];
  return typeof listeners === "function" ? [listeners] : [...listeners];
}

const methods = {
  setMaxListeners(this: Emitter, count: unknown): Emitter {
    checkNumber(count, "setMaxListeners", 0);
    this._maxListeners = count;
    return this;
  },
  getMaxListeners(this: Emitter): number {
    return maxOf(this);
  },
  emit(this: Emitter, event: string | symbol, ...args: unknown[]): boolean {
    const events = this._events;
    if (event === "error") {
      if (events !== undefined && events[errorMonitor] !== undefined) this.emit(errorMonitor, ...args);
      if (events?.["error"] === undefined) throw unhandled(args);
    }
    const listeners = events?.[event];
    if (listeners === undefined) return false;
    if (typeof listeners === "function") call(this, event, listeners, args);
    else for (const listener of listeners.slice()) call(this, event, listener, args);
    return true;
  },
  on(this: Emitter, event: string | symbol, listener: unknown): Emitter {
    return add(this, event, listener, false);
  },
  prependListener(this: Emitter, event: string | symbol, listener: unknown): Emitter {
    return add(this, event, listener, true);
  },
  once(this: Emitter, event: string | symbol, listener: unknown): Emitter {
    return this.on(event, onceOf(this, event, listener));
  },
  prependOnceListener(this: Emitter, event: string | symbol, listener: unknown): Emitter {
    return add(this, event, onceOf(this, event, listener), true);
  },
  removeListener(this: Emitter, event: string | symbol, listener: unknown): Emitter {
    checkFunction(listener, "listener");
    const present = this._events?.[event];
    if (present === undefined) return this;
    const is = (one: Listener): boolean => one === listener || one.listener === listener;
    let removed: Listener | undefined;
    if (typeof present === "function") {
      if (!is(present)) return this;
      removed = present;
      drop(this, event);
    } else {
      const at = present.findLastIndex(is);
      if (at < 0) return this;
      removed = present[at];
      removeAt(this, event, present, at);
    }
    if (this._events?.["removeListener"] !== undefined)
      this.emit("removeListener", event, removed?.listener ?? listener);
    return this;
  },
  removeAllListeners(this: Emitter, ...names: (string | symbol)[]): Emitter {
    const events = this._events;
    if (events === undefined) return this;
    const [event] = names;
    if (events["removeListener"] !== undefined) {
      const all =
        names.length === 0 || event === undefined ? ownKeys(events).filter((one) => one !== "removeListener") : [event];
      for (const one of all)
        for (const listener of listenersOf(this, one).toReversed()) this.removeListener(one, listener);
      if (names.length > 0) return this;
      for (const listener of listenersOf(this, "removeListener").toReversed())
        this.removeListener("removeListener", listener);
    }
    if (names.length === 0 || event === undefined) {
      this._events = Object.create(null) as Listeners;
      this._eventsCount = 0;
    } else if (eventsOf(this)[event] !== undefined) drop(this, event);
    return this;
  },
  listeners(this: Emitter, event: string | symbol): readonly Listener[] {
    return listenersOf(this, event).map((listener) => listener.listener ?? listener);
  },
  rawListeners(this: Emitter, event: string | symbol): readonly Listener[] {
    return listenersOf(this, event);
  },
  listenerCount(this: Emitter, event: string | symbol, listener?: unknown): number {
    const all = listenersOf(this, event);
    if (listener === undefined || listener === null) return all.length;
    return all.filter((one) => one === listener || one.listener === listener).length;
  },
  eventNames(this: Emitter): readonly (string | symbol)[] {
    return this._events === undefined ? [] : ownKeys(this._events);
  },
};
// Not enumerable: code that copies the members of this prototype to an object would copy frozen ones.
Object.assign(EventEmitter.prototype as object, methods, { addListener: methods.on, off: methods.removeListener });

function addAbortListener(signal: AbortSignal, listener: () => void): { [Symbol.dispose](): void } {
  if (signal === undefined) throw invalidArgType("signal", "AbortSignal", signal);
  checkFunction(listener, "listener");
  if (signal.aborted) soon(listener);
  else signal.addEventListener("abort", listener, { once: true });
  return { [Symbol.dispose]: () => signal.removeEventListener("abort", listener) };
}

/** Numbers of listeners that an instance has set for targets of the web. */
const targets = (): WeakMap<EventTarget, number> => kept("event targets", () => new WeakMap());

const statics = {
  EventEmitter,
  once,
  on,
  addAbortListener,
  captureRejectionSymbol,
  errorMonitor,
  usingDomains: false,
  getEventListeners: (emitter: unknown, event: string | symbol) =>
    isEmitter(emitter) ? apply(methods.listeners, emitter as Emitter, [event]) : [],
  getMaxListeners: (emitter: unknown) => {
    if (isEmitter(emitter)) return maxOf(emitter as Emitter);
    if (isTarget(emitter)) return targets().get(emitter) ?? defaults().max;
    throw invalidArgType("emitter", ["EventEmitter", "EventTarget"], emitter);
  },
  setMaxListeners: (count: unknown = defaults().max, ...emitters: readonly unknown[]) => {
    checkNumber(count, "setMaxListeners", 0);
    if (emitters.length === 0) defaults().max = count;
    for (const emitter of emitters) {
      if (isEmitter(emitter)) (emitter as Emitter)._maxListeners = count;
      else if (isTarget(emitter)) targets().set(emitter, count);
      else throw invalidArgType("eventTargets", ["EventEmitter", "EventTarget"], emitter);
    }
  },
  listenerCount: (emitter: Emitter, event: string | symbol) => apply(methods.listenerCount, emitter, [event]),
  init,
};
Object.assign(EventEmitter, statics);
Object.defineProperties(EventEmitter, {
  defaultMaxListeners: {
    enumerable: true,
    get: () => defaults().max,
    set: (count: unknown) => {
      checkNumber(count, "defaultMaxListeners", 0);
      defaults().max = count;
    },
  },
  captureRejections: {
    enumerable: true,
    get: () => defaults().captures,
    set: (value: unknown) => {
      if (typeof value !== "boolean") throw invalidArgType("EventEmitter.captureRejections", "boolean", value);
      defaults().captures = value;
    },
  },
});

class EventEmitterAsyncResource {
  constructor() {
    throw library.refusal("events", "EventEmitterAsyncResource");
  }
}
Object.assign(EventEmitter, { EventEmitterAsyncResource });

export const shared = EventEmitter as unknown as NodeModule & ((...args: never[]) => unknown);
