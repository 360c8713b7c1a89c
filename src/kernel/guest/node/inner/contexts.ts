import { kept, library } from "./library.ts";

const { apply } = Reflect;

type AnyFunction = (...args: never[]) => unknown;

/** What each `AsyncLocalStorage` holds, for code that runs now and all that it begins. */
export type Stores = ReadonlyMap<object, unknown>;

const NONE: Stores = new Map();
const NAME = "async_hooks.contexts";

/** The stores of one instance. */
export class Contexts {
  /** Those of the code on the stack; `null` for code that was bound to none. */
  #running: Stores | null = null;
  /** Those of other code, by its call: calls of a shared module have only the module in common. */
  readonly #bases = new WeakMap<object, Stores>();

  static here(): Contexts {
    return kept(NAME, () => new Contexts());
  }

  get current(): Stores {
    return this.#running ?? this.#bases.get(library.host.call() ?? this) ?? NONE;
  }

  set current(stores: Stores) {
    if (this.#running === null) this.#bases.set(library.host.call() ?? this, stores);
    else this.#running = stores;
  }

  /** Calls a function with these stores. */
  within(stores: Stores, callback: AnyFunction, receiver: unknown, args: readonly unknown[]): unknown {
    const before = this.#running;
    this.#running = stores;
    try {
      return apply(callback, receiver, args) as unknown;
    } finally {
      this.#running = before;
    }
  }

  /** A function that runs with the stores of now. */
  bind(callback: AnyFunction): AnyFunction {
    const { current } = this;
    const run = (receiver: unknown, args: readonly unknown[]): unknown =>
      this.within(current, callback, receiver, args);
    return function (this: unknown, ...args: never[]) {
      return run(this, args);
    };
  }
}

/** A function that runs with the stores of now: the same one, if the instance has none. */
export function bound<Callback>(callback: Callback): Callback | AnyFunction {
  const contexts = library.state().kept.get(NAME) as Contexts | undefined;
  return contexts === undefined || typeof callback !== "function" ? callback : contexts.bind(callback as never);
}
