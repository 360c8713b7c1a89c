import { randomBytes } from "node:crypto";
import { MessageChannel } from "node:worker_threads";
import type { AskPipe, AskPipeListener, AskPipes, ConnectedPipe } from "./ask-pipe.ts";
import type { FromThread, ToThread } from "./messages.ts";
import type { Outbox } from "./outbox.ts";
import type { BrokerPlace, StartedServer } from "./start.ts";

/** A start of the broker, as far as its pipes need it. */
interface PipedRun {
  readonly place: BrokerPlace;
  readonly isDead: boolean;
  readonly outbox: Outbox<ToThread>;
  readonly server: StartedServer;
}

let lastNumber = 0;

/** Pipes of workers to one start of the broker. Numbers are unique in all starts. */
export class RunPipes implements Omit<AskPipes, "areWanted"> {
  readonly #run: PipedRun;
  readonly #pipes = new Map<number, OpenedPipe>();
  readonly #ready = Promise.withResolvers<void>();
  /** The name by which the broker can be reached. */
  #path: string | null = null;

  constructor(run: PipedRun) {
    this.#run = run;
  }

  ready(): Promise<void> {
    return this.#ready.promise;
  }

  get isListening(): boolean {
    return this.#path !== null;
  }

  connect(): ConnectedPipe | null {
    if (this.#path === null || this.#run.isDead) return null;
    const pipe = this.#open();
    const hello = randomBytes(16).toString("hex");
    this.#post({ kind: "pipe", pipe: pipe.number, end: hello });
    const socket = this.#run.server.connect(this.#path);
    socket.on("error", () => undefined);
    socket.pause();
    return { pipe, socket, hello };
  }

  channel(): ReturnType<AskPipes["channel"]> {
    if (this.#run.place === "process" || this.#run.isDead) return null;
    const pipe = this.#open();
    const { port1, port2 } = new MessageChannel();
    this.#run.outbox.flush();
    this.#run.server.post([{ kind: "pipe", pipe: pipe.number, end: port1 }], [port1]);
    return { pipe, port: port2 };
  }

  receive(message: Extract<FromThread, { readonly kind: "listening" | "who" | "diverged" | "broken" }>): void {
    switch (message.kind) {
      case "listening":
        this.#path = message.path;
        return this.#ready.resolve();
      case "who": {
        const pipe = this.#pipes.get(message.pipe);
        if (pipe === undefined) this.#run.outbox.push({ ...message, kind: "gone" });
        else pipe.listener?.onWho(message.call, message.attempt);
        return;
      }
      case "diverged":
        return this.#pipes.get(message.pipe)?.listener?.onDiverged(message.call, message.attempt, message.message);
      case "broken":
        return this.#pipes.get(message.pipe)?.listener?.onBroken(new Error(message.reason));
    }
  }

  /** Called when the broker has ended. */
  close(): void {
    this.#path = null;
    this.#pipes.clear();
    this.#ready.resolve();
  }

  #open(): OpenedPipe {
    const number = ++lastNumber;
    const pipe = new OpenedPipe(number, this.#run, () => this.#pipes.delete(number));
    this.#pipes.set(number, pipe);
    return pipe;
  }

  /** Posts at once, so that the broker expects the pipe before it connects. */
  #post(message: ToThread): void {
    this.#run.outbox.push(message);
    this.#run.outbox.flush();
  }
}

class OpenedPipe implements AskPipe {
  readonly number: number;
  listener: AskPipeListener | null = null;
  readonly #run: PipedRun;
  readonly #onClose: () => void;

  constructor(number: number, run: PipedRun, onClose: () => void) {
    this.number = number;
    this.#run = run;
    this.#onClose = onClose;
  }

  get openNumber(): number | null {
    return this.#run.isDead ? null : this.number;
  }

  listen(listener: AskPipeListener): void {
    this.listener = listener;
  }

  refuse(call: number, attempt: number): void {
    this.#run.outbox.push({ kind: "gone", call, pipe: this.number, attempt });
  }

  close(): void {
    this.#onClose();
  }
}
