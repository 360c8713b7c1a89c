import { decodeParts, decodeToHost, encodeToWorker, ProtocolError } from "../../base/protocol/wire.ts";
import { LineReader, MESSAGE_MAX } from "../../base/protocol/line-reader.ts";
import type { AskPipe } from "../../broker/thread/ask-pipe.ts";
import { EventLoopSpin } from "../../base/event-loop-spin.ts";
import { SpinTime } from "../../base/spin-time.ts";
import type { RunLimits, ToHost, ToWorker } from "../../base/protocol/messages.ts";
import { homeOf, type ToolScript } from "../../base/protocol/script.ts";

/** The tool whose code runs, and the tenant that called it. */
export interface CallOwner {
  readonly script: ToolScript;
  /** Empty for calls without a tenant, `null` for an inspection. */
  readonly tenant: string | null;
}

/** Work that keeps a worker busy until its turn has ended. */
export interface WorkItem extends CallOwner {
  /** Its numbers: of calls, or of an inspection. */
  readonly runs: readonly number[];
  readonly size: number;
  /** Expected duration of its turn, in milliseconds. */
  readonly expectedMs: number;
  /** Whether it is slow or its duration unknown: then no work is queued behind it. */
  readonly isLong: boolean;
  readonly isSlow: boolean;
  /** Called when its turn has ended, or its worker gets no more work. May be called again. */
  onEnd?(): void;
}

/** The host's end of a link to one worker thread. */
export interface Transport {
  write(text: string): void;
  onText(handler: (text: string) => void): void;
  close(): void;
}

/** Receives a connection's messages. */
export interface WorkerConnectionListener {
  onMessage(connection: WorkerConnection, message: ToHost): void;
  /** All messages that arrived together have been delivered. */
  onPause(): void;
  /** The broker does not know a call that made a capability call by the worker's pipe. */
  onWho(connection: WorkerConnection, callNumber: number, attempt: number): void;
  /** That attempt of a call does not repeat the capability calls of an earlier one. */
  onDiverged(connection: WorkerConnection, callNumber: number, attempt: number, message: string): void;
  /** The worker sent an invalid message and is no longer trusted. */
  onBroken(connection: WorkerConnection, error: Error): void;
}

/** Maximum number of remembered warm isolates. */
const WARM_MAX = 1_024;
/**
 * Expected duration of the work sent ahead to a worker, in milliseconds: calls that wait in the host can still go to
 * another one.
 */
const AHEAD_MS = 2;
/** Minimum expected wait at a busy worker, in milliseconds, so that idle workers are preferred. */
const LEAST_MS = 0.1;
/** Duration from which a running turn counts as slow, regardless of its expected duration, in milliseconds. */
const SLOW_TURN_MS = 25;

/**
 * Longest line of a worker, in characters, unless its calls may send longer ones: outcomes of a batch, or the
 * description of a module.
 */
const LINE_MAX = 32 * 1024 * 1024;
/** Longest part of a line besides an output or arguments: outcomes of others, and a failure. */
const REST_MAX = 8 * 1024 * 1024;
/** A character of a log may take six in JSON. */
const ESCAPED_MAX = 6;
/** Maximum number of lines between two messages of the host. Calls have far fewer lines of logs and requests. */
const LINES_MAX = 500_000;

/** One worker thread as the host sees it. Messages of one turn of the event loop are one write. */
export class WorkerConnection {
  readonly worker: number;
  /** The worker's pipe to the broker; `null` if it has none. */
  readonly asks: AskPipe | null;
  /** Owners of calls still running after their first turn, by call number. */
  readonly going = new Map<number, CallOwner>();
  readonly #transport: Transport;
  #listener: WorkerConnectionListener;
  readonly #loaded = new Set<string>();
  readonly #warm = new Set<string>();
  /** Work with an unfinished turn, oldest first, and its numbers. A `Map` would keep ended work: see `CallTable`. */
  readonly #items: WorkItem[] = [];
  readonly #numbers: number[] = [];
  #expectedMs = 0;
  /** Start of the oldest item's turn. */
  #sinceMs = 0;
  #outbox = "";
  readonly #spin: EventLoopSpin;
  /** Number of lines since the last message of the host. */
  #lines = 0;
  readonly #reader = new LineReader(LINE_MAX);
  /** Resolves with the worker's first message, which shows that it runs. */
  readonly opened: Promise<void>;
  /** Number of calls and inspections sent so far. */
  served = 0;

