import type { AbortState } from "./abort-state.ts";
import { DOMException } from "./dom-exception.ts";
import {
  CustomEvent,
  Event,
  type EventState,
  type ListenerOptions,
  type WebEvent,
  type WebEventListener,
  type WebEventTarget,
  eventState,
} from "./event.ts";
import { describeInterface } from "./web-interface.ts";

/** States of abort signals, by signal; with them, a listener is removed when its signal aborts. */
export type AbortStates = WeakMap<object, AbortState>;

/** The classes of `createEventClasses`. */
export interface EventClasses {
  readonly Event: typeof Event;
  readonly CustomEvent: typeof CustomEvent;
  readonly EventTarget: new () => WebEventTarget;
  /** Empty at first: the class of abort signals adds each signal. */
  readonly abortStates: AbortStates;
}

type Options = ListenerOptions | boolean | null;

/**
 * Creates the event classes. An exception in a listener stops neither the other listeners nor the dispatching code: a
 * microtask passes it to `report`, after the dispatch.
 */
export function createEventClasses(report: (error: unknown) => void): EventClasses {
  const abortStates: AbortStates = new WeakMap();

  class EventTarget implements WebEventTarget {
    readonly #listeners = new Listeners();

    static {
      describeInterface(this, "EventTarget");
    }

    addEventListener(type: string, callback: WebEventListener | null, options: Options = null): void {
      const flags = readFlags(asOptions(options));
      const { signal } = asOptions(options);
      const abort = signal === undefined ? undefined : abortStates.get(signal);
      if (signal !== undefined && abort === undefined) throw new TypeError("The signal has to be an AbortSignal");
      if (!isCallback(callback) || abort?.aborted) return;
      const remove = this.#listeners.add(`${type}`, callback, flags);
      abort?.steps.add(remove);
    }

    removeEventListener(type: string, callback: WebEventListener | null, options: Options = null): void {
      if (isCallback(callback)) this.#listeners.remove(`${type}`, callback, Boolean(asOptions(options).capture));
    }

    dispatchEvent(event: WebEvent): boolean {
      const state = eventState(event);
      if (state === undefined) throw new TypeError("dispatchEvent needs an Event");
      if (state.dispatching) throw new DOMException("The event is already being dispatched", "InvalidStateError");
      state.dispatching = true;
      // A second dispatch of an event of the realm comes from a tool.
      if (state.target !== null) state.isTrusted = false;
      state.target = this;
      state.currentTarget = this;
      try {
        for (const capture of [true, false]) {
          if (!state.propagationStopped) this.#listeners.call(this, event, state, capture, report);
        }
      } finally {
        state.dispatching = false;
        state.currentTarget = null;
        state.propagationStopped = false;
        state.immediateStopped = false;
      }
      return !state.canceled;
    }
  }

  return { Event, CustomEvent, EventTarget, abortStates };
}

interface ListenerFlags {
  readonly capture: boolean;
  readonly once: boolean;
  readonly passive: boolean;
}

interface Listener extends ListenerFlags {
  readonly callback: WebEventListener;
  removed: boolean;
}

/** The listeners of one target. Lists are replaced, never changed, so that a dispatch iterates over a fixed list. */
class Listeners {
  readonly #byType = new Map<string, readonly Listener[]>();

  /** Adds a listener unless it exists. Returns a function that removes it. */
  add(type: string, callback: WebEventListener, flags: ListenerFlags): () => void {
    const { capture } = flags;
    if (this.#find(type, callback, capture) === undefined) {
      this.#byType.set(type, [...(this.#byType.get(type) ?? []), { callback, ...flags, removed: false }]);
    }
    return () => this.remove(type, callback, capture);
  }

  remove(type: string, callback: WebEventListener, capture: boolean): void {
    const found = this.#find(type, callback, capture);
    if (found === undefined) return;
    found.removed = true;
    const left = (this.#byType.get(type) ?? []).filter((listener) => listener !== found);
    if (left.length === 0) this.#byType.delete(type);
    else this.#byType.set(type, left);
  }

  /** Calls the current listeners of an event: either the capturing ones or the others. */
  call(
    target: WebEventTarget,
    event: WebEvent,
    state: EventState,
    capture: boolean,
    report: (error: unknown) => void,
  ): void {
    for (const listener of this.#byType.get(state.type) ?? []) {
      if (listener.removed || listener.capture !== capture) continue;
      if (listener.once) this.remove(state.type, listener.callback, capture);
      state.inPassiveListener = listener.passive;
      try {
        if (typeof listener.callback === "function") listener.callback.call(target, event);
        else listener.callback.handleEvent(event);
      } catch (error) {
        void Promise.resolve().then(() => report(error));
      }
      state.inPassiveListener = false;
      if (state.immediateStopped) return;
    }
  }

  #find(type: string, callback: WebEventListener, capture: boolean): Listener | undefined {
    const list = this.#byType.get(type) ?? [];
    return list.find((listener) => listener.callback === callback && listener.capture === capture);
  }
}

function isCallback(callback: unknown): callback is WebEventListener {
  if (callback === null || callback === undefined) return false;
  if (typeof callback === "function" || typeof callback === "object") return true;
  throw new TypeError("A listener has to be a function or an object");
}

function readFlags({ capture, once, passive }: ListenerOptions): ListenerFlags {
  return { capture: Boolean(capture), once: Boolean(once), passive: Boolean(passive) };
}

function asOptions(options: Options): ListenerOptions {
  return typeof options === "object" ? (options ?? {}) : { capture: options };
}
