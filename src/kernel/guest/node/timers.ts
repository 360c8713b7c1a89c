import { bound } from "./inner/contexts.ts";
import { abortError, checkFunction } from "./inner/errors.ts";
import type { NodeModule } from "./inner/library.ts";

/** `node:timers`. Timers belong to the call, as those of the globals. */

type Callback = (...args: unknown[]) => unknown;

/** A timer in Node's form: an object that represents a number. */
export class Timeout {
  #id: number;
  readonly #start: () => number;

  constructor(start: () => number) {
    this.#start = start;
    this.#id = start();
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  hasRef(): boolean {
    return true;
  }

  refresh(): this {
    clearTimeout(this.#id);
    this.#id = this.#start();
    return this;
  }

  close(): this {
    clearTimeout(this.#id);
    return this;
  }

  [Symbol.toPrimitive](): number {
    return this.#id;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#id);
  }
}

class Immediate extends Timeout {}

const timers = {
  setTimeout(callback: unknown, delay?: number, ...args: unknown[]) {
    checkFunction(callback, "callback");
    const run = bound(callback) as Callback;
    return new Timeout(() => setTimeout(run, delay, ...args));
  },
  setInterval(callback: unknown, delay?: number, ...args: unknown[]) {
    checkFunction(callback, "callback");
    const run = bound(callback) as Callback;
    return new Timeout(() => setInterval(run, delay, ...args));
  },
  setImmediate(callback: unknown, ...args: unknown[]) {
    checkFunction(callback, "callback");
    const run = bound(callback) as Callback;
    return new Immediate(() => setTimeout(run, 0, ...args));
  },
  clearTimeout(timer: unknown) {
    clearTimeout(Number(timer));
  },
  clearInterval(timer: unknown) {
    clearInterval(Number(timer));
  },
  clearImmediate(timer: unknown) {
    clearTimeout(Number(timer));
  },
};

interface Options {
  readonly signal?: AbortSignal;
}

function after<T>(delay: number | undefined, value: T, { signal }: Options = {}): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(abortError(signal.reason));
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve(value);
    }, delay);
    const stop = (): void => {
      clearTimeout(timer);
      reject(abortError(signal?.reason));
    };
    signal?.addEventListener("abort", stop, { once: true });
    return undefined;
  });
}

async function* every<T>(delay: number | undefined, value: T, options: Options = {}): AsyncGenerator<T> {
  for (;;) yield await after(delay, value, options);
}

const promises = {
  setTimeout: after,
  setImmediate: <T>(value: T, options?: Options) => after(0, value, options),
  setInterval: every,
  scheduler: {
    wait: (delay: number, options?: Options) => after(delay, undefined, options),
    yield: () => after(0, undefined),
  },
};

for (const name of ["setTimeout", "setImmediate"] as const) {
  Object.defineProperty(timers[name], Symbol.for("nodejs.util.promisify.custom"), { value: promises[name] });
}

export const shared: NodeModule = { ...timers, promises };
export const hidden = [Timeout, Immediate];
