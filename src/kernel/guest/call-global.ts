import type { GuestCall } from "./call.ts";
import { consolePart } from "./deferred.ts";
import { overridable } from "./harden.ts";
import { GLOBAL_NAMES, OWN_NAMES } from "./host.ts";
import { shown } from "./shown.ts";

/** The call that uses an instance: one for its whole life, unless the module is shared between calls. */
export interface Holder {
  call: GuestCall | null;
  readonly realm: { report(call: GuestCall, error: unknown): void; nowMs(): number };
}

// Captured before a tool can change them.
const { apply } = Reflect;
const { defineProperty, getOwnPropertyDescriptor, getPrototypeOf, hasOwn } = Object;
const { then } = Promise.prototype;

/** Its callbacks run as microtasks. A tool's replacement of `Promise` may be based on `queueMicrotask`. */
const SETTLED = Promise.resolve();

type AnyFunction = (...args: unknown[]) => unknown;

/**
 * The global object of one instance: it owns the properties that belong to the call and inherits the rest from the
 * frozen realm. Properties that the module writes on it end with the instance.
 */
export class CallGlobal {
  readonly #holder: Holder;
  #console: object | undefined;

  constructor(holder: Holder) {
    this.#holder = holder;
  }

  static #is(object: object): object is CallGlobal {
    return #holder in object;
  }

  /**
   * The `CallGlobal` that an object is or inherits from; `undefined` for the prototype itself, which polyfills also
   * read.
   */
  static of(object: object): CallGlobal | undefined {
    for (let at: object | null = object; at !== null; at = getPrototypeOf(at) as object | null) {
      if (CallGlobal.#is(at)) return at;
    }
    return undefined;
  }

  get console(): object {
    const holder = this.#holder;
    return (this.#console ??= consolePart().createConsole(
      (level, message) => holder.call?.log(level, message),
      () => holder.realm.nowMs(),
      shown,
    ));
  }

  get setTimeout(): AnyFunction {
    const holder = this.#holder;
    return function setTimeout(callback, delayMs, ...args) {
      return holder.call?.timers.set(callback, asLong(delayMs), args, false) ?? 0;
    };
  }

  get setInterval(): AnyFunction {
    const holder = this.#holder;
    return function setInterval(callback, delayMs, ...args) {
      return holder.call?.timers.set(callback, asLong(delayMs), args, true) ?? 0;
    };
  }

  get clearTimeout(): AnyFunction {
    const holder = this.#holder;
    return function clearTimeout(id) {
      holder.call?.timers.clear(id);
    };
  }

  get clearInterval(): AnyFunction {
    const holder = this.#holder;
    return function clearInterval(id) {
      holder.call?.timers.clear(id);
    };
  }

  get queueMicrotask(): AnyFunction {
    const holder = this.#holder;
    return function queueMicrotask(callback) {
      if (typeof callback !== "function") throw new TypeError("queueMicrotask needs a function");
      const { call } = holder;
      const run = (): void => {
        try {
          apply(callback, undefined, []);
        } catch (error) {
          if (call !== null) holder.realm.report(call, error);
        }
      };
      void apply(then, SETTLED, [run]);
    };
  }
}

/** A `long` of Web IDL: a delay of more than 31 bits wraps around, as in browsers. Node takes 1 ms for it. */
function asLong(value: unknown): number {
  return Number(value) | 0;
}

/** Puts the class's prototype in front of the realm: assigning to an inherited property defines it on the instance. */
export function prepareCallGlobal(realm: typeof globalThis): void {
  const prototype = CallGlobal.prototype;
  for (const key of OWN_NAMES) {
    const own = getOwnPropertyDescriptor(prototype, key);
    const get = own?.get;
    if (get === undefined) continue;
    defineProperty(prototype, key, {
      ...overridable(prototype, key, { value: undefined }),
      get(this: object): unknown {
        const global = CallGlobal.of(this);
        return global === undefined ? undefined : apply(get, global, []);
      },
    });
  }
  for (const key of Reflect.ownKeys(realm)) {
    const property = getOwnPropertyDescriptor(realm, key);
    if (property === undefined || !("value" in property) || hasOwn(prototype, key)) continue;
    const { value } = property as { value: unknown };
    defineProperty(prototype, key, overridable(prototype, key, { value, enumerable: false }));
  }
  for (const key of GLOBAL_NAMES) {
    defineProperty(prototype, key, {
      ...overridable(prototype, key, { value: undefined }),
      get(this: object) {
        return this;
      },
    });
  }
  Reflect.deleteProperty(prototype, "constructor");
  Object.setPrototypeOf(prototype, realm);
}
