import { Socket } from "node:net";
import { StringDecoder } from "node:string_decoder";
import { type MessagePort, receiveMessageOnPort } from "node:worker_threads";
import { EventLoopSpin } from "../../base/event-loop-spin.ts";
import { PortBell } from "../../base/protocol/port-bell.ts";
import { SpinTime } from "../../base/spin-time.ts";
import { LineReader, MESSAGE_MAX } from "../../base/protocol/line-reader.ts";
import { encodeToHost } from "../../base/protocol/wire.ts";
import type { ToHost } from "../../base/protocol/messages.ts";

/** The argument of a worker's task: its number, and its end of the link to the host. */
export interface ServeTask {
  readonly worker: number;
  readonly link:
    | {
        readonly kind: "port";
        readonly port: MessagePort;
        /** Of a `PortBell`, which the host rings with every message. */
        readonly bell: SharedArrayBuffer;
      }
    | { readonly kind: "pipe"; readonly fd: number };
  /** Its end of the pipe to the broker; `null` if capability calls go by the link to the host. */
  readonly broker: BrokerEnd | null;
}

/** A worker's end of its pipe to the broker: a port, or a descriptor with the word that identifies it to the broker. */
export type BrokerEnd =
  | { readonly kind: "port"; readonly port: MessagePort }
  | { readonly kind: "pipe"; readonly fd: number; readonly hello: string };

/** The receiver of a link's lines. */
export interface LinkListener {
  onLine(line: string): void;
  /** All arrived lines have been delivered. */
  onPause(): void;
  /** Whether it only waits for the host: then the thread may sleep without its event loop. */
  readonly isIdle: boolean;
}

/** A worker's end of its link to the host. */
export interface Link {
  /** Called before the first isolate: returns whether the host still wants isolates. */
  begin(): boolean;
  /** Called after the last isolate. */
  end(): void;
  /** Whether the process waits for `end`, before it ends. */
  readonly isHurried: boolean;
  send(text: string): void;
  receive(listener: LinkListener): void;
  /** Resolves when the host has closed the link. */
  readonly closed: Promise<void>;
}

/** `spinMs`: time after the last message for which the thread does not sleep. */
export function openLink(link: ServeTask["link"], spinMs: number): Link {
  switch (link.kind) {
    case "pipe":
      return pipeLink(link.fd, new EventLoopSpin(new SpinTime(spinMs)));
    case "port":
      return portLink(link.port, new PortBell(link.bell), new SpinTime(spinMs));
  }
}

/** The link to the broker. */
export function openBrokerLink(end: BrokerEnd, spinMs: number): Link {
  if (end.kind === "port") return brokerPortLink(end.port);
  const link = pipeLink(end.fd, new EventLoopSpin(new SpinTime(spinMs)));
  link.send(`${end.hello}\n`);
  return link;
}

/** A port to the broker: only running calls wait for it, and then the thread has its event loop. */
function brokerPortLink(port: MessagePort): Link {
  const reader = new LineReader(MESSAGE_MAX);
  return {
    begin: () => true,
    end: () => port.close(),
    isHurried: false,
    send: (text) => port.postMessage(text),
    receive: (listener) => {
      port.on("message", (text: string) => {
        reader.push(text, (line) => listener.onLine(line));
        listener.onPause();
      });
    },
    closed: new Promise((resolve) => void port.on("close", () => resolve())),
  };
}

/** One read for most messages: a message of several reads has to be joined. */
const READ_BYTES = 256 * 1024;

/** An inherited pipe: it reaches this thread without a hop through the process's main thread. */
function pipeLink(fd: number, spin: EventLoopSpin): Link {
  const reader = new LineReader(MESSAGE_MAX);
  const decoder = new StringDecoder("utf8");
  let listener: LinkListener | null = null;
  const onread = {
    // One buffer for all reads: a stream of strings would allocate one for each.
    buffer: Buffer.allocUnsafeSlow(READ_BYTES),
    callback: (length: number, buffer: Uint8Array) => {
      reader.push(decoder.write(buffer.subarray(0, length)), (line) => listener?.onLine(line));
      listener?.onPause();
      spin.extend();
      return true;
    },
  };
  const socket = new Socket({ fd, readable: true, writable: true, onread });
  // An error is followed by `close`, which resolves `closed`.
  socket.on("error", () => undefined);
  return {
    begin: () => true,
    end: () => undefined,
    isHurried: false,
    send: (text) => void socket.write(text),
    receive: (given) => {
      listener = given;
      socket.resume();
    },
    closed: new Promise((resolve) => void socket.on("close", () => resolve())),
  };
}

