import { kept, library } from "./library.ts";

const { apply } = Reflect;

type AnyFunction = (...args: never[]) => unknown;

/** What each `AsyncLocalStorage` holds, for code that runs now and all that it begins. */
export type Stores = ReadonlyMap<object, unknown>;

/** The stores of one instance. */
export interface Contexts {
  current: Stores;
}

const NAME = "async_hooks.contexts";

export function contexts(): Contexts {
  return kept(NAME, () => ({ current: new Map() }));
}

/** Calls a function with these stores. */
export function within<Result>(state: Contexts, stores: Stores, run: () => Result): Result {
  const before = state.current;
  state.current = stores;
  try {
    return run();
  } finally {
    state.current = before;
  }
}

/** A function that runs with the stores of now: the same one, if the instance uses none. */
export function bound<Callback>(callback: Callback): Callback | AnyFunction {
  const state = library.state().kept.get(NAME) as Contexts | undefined;
  if (state === undefined || typeof callback !== "function") return callback;
  const { current } = state;
  return function (this: unknown, ...args: never[]): unknown {
    return within(state, current, () => apply(callback, this, args) as unknown);
  };
}
