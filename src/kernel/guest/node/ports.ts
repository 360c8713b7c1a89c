import type { NodeModule } from "./inner/library.ts";
import { type Handler, Handlers, MessageEvent } from "./web-events.ts";

/** The globals `MessageChannel` and `MessagePort`: both ports are the instance's own. */

const SECRET = Symbol("port");

class MessagePort extends EventTarget {
  #other: MessagePort | null = null;
  /** Messages without a reader yet. */
  readonly #waiting: unknown[] = [];
  #isStarted = false;
  readonly #handlers = new Handlers(this);
  readonly #listeners = new Map<unknown, (event: unknown) => void>();

  constructor(secret?: unknown) {
    if (secret !== SECRET) throw new TypeError("Illegal constructor");
    super();
  }

  static pair(): readonly [MessagePort, MessagePort] {
    const [one, other] = [new MessagePort(SECRET), new MessagePort(SECRET)];
    one.#other = other;
    other.#other = one;
    return [one, other];
  }

  get onmessage(): Handler {
    return this.#handlers.get("message");
  }

  set onmessage(handler: Handler) {
    this.#handlers.set("message", handler);
    this.start();
  }

  postMessage(message: unknown): void {
    const copy: unknown = structuredClone(message);
    if (this.#other !== null) this.#other.#take(copy);
  }

  start(): void {
    this.#isStarted = true;
    for (const message of this.#waiting.splice(0)) this.#take(message);
  }

  close(): void {
    const other = this.#other;
    this.#other = null;
    if (other !== null) other.#other = null;
  }

  #take(message: unknown): void {
    if (!this.#isStarted) this.#waiting.push(message);
    else setTimeout(() => this.dispatchEvent(new MessageEvent("message", { data: message })), 0);
  }

  on(type: string, listener: (value: unknown) => unknown): this {
    const heard = (event: unknown): void => void listener((event as MessageEvent).data);
    this.#listeners.set(listener, heard);
    this.addEventListener(type, heard);
    if (type === "message") this.start();
    return this;
  }

  once(type: string, listener: (value: unknown) => unknown): this {
    const heard = (value: unknown): void => {
      this.off(type, heard);
      listener(value);
    };
    return this.on(type, heard);
  }

  off(type: string, listener: unknown): this {
    const heard = this.#listeners.get(listener);
    if (heard !== undefined) this.removeEventListener(type, heard);
    this.#listeners.delete(listener);
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}

class MessageChannel {
  readonly port1: MessagePort;
  readonly port2: MessagePort;

  constructor() {
    const [one, other] = MessagePort.pair();
    this.port1 = one;
    this.port2 = other;
  }
}

export const shared: NodeModule = { MessageChannel, MessagePort };
