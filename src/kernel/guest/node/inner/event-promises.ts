import { abortError, invalidArgType } from "./errors.ts";

/** Events as promises: `once` and `on` of `node:events`, for emitters and for targets of the web. */

type Listener = (...args: unknown[]) => unknown;

interface Listened {
  on(event: string | symbol, listener: unknown): unknown;
  once(event: string | symbol, listener: unknown): unknown;
  removeListener(event: string | symbol, listener: unknown): unknown;
}

/** Resolves with the arguments of an emitter's or a target's next event. */
export function once(emitter: unknown, event: string | symbol, options?: { signal?: AbortSignal }): Promise<unknown[]> {
  return new Promise((resolve, reject) => {
    const signal = options?.signal;
    if (signal?.aborted === true) return reject(abortError(signal.reason));
    const stop = (): void => {
      off(emitter, event, done);
      off(emitter, "error", failed);
      signal?.removeEventListener("abort", aborted);
    };
    const done = (...args: unknown[]): void => {
      stop();
      resolve(args);
    };
    const failed = (error: unknown): void => {
      stop();
      reject(error as Error);
    };
    const aborted = (): void => failed(abortError(signal?.reason));
    listen(emitter, event, done);
    if (event !== "error" && isEmitter(emitter)) emitter.once("error", failed);
    signal?.addEventListener("abort", aborted, { once: true });
    return undefined;
  });
}

export function isEmitter(value: unknown): value is Listened {
  return typeof value === "object" && value !== null && typeof Reflect.get(value, "on") === "function";
}

export function isTarget(value: unknown): value is EventTarget {
  return typeof value === "object" && value !== null && typeof Reflect.get(value, "addEventListener") === "function";
}

function listen(emitter: unknown, event: string | symbol, listener: Listener): void {
  if (isEmitter(emitter)) emitter.on(event, listener);
  else if (isTarget(emitter)) emitter.addEventListener(String(event), listener);
  else throw invalidArgType("emitter", "EventEmitter", emitter);
}

function off(emitter: unknown, event: string | symbol, listener: Listener): void {
  if (isEmitter(emitter)) emitter.removeListener(event, listener);
  else if (isTarget(emitter)) emitter.removeEventListener(String(event), listener);
}

interface OnOptions {
  readonly signal?: AbortSignal;
  readonly close?: readonly string[];
}

/** Iterates over an emitter's events. */
export function on(
  emitter: unknown,
  event: string | symbol,
  options: OnOptions = {},
): AsyncIterableIterator<unknown[]> {
  const { signal } = options;
  if (signal?.aborted === true) throw abortError(signal.reason);
  const values: unknown[][] = [];
  const waiting: { resolve: (result: IteratorResult<unknown[]>) => void; reject: (error: unknown) => void }[] = [];
  let failure: { readonly error: unknown } | null = null;
  let isDone = false;
  const heard = (...args: unknown[]): void => {
    const first = waiting.shift();
    if (first === undefined) values.push(args);
    else first.resolve({ value: args, done: false });
  };
  const failed = (error: unknown): void => {
    const first = waiting.shift();
    if (first === undefined) failure = { error };
    else first.reject(error);
    void close();
  };
  const aborted = (): void => failed(abortError(signal?.reason));
  const close = (): Promise<IteratorResult<unknown[]>> => {
    off(emitter, event, heard);
    off(emitter, "error", failed);
    for (const name of options.close ?? []) off(emitter, name, closed);
    signal?.removeEventListener("abort", aborted);
    isDone = true;
    for (const { resolve } of waiting.splice(0)) resolve({ value: undefined, done: true });
    return Promise.resolve({ value: undefined, done: true });
  };
  const closed = (): void => void close();
  listen(emitter, event, heard);
  if (event !== "error" && isEmitter(emitter)) emitter.on("error", failed);
  for (const name of options.close ?? []) listen(emitter, name, closed);
  signal?.addEventListener("abort", aborted, { once: true });
  return {
    next: () => {
      const value = values.shift();
      if (value !== undefined) return Promise.resolve({ value, done: false });
      if (failure !== null) {
        const { error } = failure;
        failure = null;
        return Promise.reject(error as Error);
      }
      if (isDone) return close();
      return new Promise((resolve, reject) => waiting.push({ resolve, reject }));
    },
    return: close,
    throw: (error: unknown) => {
      failed(error);
      return Promise.resolve({ value: undefined, done: true });
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
