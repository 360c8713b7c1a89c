import { checkFunction } from "./inner/errors.ts";
import { kept, type NodeModule } from "./inner/library.ts";

/** `node:diagnostics_channel`: channels belong to the instance. */

type Subscriber = (message: unknown, name: string | symbol) => void;

class Channel {
  readonly name: string | symbol;
  readonly #subscribers: Subscriber[] = [];

  constructor(name: string | symbol) {
    this.name = name;
  }

  get hasSubscribers(): boolean {
    return this.#subscribers.length > 0;
  }

  subscribe(subscriber: unknown): void {
    checkFunction(subscriber, "subscription");
    this.#subscribers.push(subscriber);
  }

  unsubscribe(subscriber: unknown): boolean {
    const at = this.#subscribers.indexOf(subscriber as Subscriber);
    if (at < 0) return false;
    this.#subscribers.splice(at, 1);
    return true;
  }

  publish(message: unknown): void {
    for (const subscriber of this.#subscribers.slice()) subscriber(message, this.name);
  }

  runStores(
    message: unknown,
    callback: (...args: never[]) => unknown,
    receiver?: unknown,
    ...args: readonly unknown[]
  ): unknown {
    this.publish(message);
    return Reflect.apply(callback, receiver, args);
  }

  bindStore(): void {}

  unbindStore(): boolean {
    return false;
  }
}

function channel(name: string | symbol): Channel {
  const channels = kept("channels", () => new Map<string | symbol, Channel>());
  const known = channels.get(name) ?? new Channel(name);
  channels.set(name, known);
  return known;
}

const EVENTS = ["start", "end", "asyncStart", "asyncEnd", "error"] as const;

function tracingChannel(name: string): object {
  const channels = Object.fromEntries(EVENTS.map((event) => [event, channel(`tracing:${name}:${event}`)]));
  const all = Object.values(channels);
  return {
    ...channels,
    get hasSubscribers() {
      return all.some((one) => one.hasSubscribers);
    },
    subscribe: (handlers: { [event: string]: unknown }) => {
      for (const event of EVENTS) if (handlers[event] !== undefined) channels[event]?.subscribe(handlers[event]);
    },
    unsubscribe: (handlers: { [event: string]: unknown }) =>
      EVENTS.every((event) => handlers[event] === undefined || channels[event]?.unsubscribe(handlers[event]) === true),
    traceSync: (
      callback: (...args: never[]) => unknown,
      _context?: unknown,
      receiver?: unknown,
      ...args: readonly unknown[]
    ): unknown => Reflect.apply(callback, receiver, args),
    tracePromise: (
      callback: (...args: never[]) => unknown,
      _context?: unknown,
      receiver?: unknown,
      ...args: readonly unknown[]
    ): unknown => Reflect.apply(callback, receiver, args),
    traceCallback: (
      callback: (...args: never[]) => unknown,
      _at?: number,
      _context?: unknown,
      receiver?: unknown,
      ...args: readonly unknown[]
    ): unknown => Reflect.apply(callback, receiver, args),
  };
}

export const shared: NodeModule = {
  Channel,
  channel,
  tracingChannel,
  hasSubscribers: (name: string | symbol) => channel(name).hasSubscribers,
  subscribe: (name: string | symbol, subscriber: unknown) => channel(name).subscribe(subscriber),
  unsubscribe: (name: string | symbol, subscriber: unknown) => channel(name).unsubscribe(subscriber),
};