/** Maximum sleep without the event loop, in milliseconds: it delays timers by as much. */
const SLEEP_MS = 100;

/**
 * A message port. Waking an event loop takes longer than a short call, so an idle thread waits for the bell instead,
 * which the host rings with every message.
 */
function portLink(port: MessagePort, bell: PortBell, spin: SpinTime): Link {
  const reader = new LineReader(MESSAGE_MAX);
  let isOpen = true;
  let timer: NodeJS.Timeout | null = null;
  const sleep = (listener: LinkListener): void => {
    // Called by a message as well, while the timer is set: a timer that stayed would start a chain of its own.
    if (timer !== null) clearTimeout(timer);
    timer = null;
    for (let isRung = false; isOpen && listener.isIdle;) {
      const rung = bell.count;
      const received = receiveMessageOnPort(port) as { readonly message: string } | undefined;
      if (received !== undefined) take(listener, received.message);
      // The bell without a message means that the port is closed, which only the event loop reports.
      else if (isRung || !isRungAgain(bell, rung, spin)) break;
      isRung = received === undefined;
    }
    // Timers need the event loop at intervals.
    if (isOpen && listener.isIdle) timer ??= setTimeout(sleep, 1, listener);
  };
  const take = (listener: LinkListener, text: string): void => {
    reader.push(text, (line) => {
      if (!bell.isClosed) listener.onLine(line);
    });
    if (bell.isClosed) {
      isOpen = false;
      port.close();
      return;
    }
    listener.onPause();
    spin.extend();
  };
  return {
    begin: () => bell.begin(),
    end: () => bell.end(),
    get isHurried() {
      return bell.isHurried;
    },
    send: (text) => port.postMessage(text),
    receive: (listener) => {
      port.on("message", (text: string) => {
        take(listener, text);
        sleep(listener);
      });
    },
    closed: new Promise((resolve) => {
      port.on("close", () => {
        isOpen = false;
        resolve();
      });
    }),
  };
}

/** Number of looks at the bell between two at the clock. */
const LOOKS = 64;

/** Waits for the bell: looks at it again and again for a while, then sleeps. Returns whether it rang. */
function isRungAgain(bell: PortBell, rung: number, spin: SpinTime): boolean {
  while (spin.lookAgain()) {
    for (let look = 0; look < LOOKS; look++) if (bell.count !== rung) return true;
  }
  return bell.isRungSince(rung, SLEEP_MS);
}

/** Minimum delay of a message that waits for others, in milliseconds; its share of the turn's time; its maximum. */
const DELAY_MS = 0.05;
const DELAY_SHARE = 0.5;
const DELAY_MAX_MS = 1;

/** Times of the turn that a message comes from. */
interface TurnTimes {
  readonly startedMs: number;
  /** Time from which the delay of a message counts that is posted now. */
  readonly resultMs: number;
}

/** A worker's messages to its host, batched. */
export class WorkerOutbox {
  readonly #send: (text: string) => void;
  readonly #turns: TurnTimes;
  #text = "";
  #sinceMs = 0;
  #delayMs = DELAY_MS;

  constructor(send: (text: string) => void, turns: TurnTimes) {
    this.#send = send;
    this.#turns = turns;
  }

  /**
   * Sends a message with others. The delay of a turn's result counts from the turn's start: a host that gets it early
   * prepares the next turns during the following one. Within a turn, later messages wait longer, so that the many
   * requests of a program are not each sent alone.
   */
  post(message: ToHost): void {
    const nowMs = performance.now();
    if (this.#text === "") {
      const { resultMs, startedMs } = this.#turns;
      this.#sinceMs = resultMs;
      this.#delayMs = Math.min(DELAY_MAX_MS, Math.max(DELAY_MS, (resultMs - startedMs) * DELAY_SHARE));
    }
    this.#text += encodeToHost(message);
    if (nowMs - this.#sinceMs > this.#delayMs) this.flush();
  }

  /** Sends a message together with those of the turn that begins now. */
  add(message: ToHost): void {
    if (this.#text === "") {
      this.#sinceMs = performance.now();
      this.#delayMs = DELAY_MS;
    }
    this.#text += encodeToHost(message);
  }

  flush(): void {
    const text = this.#text;
    if (text === "") return;
    this.#text = "";
    this.#send(text);
  }
}
