import type { FromThread, ToThread } from "./messages.ts";
import { Outbox } from "./outbox.ts";
import type { HostSession } from "./host-session.ts";
import { RunPipes } from "./run-pipes.ts";
import { type BrokerPlace, type StartedServer, type StartServer, startServer } from "./start.ts";
import type { ThreadSettings } from "./messages.ts";

export interface ThreadRunListener {
  readonly onMessage: (run: ThreadRun, message: FromThread) => void;
  readonly onDeath: (run: ThreadRun, error: Error) => void;
}

/** One start of the broker's thread or process. */
export class ThreadRun {
  readonly place: BrokerPlace;
  readonly server: StartedServer;
  readonly outbox: Outbox<ToThread>;
  /** Sessions of calls, by the calls' numbers. */
  readonly sessions = new Map<number, HostSession>();
  /** Estimated time until a further request of a tenant would run, in milliseconds, as the thread reported it. */
  readonly backlogs = new Map<string, number>();
  /** Questions of packages' capabilities, by their requests. */
  readonly questions = new Map<number, AbortController>();
  readonly ended = Promise.withResolvers<void>();
  readonly startedMs = performance.now();
  readonly pipes = new RunPipes(this);
  isDead = false;
  /** Numbers of the policies and tools that it knows. They are forgotten when nothing here refers to them any more. */
  readonly #told = new WeakMap<object, number>();
  readonly #unused = new FinalizationRegistry<Omit<Extract<ToThread, { readonly kind: "forget" }>, "kind">>((told) =>
    this.outbox.pushLater({ kind: "forget", ...told }),
  );
  #lastNumber = 0;

  constructor(
    place: BrokerPlace,
    settings: ThreadSettings,
    { onMessage, onDeath }: ThreadRunListener,
    start: StartServer = startServer,
  ) {
    this.place = place;
    this.server = start(place, settings, {
      onMessages: (messages) => messages.forEach((message) => onMessage(this, message)),
      onEnd: (error) => onDeath(this, error),
    });
    this.outbox = new Outbox((messages) => this.server.post(messages));
  }

  /** The number of a policy or a tool, which is sent before the first message with that number. */
  numberOf(what: "policy" | "tool", value: object, tell: (number: number) => ToThread): number {
    const told = this.#told.get(value);
    if (told !== undefined) return told;
    const number = ++this.#lastNumber;
    this.#told.set(value, number);
    this.#unused.register(value, { what, number });
    this.outbox.push(tell(number));
    return number;
  }
}
