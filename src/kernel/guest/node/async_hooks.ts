import { kept, library, type NodeModule } from "./inner/library.ts";

/**
 * `node:async_hooks`. A store exists while its function runs, and while a promise that the function returned is
 * pending: the isolate does not show to which of several pending ones code belongs, so the last started one is used.
 */

type AnyFunction = (...args: never[]) => unknown;
const { apply } = Reflect;

const AMBIGUOUS =
  "AsyncLocalStorage: several runs with different stores are pending, and getStore() answers with the store of the last one; pass the value as an argument, or await one run before the next";

interface Run {
  readonly store: unknown;
  /** The run that was on the stack when it began. */
  readonly within: Run | null;
}

class AsyncLocalStorage {
  /** Stores of functions on the stack. */
  readonly #stack: Run[] = [];
  /** Those on the stack and those whose promise is pending, in the order in which they began. */
  readonly #begun = new Set<Run>();
  #entered: Run | null = null;
  readonly #usual: Run | null;
  readonly name: string;

  constructor(options: { defaultValue?: unknown; name?: string } = {}) {
    this.#usual = "defaultValue" in options ? { store: options.defaultValue, within: null } : null;
    this.name = options.name ?? "";
    storages().add(this);
  }

  #current(): Run | null {
    const top = this.#stack.at(-1);
    if (top !== undefined) return top;
    if (this.#begun.size > 1) this.#warn();
    return [...this.#begun].at(-1) ?? this.#entered ?? this.#usual;
  }

  /** Warns once in a call that a store may belong to other code. */
  #warn(): void {
    const runs = [...this.#begun];
    // A run is awaited by the one within which it began.
    if (runs.every(({ store, within }, at) => at === 0 || store === runs[0]?.store || within === runs[at - 1])) return;
    kept("async_hooks", () => {
      library.host.call()?.log("warn", AMBIGUOUS);
      return true;
    });
  }

  getStore(): unknown {
    return this.#current()?.store;
  }

  enterWith(store: unknown): void {
    this.#entered = { store, within: null };
  }

  disable(): void {
    this.#begun.clear();
    this.#entered = null;
  }

  run(store: unknown, callback: AnyFunction, ...args: readonly unknown[]): unknown {
    const run = { store, within: this.#stack.at(-1) ?? null };
    const end = (): void => void this.#begun.delete(run);
    this.#stack.push(run);
    this.#begun.add(run);
    let isPending = false;
    try {
      const result: unknown = apply(callback, undefined, args);
      isPending = typeof result === "object" && result !== null && typeof Reflect.get(result, "then") === "function";
      if (isPending) void Promise.resolve(result).then(end, end);
      return result;
    } finally {
      this.#stack.pop();
      if (!isPending) end();
    }
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
    const stores = [...storages()].map((storage) => [storage, storage.getStore()] as const);
    return (callback, ...args) => {
      const called = (): unknown => apply(callback, undefined, args);
      return stores.reduce(
        (inner, [storage, store]) =>
          () =>
            storage.run(store, inner),
        called,
      )();
    };
  }
}

/** The storages of the instance. */
function storages(): Set<AsyncLocalStorage> {
  return kept("async_hooks.storages", () => new Set<AsyncLocalStorage>());
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

  bind(callback: AnyFunction): AnyFunction {
    return (...args: never[]) => this.runInAsyncScope(callback, undefined, ...args);
  }

  static bind(callback: AnyFunction): AnyFunction {
    return AsyncLocalStorage.bind(callback);
  }
}

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
