import { defineConstants, describeInterface } from "./web-interface.ts";

/** Options of an event's constructor. */
export interface WebEventInit {
  readonly bubbles?: boolean;
  readonly cancelable?: boolean;
  readonly composed?: boolean;
}

/** The part of an event that the other classes use. */
export interface WebEvent {
  readonly type: string;
  readonly target: WebEventTarget | null;
  readonly currentTarget: WebEventTarget | null;
  readonly cancelable: boolean;
  readonly defaultPrevented: boolean;
  preventDefault(): void;
  stopImmediatePropagation(): void;
}

/** A function or an object that receives events. */
export type WebEventListener =
  ((this: WebEventTarget, event: WebEvent) => unknown) | { handleEvent(event: WebEvent): unknown };

/** Options of a listener. */
export interface ListenerOptions {
  readonly capture?: boolean;
  readonly once?: boolean;
  readonly passive?: boolean;
  readonly signal?: object;
}

/** An object that events are dispatched to. */
export interface WebEventTarget {
  addEventListener(type: string, callback: WebEventListener | null, options?: ListenerOptions | boolean): void;
  removeEventListener(type: string, callback: WebEventListener | null, options?: ListenerOptions | boolean): void;
  dispatchEvent(event: WebEvent): boolean;
}

/** The state of an event, which its target changes during the dispatch. */
export interface EventState {
  type: string;
  bubbles: boolean;
  cancelable: boolean;
  readonly composed: boolean;
  readonly timeStamp: number;
  target: WebEventTarget | null;
  currentTarget: WebEventTarget | null;
  dispatching: boolean;
  canceled: boolean;
  propagationStopped: boolean;
  immediateStopped: boolean;
  inPassiveListener: boolean;
  /** Whether the realm made the event, not a tool. */
  isTrusted: boolean;
}

const PHASES = [
  ["NONE", 0],
  ["CAPTURING_PHASE", 1],
  ["AT_TARGET", 2],
  ["BUBBLING_PHASE", 3],
] as const;

let readState = (_event: object): EventState | undefined => undefined;

export class Event implements WebEvent {
  readonly #state: EventState;

  static {
    describeInterface(this, "Event");
    defineConstants(this, PHASES);
    readState = (event) => (#state in event ? event.#state : undefined);
  }

  constructor(type: string, init: WebEventInit | null = null) {
    if (arguments.length === 0) throw new TypeError("An Event needs a type");
    this.#state = initialState(`${type}`, init);
  }

  get type(): string {
    return this.#state.type;
  }

  get target(): WebEventTarget | null {
    return this.#state.target;
  }

  get srcElement(): WebEventTarget | null {
    return this.#state.target;
  }

  get currentTarget(): WebEventTarget | null {
    return this.#state.currentTarget;
  }

  get eventPhase(): number {
    return this.#state.dispatching ? 2 : 0;
  }

  get bubbles(): boolean {
    return this.#state.bubbles;
  }

  get cancelable(): boolean {
    return this.#state.cancelable;
  }

  get composed(): boolean {
    return this.#state.composed;
  }

  get defaultPrevented(): boolean {
    return this.#state.canceled;
  }

  get isTrusted(): boolean {
    return this.#state.isTrusted;
  }

  get timeStamp(): number {
    return this.#state.timeStamp;
  }

  get cancelBubble(): boolean {
    return this.#state.propagationStopped;
  }

  set cancelBubble(value: boolean) {
    if (value) this.#state.propagationStopped = true;
  }

  get returnValue(): boolean {
    return !this.#state.canceled;
  }

  set returnValue(value: boolean) {
    if (!value) this.preventDefault();
  }

  /** Reinitialises an event, for old code; it does nothing during a dispatch. */
  initEvent(type: string, ...[bubbles, cancelable]: [bubbles?: boolean, cancelable?: boolean]): void {
    if (arguments.length === 0) throw new TypeError("An Event needs a type");
    const state = this.#state;
    const text = `${type}`;
    if (state.dispatching) return;
    const flags = { bubbles: Boolean(bubbles), cancelable: Boolean(cancelable) };
    const fresh = { target: null, canceled: false, propagationStopped: false, immediateStopped: false };
    Object.assign(state, { type: text, isTrusted: false, ...flags, ...fresh });
  }

  composedPath(): WebEventTarget[] {
    const { currentTarget } = this.#state;
    return currentTarget === null ? [] : [currentTarget];
  }

  preventDefault(): void {
    if (this.#state.cancelable && !this.#state.inPassiveListener) this.#state.canceled = true;
  }

  stopPropagation(): void {
    this.#state.propagationStopped = true;
  }

  stopImmediatePropagation(): void {
    this.#state.propagationStopped = true;
    this.#state.immediateStopped = true;
  }
}

/** An event with a custom value. */
export class CustomEvent extends Event {
  readonly #detail: unknown;

  static {
    describeInterface(this, "CustomEvent");
  }

  constructor(type: string, init: (WebEventInit & { readonly detail?: unknown }) | null = null) {
    if (arguments.length === 0) throw new TypeError("A CustomEvent needs a type");
    super(type, init);
    this.#detail = init?.detail ?? null;
  }

  get detail(): unknown {
    return this.#detail;
  }
}

/** The state of an event; `undefined` if the object is not an event. */
export function eventState(event: object): EventState | undefined {
  return readState(event);
}

/** An event of the realm's own. */
export function trusted<T extends WebEvent>(event: T): T {
  const state = readState(event);
  if (state !== undefined) state.isTrusted = true;
  return event;
}

function initialState(type: string, init: WebEventInit | null): EventState {
  return {
    type,
    bubbles: Boolean(init?.bubbles),
    cancelable: Boolean(init?.cancelable),
    composed: Boolean(init?.composed),
    timeStamp: Date.now(),
    target: null,
    currentTarget: null,
    dispatching: false,
    canceled: false,
    propagationStopped: false,
    immediateStopped: false,
    inPassiveListener: false,
    isTrusted: false,
  };
}
