import { bound, Contexts } from "./inner/contexts.ts";
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
    const { current } = Contexts.here();
    return current.has(this) ? current.get(this) : this.#usual;
  }

  enterWith(store: unknown): void {
    const contexts = Contexts.here();
    contexts.current = new Map(contexts.current).set(this, store);
  }

  disable(): void {
    const contexts = Contexts.here();
    contexts.current = new Map([...contexts.current].filter(([storage]) => storage !== this));
  }

  run(store: unknown, callback: AnyFunction, ...args: readonly unknown[]): unknown {
    const contexts = Contexts.here();
    return contexts.within(new Map(contexts.current).set(this, store), callback, undefined, args);
  }

  exit(callback: AnyFunction, ...args: readonly unknown[]): unknown {
    return this.run(undefined, callback, ...args);
  }

  static bind(callback: AnyFunction): AnyFunction {
    return Contexts.here().bind(callback);
  }

  /** Runs functions with the stores of now. */
  static snapshot(): (callback: AnyFunction, ...args: readonly unknown[]) => unknown {
    const contexts = Contexts.here();
    const { current } = contexts;
    return (callback, ...args) => contexts.within(current, callback, undefined, args);
  }
}

class AsyncResource {
  readonly type: string;
  readonly #within = AsyncLocalStorage.snapshot();

  constructor(type: string) {
    this.type = type;
  }

  runInAsyncScope(callback: AnyFunction, receiver?: unknown, ...args: readonly unknown[]): unknown {
    return this.#within(() => apply(callback, receiver, args) as unknown);
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

  bind(callback: AnyFunction, receiver?: unknown): AnyFunction {
    const run = (self: unknown, args: readonly unknown[]): unknown =>
      this.runInAsyncScope(callback, receiver ?? self, ...args);
    return function (this: unknown, ...args: never[]) {
      return run(this, args);
    };
  }

  static bind(callback: AnyFunction, type = "bound-anonymous-fn", receiver?: unknown): AnyFunction {
    return new AsyncResource(type).bind(callback, receiver);
  }
}

const RealPromise = Promise;
const isInstance = Function.prototype[Symbol.hasInstance];

type Settle = (value: unknown) => void;

/** The class that stands for `Promise` in a bundle: its callbacks run with the stores of where they were given. */
export class BoundPromise extends RealPromise<unknown> {
  static {
    void Object.defineProperty(this, "name", { value: "Promise" });
  }

  /** Promises of the host and of the library are of the class that it stands for. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return apply(isInstance, this === BoundPromise ? RealPromise : this, [value]);
  }

  constructor(executor: (resolve: Settle, reject: Settle) => void) {
    super((resolve, reject) => {
      const settle = (value: unknown): void => {
        try {
          resolve(withStores(value));
        } catch (error) {
          reject(error);
        }
      };
      executor(settle, reject);
    });
  }

  // oxlint-disable-next-line unicorn/no-thenable -- it is a promise
  override then(fulfilled?: unknown, rejected?: unknown): Promise<never> {
    const contexts = Contexts.here();
    const bind = (callback: unknown): never =>
      (typeof callback === "function" ? contexts.bind(callback as AnyFunction) : callback) as never;
    return super.then(bind(fulfilled), bind(rejected));
  }
}

/** An object with a `then` that is no promise has it called later, by the engine of JavaScript. */
function withStores(value: unknown): unknown {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return value;
  if (value instanceof RealPromise) return value;
  const then: unknown = Reflect.get(value, "then");
  if (typeof then !== "function") return value;
  const call = (...settle: never[]): unknown => apply(then as AnyFunction, value, settle) as unknown;
  // oxlint-disable-next-line unicorn/no-thenable -- it stands for one
  return { then: Contexts.here().bind(call) };
}

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
export const hidden = [hook, Contexts];

export const shared: NodeModule = {
  AsyncLocalStorage,
  AsyncResource,
  createHook: () => hook,
  executionAsyncId: () => 1,
  triggerAsyncId: () => 0,
  executionAsyncResource: () => ({}),
  asyncWrapProviders: Object.freeze({}),
};
