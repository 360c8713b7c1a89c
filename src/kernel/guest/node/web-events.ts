import { describeInterface } from "../web/web-interface.ts";

/** Events of `WebSocket`, `EventSource` and `MessagePort`, and handlers such as `onmessage`. */

interface MessageInit {
  readonly data?: unknown;
  readonly origin?: string;
  readonly lastEventId?: string;
  readonly source?: unknown;
  readonly ports?: readonly unknown[];
}

export class MessageEvent extends Event {
  readonly #init: MessageInit;

  static {
    describeInterface(this, "MessageEvent");
  }

  constructor(type: string, init: MessageInit = {}) {
    super(type);
    this.#init = init;
  }

  get data(): unknown {
    return this.#init.data ?? null;
  }

  get origin(): string {
    return this.#init.origin ?? "";
  }

  get lastEventId(): string {
    return this.#init.lastEventId ?? "";
  }

  get source(): unknown {
    return this.#init.source ?? null;
  }

  get ports(): readonly unknown[] {
    return this.#init.ports ?? [];
  }
}

/** The end of a connection. */
export interface Closing {
  readonly code: number;
  readonly reason: string;
  readonly wasClean: boolean;
}

export class CloseEvent extends Event {
  readonly #closing: Partial<Closing>;

  static {
    describeInterface(this, "CloseEvent");
  }

  constructor(type: string, closing: Partial<Closing> = {}) {
    super(type);
    this.#closing = closing;
  }

  get code(): number {
    return this.#closing.code ?? 0;
  }

  get reason(): string {
    return this.#closing.reason ?? "";
  }

  get wasClean(): boolean {
    return this.#closing.wasClean ?? false;
  }
}

export class ErrorEvent extends Event {
  readonly #error: unknown;

  static {
    describeInterface(this, "ErrorEvent");
  }

  constructor(type: string, { error }: { readonly error?: unknown } = {}) {
    super(type);
    this.#error = error;
  }

  get message(): string {
    return this.#error instanceof Error ? this.#error.message : "";
  }

  get error(): unknown {
    return this.#error ?? null;
  }
}

export type Handler = ((this: unknown, event: Event) => unknown) | null;

/** The handlers of one target, such as `onmessage`: each is a listener from its first assignment on. */
export class Handlers {
  readonly #target: EventTarget;
  readonly #handlers = new Map<string, Handler>();

  constructor(target: EventTarget) {
    this.#target = target;
  }

  get(type: string): Handler {
    return this.#handlers.get(type) ?? null;
  }

  set(type: string, handler: unknown): void {
    const target = this.#target;
    if (!this.#handlers.has(type)) {
      target.addEventListener(type, (event) => this.get(type)?.call(target, event as Event));
    }
    this.#handlers.set(type, typeof handler === "function" ? (handler as Handler) : null);
  }
}

/** Defines the properties of an interface that hold its handlers, such as `onmessage`. Call it in the class's static block. */
export function defineHandlers(
  { prototype }: { readonly prototype: object },
  types: readonly string[],
  read: (target: object) => Handlers,
): void {
  for (const type of types) {
    const accessors = {
      get [`on${type}`](): Handler {
        return read(this).get(type);
      },
      set [`on${type}`](handler: unknown) {
        read(this).set(type, handler);
      },
    };
    Object.defineProperties(prototype, Object.getOwnPropertyDescriptors(accessors));
  }
}
