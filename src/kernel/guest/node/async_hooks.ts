import { bound, contexts, type Stores, within } from "./inner/contexts.ts";
import type { NodeModule } from "./inner/library.ts";

/**
 * `node:async_hooks`. An isolate does not say which code an `await` continues, so the bundler lowers asynchronous
 * functions of a bundle that uses this module to generators, which continue in callbacks of promises: those of
 * `BoundPromise`, which the bundle gets in the place of `Promise`.
 */

type AnyFunction = (...args: never[]) => unknown;
const { apply } = Reflect;

class AsyncLocalStorage {
  readonly #usual: unknown;
  readonly name: string;

  constructor(options: { defaultValue?: unknown; name?: string } = {}) {
    this.#usual = options.defaultValue;
    this.name = options.name ?? "";
  }

  getStore(): unknown {
    const { current } = contexts();
    return current.has(this) ? current.get(this) : this.#usual;
  }

  enterWith(store: unknown): void {
    const state = contexts();
    state.current = new Map(state.current).set(this, store);
  }

  disable(): void {
    const state = contexts();
    state.current = new Map([...state.current].filter(([storage]) => storage !== this));
  }

  run(store: unknown, callback: AnyFunction, ...args: readonly unknown[]): unknown {
    const state = contexts();
    const call = (): unknown => apply(callback, undefined, args);
    return within(state, new Map(state.current).set(this, store), call);
  }

  exit(callback: AnyFunction, ...args: readonly unknown[]): unknown {
    return this.run(undefined, callback, ...args);
  }

  static bind(callback: AnyFunction): AnyFunction {
    const within = AsyncLocalStorage.snapshot();
    return (...args: never[]) => within(callback, ...args);
  }

  /** Runs functions with the stores of now. */
  static snapshot(): (callback: AnyFunction, ...args: readonly unknown[]) => unknown {
    const state = contexts();
    const { current } = state;
    return (callback, ...args) => within(state, current, () => apply(callback, undefined, args) as unknown);
  }
}

class AsyncResource {
  readonly type: string;
  readonly #stores: Stores = contexts().current;

  constructor(type: string) {
    this.type = type;
  }

  runInAsyncScope(callback: AnyFunction, receiver?: unknown, ...args: readonly unknown[]): unknown {
    return within(contexts(), this.#stores, () => apply(callback, receiver, args) as unknown);
  }

  emitDestroy(): this {
    return this;
  }

  asyncId(): number {
    return 1;
  }

  triggerAsyncId(): number {
    return 0;
  }

  bind(callback: AnyFunction): AnyFunction {
    return (...args: never[]) => this.runInAsyncScope(callback, undefined, ...args);
  }

  static bind(callback: AnyFunction): AnyFunction {
    return AsyncLocalStorage.bind(callback);
  }
}

const RealPromise = Promise;
const isOrdinaryInstance = Function.prototype[Symbol.hasInstance];

/** A promise whose callbacks run with the stores of where they were given. Its name is that of the class it stands for. */
export const { Promise: BoundPromise } = {
  Promise: class extends RealPromise<unknown> {
    // oxlint-disable-next-line unicorn/no-thenable -- it is a promise
    override then(onValue?: unknown, onError?: unknown): Promise<never> {
      return super.then(bound(onValue) as () => never, bound(onError) as () => never);
    }

    /** An object with a `then` of its own has it called with the stores of now. */
    static override resolve(value?: unknown): Promise<never> {
      const isObject = typeof value === "object" && value !== null && !(value instanceof RealPromise);
      const then: unknown = isObject ? Reflect.get(value, "then") : undefined;
      if (typeof then !== "function") return super.resolve(value) as Promise<never>;
      return super.resolve({
        // oxlint-disable-next-line unicorn/no-thenable -- it stands for one
        then: bound((...settle: never[]) => apply(then as AnyFunction, value, settle) as unknown),
      });
    }

    /** Promises of the host and of the library are of the class that it stands for. */
    static override [Symbol.hasInstance](value: unknown): boolean {
      return this === BoundPromise
        ? value instanceof RealPromise
        : (apply(isOrdinaryInstance, this, [value]) as boolean);
    }
  },
};

/** A global of the call whose turn it is. */
function called(name: string, ...given: readonly unknown[]): unknown {
  return apply(Reflect.get(globalThis, name) as AnyFunction, undefined, given);
}

/** Globals that call back later, or give promises. */
export const boundGlobals = {
  setTimeout: (callback: unknown, ...more: unknown[]) => called("setTimeout", bound(callback), ...more),
  setInterval: (callback: unknown, ...more: unknown[]) => called("setInterval", bound(callback), ...more),
  queueMicrotask: (callback: unknown) => called("queueMicrotask", bound(callback)),
  fetch: (...given: unknown[]) => BoundPromise.resolve(called("fetch", ...given)),
};

const hook = { enable: () => hook, disable: () => hook };
export const hidden = [hook];

export const shared: NodeModule = {
  AsyncLocalStorage,
  AsyncResource,
  createHook: () => hook,
  executionAsyncId: () => 1,
  triggerAsyncId: () => 0,
  executionAsyncResource: () => ({}),
  asyncWrapProviders: Object.freeze({}),
};
