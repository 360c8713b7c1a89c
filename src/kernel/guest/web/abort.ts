import { AbortState } from "./abort-state.ts";
import { trusted, type WebEvent, type WebEventTarget } from "./event.ts";
import type { EventClasses } from "./events.ts";
import { describeInterface } from "./web-interface.ts";

type AbortHandler = ((event: WebEvent) => unknown) | null;

export interface WebAbortSignal extends WebEventTarget {
  readonly aborted: boolean;
  readonly reason: unknown;
  onabort: AbortHandler;
  throwIfAborted(): void;
}

/** The class of abort signals; its constructor always throws. */
export interface AbortSignalClass {
  new (): WebAbortSignal;
  abort(reason?: unknown): WebAbortSignal;
  timeout(milliseconds: number): WebAbortSignal;
  any(signals: Iterable<WebAbortSignal>): WebAbortSignal;
}

/** The classes of `createAbortClasses`. */
export interface AbortClasses {
  readonly AbortController: new () => { readonly signal: WebAbortSignal; abort(reason?: unknown): void };
  readonly AbortSignal: AbortSignalClass;
}

/** Dependencies of the abort classes. */
export interface AbortParts extends Pick<EventClasses, "Event" | "EventTarget" | "abortStates"> {
  readonly DOMException: new (message: string, name: string) => Error;
  readonly setTimeout: (callback: () => void, milliseconds: number) => unknown;
}

/** Creates AbortController and AbortSignal. */
export function createAbortClasses(parts: AbortParts): AbortClasses {
  const { Event, EventTarget, DOMException, abortStates } = parts;
  /** Passed to the constructor by the code in this file, the only code that may create signals. */
  const key = Symbol("AbortSignal");
  const stateOf = (signal: object): AbortState => {
    const state = abortStates.get(signal);
    if (state === undefined) throw new TypeError("Illegal invocation: not an AbortSignal");
    return state;
  };
  const abort = (signal: object, reason: unknown): void => {
    const given = reason === undefined ? new DOMException("This operation was aborted", "AbortError") : reason;
    stateOf(signal).abort(given);
  };

  class AbortSignal extends EventTarget implements WebAbortSignal {
    #onabort: AbortHandler = null;
    readonly #callHandler = (event: WebEvent): unknown => this.#onabort?.call(this, event);

    static {
      describeInterface(this, "AbortSignal");
    }

    constructor(...[shown]: [shown?: unknown]) {
      super();
      if (shown !== key) throw new TypeError("Illegal constructor");
      abortStates.set(this, new AbortState(() => super.dispatchEvent(trusted(new Event("abort")))));
    }

    static abort(...[reason]: [reason?: unknown]): AbortSignal {
      const signal = new AbortSignal(key);
      abort(signal, reason);
      return signal;
    }

    static timeout(milliseconds: number): AbortSignal {
      const wait = readTimeout(milliseconds);
      const signal = new AbortSignal(key);
      const expire = () => abort(signal, new DOMException("The operation was aborted due to timeout", "TimeoutError"));
      parts.setTimeout(expire, wait);
      return signal;
    }

    static any(signals: Iterable<AbortSignal>): AbortSignal {
      const sources = Array.from(signals, stateOf);
      const result = new AbortSignal(key);
      const aborted = sources.find((source) => source.aborted);
      if (aborted !== undefined) abort(result, aborted.reason);
      else for (const source of sources) stateOf(result).follow(source);
      return result;
    }

    get aborted(): boolean {
      return stateOf(this).aborted;
    }

    get reason(): unknown {
      return stateOf(this).reason;
    }

    get onabort(): AbortHandler {
      return this.#onabort;
    }

    set onabort(handler: AbortHandler) {
      const had = this.#onabort !== null;
      this.#onabort = typeof handler === "function" ? handler : null;
      // The handler takes its place among the listeners when it is first set, and keeps it while it is replaced.
      if (!had && this.#onabort !== null) super.addEventListener("abort", this.#callHandler);
      if (had && this.#onabort === null) super.removeEventListener("abort", this.#callHandler);
    }

    throwIfAborted(): void {
      const { aborted, reason } = stateOf(this);
      if (aborted) throw reason;
    }
  }

  return { AbortController: createController(() => new AbortSignal(key), abort), AbortSignal };
}

function createController(
  createSignal: () => WebAbortSignal,
  abort: (signal: object, reason: unknown) => void,
): AbortClasses["AbortController"] {
  return class AbortController {
    readonly #signal = createSignal();

    static {
      describeInterface(this, "AbortController");
    }

    get signal(): WebAbortSignal {
      return this.#signal;
    }

    abort(...[reason]: [reason?: unknown]): void {
      abort(this.#signal, reason);
    }
  };
}

function readTimeout(milliseconds: unknown): number {
  const wait = Math.trunc(Number(milliseconds));
  if (wait >= 0 && wait <= Number.MAX_SAFE_INTEGER) return wait;
  throw new TypeError("The timeout has to be a number of milliseconds from 0 to 9007199254740991");
}
