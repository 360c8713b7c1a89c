import type { Socket } from "node:net";
import type { Capability } from "../../src/kernel/broker/capabilities/capability.ts";
import type { FromThread, ThreadSettings, ToThread } from "../../src/kernel/broker/thread/messages.ts";
import { PipeServer, type PipeSocket } from "../../src/kernel/broker/thread/pipe-server.ts";
import type { ServerListener, StartServer } from "../../src/kernel/broker/thread/start.ts";
import { ThreadServer } from "../../src/kernel/broker/thread/thread-server.ts";
import { SimPipe, SimPort } from "./pipe.ts";
import { SimThread, type World } from "./world.ts";

const PATH = "broker";

/** Broker threads of a simulation, one after the other. */
export class SimBrokers {
  readonly living = new Set<SimBroker>();
  readonly #world: World;
  readonly #capabilities: (broker: SimBroker) => readonly Capability[];
  /** The thread of the engine. */
  readonly main: SimThread;
  #started = 0;

  /** Whether one has ended, which the engine hears of later. */
  hasFallen = false;

  constructor(world: World, capabilities: (broker: SimBroker) => readonly Capability[], main = world.main) {
    this.#world = world;
    this.main = main;
    this.#capabilities = capabilities;
  }

  readonly start: StartServer = (_place, settings, listener) => {
    const broker = new SimBroker(this.#world, ++this.#started, settings, listener, this, this.#capabilities);
    this.living.add(broker);
    return broker.server;
  };
}

/** A broker thread: the product's `ThreadServer` and `PipeServer`, and ports and sockets that end with it. */
export class SimBroker {
  readonly thread: SimThread;
  readonly server: ReturnType<StartServer>;
  #threadServer: ThreadServer | null = null;
  readonly #world: World;
  readonly #brokers: SimBrokers;
  readonly #pipes = new PipeServer();
  readonly #sockets = new Set<SimSocket>();
  readonly #listener: ServerListener;
  #early: ToThread[] = [];
  #isDead = false;

  constructor(
    world: World,
    number: number,
    settings: ThreadSettings,
    listener: ServerListener,
    brokers: SimBrokers,
    capabilities: (broker: SimBroker) => readonly Capability[],
  ) {
    const thread = new SimThread(`broker ${number}`);
    this.thread = thread;
    this.#world = world;
    this.#brokers = brokers;
    this.#listener = listener;
    const toMain = new SimPort<readonly FromThread[]>(world, "broker:", brokers.main, (messages) => {
      if (!this.#isHeard) return;
      listener.onMessages(messages);
    });
    const toThread = new SimPort<readonly ToThread[]>(world, "main:", thread, (messages) => {
      if (this.#threadServer === null) this.#early.push(...messages);
      else this.#threadServer.receive(messages);
    });
    const port = {
      onMessage: () => undefined,
      post: (messages: unknown) => toMain.post(messages as readonly FromThread[]),
      close: () => this.end(),
    };
    world.later(thread, world.random.between(1, 20), "starts", () => {
      port.post([{ kind: "listening", path: PATH }]);
      const parts = { capabilities: capabilities(this), host: settings.host, modules: new Map() };
      this.#threadServer = new ThreadServer(port, () => parts, this.#pipes);
      this.#threadServer.receive(this.#early);
      this.#early = [];
    });
    this.server = {
      post: (messages) => toThread.post(messages),
      connect: () => this.#connect() as unknown as Socket,
      terminate: () => {
        this.end();
        return Promise.resolve();
      },
    };
  }

  get openCalls(): number {
    return this.#threadServer?.openCalls ?? 0;
  }

  /** Whether the engine hears what it has said. */
  #isHeard = true;

  #connect(): SimSocket {
    const socket = new SimSocket(this.#world, this.thread);
    this.#sockets.add(socket);
    if (this.#isDead) socket.breakOff();
    this.#world.later(this.thread, 0.05, "", () => this.#pipes.accept(socket.accepted));
    return socket;
  }

  /** The thread ends now; the engine hears of it later. */
  end(): void {
    if (this.#isDead) return;
    this.#isDead = true;
    this.#brokers.hasFallen = true;
    this.#brokers.living.delete(this);
    const world = this.#world;
    if (world.trace !== null) world.note(`${this.thread.name} ends`);
    this.thread.kill();
    for (const socket of this.#sockets) socket.breakOff();
    world.later(this.#brokers.main, world.random.between(0.6, 3), `${this.thread.name} has ended`, () => {
      this.#isHeard = false;
      this.#listener.onEnd(new Error("it ended"));
    });
  }
}

type Hear = (chunk: Buffer) => void;

/** A worker's connection to a broker. */
export class SimSocket {
  /** The broker's end. */
  readonly accepted: PipeSocket;
  readonly #world: World;
  readonly #up: SimPipe;
  #down: SimPipe | null = null;
  #isOver = false;

  constructor(world: World, broker: SimThread) {
    this.#world = world;
    let onData: Hear = () => undefined;
    let onClose: () => void = () => undefined;
    this.#up = new SimPipe(world, "asks:", {
      thread: broker,
      onText: (text) => onData(Buffer.from(text)),
      onClose: () => onClose(),
    });
    this.accepted = {
      on: (event: string, listener: unknown) => {
        if (event === "data") onData = listener as Hear;
        if (event === "close") onClose = listener as () => void;
      },
      write: (text: unknown) => {
        this.#down?.write(String(text));
        return true;
      },
      destroy: () => {
        this.#isOver = true;
        this.#up.close();
        this.#down?.end();
        world.later(broker, 0.01, "", () => onClose());
        return this.accepted as Socket;
      },
    } as PipeSocket;
  }

  on(): void {}
  pause(): void {}
  /** Closes the end of the process that gave it away: the worker has another one. */
  destroy(): void {}

  write(text: string): void {
    this.#up.write(text);
  }

  /** The worker hears. */
  serve(thread: SimThread, end: { onText(text: string): void; onClose(): void }): void {
    this.#down = new SimPipe(this.#world, "answers:", { thread, ...end });
    if (this.#isOver) this.#down.end();
  }

  /** The worker is gone. */
  end(isTorn: boolean): void {
    this.#up.end(isTorn);
    this.#down?.close();
  }

  /** The broker is gone. */
  breakOff(): void {
    this.#isOver = true;
    this.#up.close();
    this.#down?.end();
  }
}
