import { decodeToHost, encodeToWorker, LineReader, MESSAGE_MAX } from "../../base/protocol/wire.ts";
import type { ToHost, ToWorker } from "../../base/protocol/messages.ts";
import type { ToolScript } from "../../base/protocol/script.ts";

/** The tool whose code runs, and the tenant that called it. */
export interface CallOwner {
  readonly script: ToolScript;
  /** Empty for calls without one, and `null` for an inspection. */
  readonly tenant: string | null;
}

/** Something that keeps a worker busy until its turn has ended. */
export interface WorkItem extends CallOwner {
  /** The numbers of what is in it: of calls, or of an inspection. */
  readonly runs: readonly number[];
  readonly size: number;
  /** How long its turn is expected to take, in milliseconds. */
  readonly expectedMs: number;
  /** Whether it is known to take long, or nothing is known of it: then nothing is put behind it. */
  readonly isLong: boolean;
  readonly isSlow: boolean;
}

/** The host's end of a link to one worker thread. */
export interface Transport {
  write(text: string): void;
  onText(handler: (text: string) => void): void;
  close(): void;
}

/** Takes a connection's messages. */
export interface WorkerConnectionListener {
  onMessage(connection: WorkerConnection, message: ToHost): void;
  /** All messages that arrived together have been handed on. */
  onPause(): void;
  /** The worker sent an invalid message and cannot be trusted any more. */
  onBroken(connection: WorkerConnection, error: Error): void;
}

/** Number of tools remembered as warm. */
const WARM_MAX = 1_024;
/** Work sent ahead to a worker, in milliseconds: calls that wait in the host can still go to another. */
const AHEAD_MS = 2;
/** Expected time of an unknown turn, so that an idle worker comes before a busy one. */
const LEAST_MS = 0.1;
/** A turn that lasts longer than this is slow, whatever was expected. */
const SLOW_TURN_MS = 25;

/** One worker thread as the host sees it. What is sent within one turn of the event loop goes out as one write. */
export class WorkerConnection {
  readonly worker: number;
  /** Owners of calls still running after their first turn, by call number. */
  readonly going = new Map<number, CallOwner>();
  readonly #transport: Transport;
  readonly #loaded = new Set<string>();
  readonly #warm = new Set<string>();
  /** Work whose turn has not ended, by number, oldest first. */
  readonly #items = new Map<number, WorkItem>();
  #expectedMs = 0;
  /** When the turn of the oldest of them began. */
  #sinceMs = 0;
  #outbox = "";
  /** Resolves with the worker's first message: then it runs. */
  readonly opened: Promise<void>;
  /** Calls and inspections that were sent so far. */
  served = 0;

  constructor(worker: number, channel: Transport, listener: WorkerConnectionListener) {
    this.worker = worker;
    this.#transport = channel;
    const reader = new LineReader(MESSAGE_MAX);
    const { promise: opened, resolve: open } = Promise.withResolvers<void>();
    this.opened = opened;
    channel.onText((text) => {
      open();
      try {
        reader.push(text, (line) => listener.onMessage(this, decodeToHost(line)));
        listener.onPause();
      } catch (error) {
        listener.onBroken(this, error instanceof Error ? error : new Error(String(error)));
      }
    });
  }

  /** Sends work that takes a turn, which has this number until `end`. */
  begin(run: number, load: WorkItem, message: ToWorker, nowMs: number): void {
    if (this.#items.size === 0) this.#sinceMs = nowMs;
    this.#items.set(run, load);
    this.#expectedMs += load.expectedMs;
    this.served += load.size;
    this.send(message);
  }

  /** The turn of that number, while it has not ended. */
  item(run: number): WorkItem | undefined {
    return this.#items.get(run);
  }

  end(run: number, nowMs: number): void {
    const load = this.#items.get(run);
    if (load === undefined) return;
    this.#items.delete(run);
    this.#expectedMs = this.#items.size === 0 ? 0 : this.#expectedMs - load.expectedMs;
    this.#sinceMs = nowMs;
  }

  /** The owner of a call that may have a turn, whether anybody still waits for it or not. */
  ownerOf(run: number): CallOwner | undefined {
    const going = this.going.get(run);
    if (going !== undefined) return going;
    for (const load of this.#items.values()) if (load.runs.includes(run)) return load;
    return undefined;
  }

  /** Whether the worker has no work left. */
  get isIdle(): boolean {
    return this.#items.size === 0 && this.going.size === 0;
  }

  /**
   * Gives up everything. Answers the numbers of what has not ended: what has had a turn, or has it now, and what waited
   * for the turns before it.
   */
  abandon(): { readonly started: readonly number[]; readonly waiting: readonly number[] } {
    const [first, ...others] = this.#items.values();
    const started = [...this.going.keys(), ...(first?.runs ?? [])];
    this.#items.clear();
    this.going.clear();
    return { started, waiting: others.flatMap(({ runs }) => runs) };
  }

  /** Expected wait of work sent now: the expected time of what is ahead, or once that has passed, the time it has taken. */
  waitMs(nowMs: number): number {
    return this.#items.size === 0 ? 0 : Math.max(LEAST_MS, this.#expectedMs, nowMs - this.#sinceMs);
  }

  /** Whether more work would not wait long: long work goes only to an idle worker, and nothing waits behind it. */
  hasRoom(forLong: boolean): boolean {
    if (this.#items.size === 0) return true;
    if (forLong || this.#expectedMs >= AHEAD_MS) return false;
    for (const load of this.#items.values()) if (load.isLong) return false;
    return true;
  }

  isSlow(nowMs: number): boolean {
    if (this.#items.size === 0) return false;
    if (nowMs - this.#sinceMs > SLOW_TURN_MS) return true;
    for (const load of this.#items.values()) if (load.isSlow) return true;
    return false;
  }

  send(message: ToWorker): void {
    if (this.#outbox === "") process.nextTick(() => this.flush());
    this.#outbox += encodeToWorker(message);
  }

  flush(): void {
    if (this.#outbox === "") return;
    const text = this.#outbox;
    this.#outbox = "";
    this.#transport.write(text);
  }

  /** Sends a tool's script before the first call of it. */
  upload(script: ToolScript, tenant: string): void {
    if (!this.#loaded.has(script.key)) {
      this.#loaded.add(script.key);
      this.send({ kind: "load", script });
    }
    this.recordWarm(script.key, tenant);
  }

  /** Remembers that the worker has an isolate for the tool and tenant. */
  recordWarm(key: string, tenant: string): void {
    this.#warm.add(`${key} ${tenant}`);
    if (this.#warm.size <= WARM_MAX) return;
    for (const oldest of this.#warm) {
      this.#warm.delete(oldest);
      return;
    }
  }

  unload(key: string): void {
    if (this.#loaded.delete(key)) this.send({ kind: "unload", key });
    for (const warm of this.#warm) if (warm.startsWith(`${key} `)) this.#warm.delete(warm);
  }

  /** Whether the worker has run this tool for this tenant, and most likely has an isolate ready. */
  isWarm(key: string, tenant: string): boolean {
    return this.#warm.has(`${key} ${tenant}`);
  }

  close(): void {
    this.#transport.close();
  }
}