  /** `spinMs`: time for which the host does not sleep after a message to the worker. */
  constructor(
    worker: number,
    channel: Transport,
    listener: WorkerConnectionListener,
    spinMs = 0,
    asks: AskPipe | null = null,
  ) {
    this.worker = worker;
    this.asks = asks;
    asks?.listen({
      onWho: (callNumber, attempt) => this.#listener.onWho(this, callNumber, attempt),
      onDiverged: (callNumber, attempt, message) => this.#listener.onDiverged(this, callNumber, attempt, message),
      onBroken: (error) => this.#listener.onBroken(this, error),
    });
    this.#transport = channel;
    this.#spin = new EventLoopSpin(new SpinTime(spinMs));
    this.#listener = listener;
    const { promise: opened, resolve: open } = Promise.withResolvers<void>();
    this.opened = opened;
    const receive = (message: ToHost): void => {
      this.#lines += message.kind === "log" ? message.lines.length : 1;
      if (this.#lines > LINES_MAX) throw new ProtocolError("more messages than its calls can have");
      this.#listener.onMessage(this, message);
    };
    const onLine = (line: string): void => receive(decodeToHost(line));
    const onParts = (parts: readonly string[]): void => receive(decodeParts(parts));
    channel.onText((text) => {
      open();
      try {
        this.#reader.push(text, onLine, onParts);
        this.#listener.onPause();
      } catch (error) {
        this.#listener.onBroken(this, error instanceof Error ? error : new Error(String(error)));
      }
    });
  }

  /** Gives its messages to another listener from now on. */
  listen(listener: WorkerConnectionListener): void {
    this.#listener = listener;
  }

  /** Adds work that takes a turn and keeps this number until `end`. It is sent with the next `flush`. */
  begin(callNumber: number, load: WorkItem, message: ToWorker, nowMs: number): void {
    if (this.#items.length === 0) this.#sinceMs = nowMs;
    this.#items.push(load);
    this.#numbers.push(callNumber);
    if (message.kind === "run") this.#admitLines(message.terms);
    this.#expectedMs += load.expectedMs;
    this.served += load.size;
    this.#outbox += encodeToWorker(message);
  }

  /** Lets the worker send lines as long as its calls need. */
  #admitLines({ outputBytes, capabilityBytes, logBytes }: RunLimits): void {
    const most = Math.max(outputBytes, capabilityBytes) + ESCAPED_MAX * logBytes + REST_MAX;
    if (most > this.#reader.maxLength) this.#reader.maxLength = Math.min(most, MESSAGE_MAX);
  }

  /** The unfinished work with that number. */
  item(callNumber: number): WorkItem | undefined {
    return this.#items[this.#numbers.indexOf(callNumber)];
  }

  end(callNumber: number, nowMs: number): void {
    const at = this.#numbers.indexOf(callNumber);
    const load = this.#items[at];
    if (load === undefined) return;
    if (at === this.#items.length - 1) {
      // Keeps the arrays' storage, in contrast to `splice`.
      this.#items.pop();
      this.#numbers.pop();
    } else {
      this.#items.splice(at, 1);
      this.#numbers.splice(at, 1);
    }
    load.onEnd?.();
    this.#expectedMs = this.#items.length === 0 ? 0 : this.#expectedMs - load.expectedMs;
    this.#sinceMs = nowMs;
  }

  /** The owner of a call that may have a turn, even after the call was settled. */
  ownerOf(callNumber: number): CallOwner | undefined {
    const going = this.going.get(callNumber);
    if (going !== undefined) return going;
    for (const load of this.#items) if (load.runs.includes(callNumber)) return load;
    return undefined;
  }

  /** Ends the worker's supply of work: its remaining work delays no other. */
  retire(): void {
    for (const load of this.#items) load.onEnd?.();
  }

  /** Whether the worker has no work left. */
  get isIdle(): boolean {
    return this.#items.length === 0 && this.going.size === 0;
  }

  /**
   * Drops all work. Returns the numbers of unfinished calls: those that have had a turn or have it now, and those
   * queued behind them.
   */
  abandon(): { readonly started: readonly number[]; readonly waiting: readonly number[] } {
    const [first, ...others] = this.#items.splice(0);
    const started = [...this.going.keys(), ...(first?.runs ?? [])];
    this.#numbers.length = 0;
    this.going.clear();
    first?.onEnd?.();
    for (const load of others) load.onEnd?.();
    return { started, waiting: others.flatMap(({ runs }) => runs) };
  }

  /** Expected wait of work sent now: the expected time of the work ahead, or its elapsed time if that is longer. */
  waitMs(nowMs: number): number {
    return this.#items.length === 0 ? 0 : Math.max(LEAST_MS, this.#expectedMs, nowMs - this.#sinceMs);
  }

  /** Whether more work would start soon: long work goes only to an idle worker, and no work is queued behind it. */
  hasRoom(forLong: boolean): boolean {
    if (this.#items.length === 0) return true;
    if (forLong || this.#expectedMs >= AHEAD_MS) return false;
    for (const load of this.#items) if (load.isLong) return false;
    return true;
  }

  isSlow(nowMs: number): boolean {
    if (this.#items.length === 0) return false;
    if (nowMs - this.#sinceMs > SLOW_TURN_MS) return true;
    for (const load of this.#items) if (load.isSlow) return true;
    return false;
  }

  send(message: ToWorker): void {
    if (this.#outbox === "") process.nextTick(() => this.flush());
    this.#outbox += encodeToWorker(message);
  }

  flush(): void {
    if (this.#outbox === "") return;
    this.#lines = 0;
    const text = this.#outbox;
    this.#outbox = "";
    this.#transport.write(text);
    this.#spin.extend();
  }

  /** Sends a tool's script before its first call. `home`: the name of the isolates in which that runs. */
  upload(script: ToolScript, home: string): void {
    if (!this.#loaded.has(script.key)) {
      this.#loaded.add(script.key);
      this.send({ kind: "load", script });
    }
    this.recordWarm(home);
  }

  /** Records that the worker has an isolate of that name. */
  recordWarm(home: string): void {
    if (this.#warm.has(home)) return;
    this.#warm.add(home);
    if (this.#warm.size <= WARM_MAX) return;
    for (const oldest of this.#warm) {
      this.#warm.delete(oldest);
      return;
    }
  }

  unload(key: string): void {
    if (this.#loaded.delete(key)) this.send({ kind: "unload", key });
    for (const warm of this.#warm) if (warm.startsWith(homeOf(key, ""))) this.#warm.delete(warm);
  }

  /** Whether the worker has run calls in an isolate of that name, and probably has one ready. */
  isWarm(home: string): boolean {
    return this.#warm.has(home);
  }

  close(): void {
    this.asks?.close();
    this.#transport.close();
  }
}
