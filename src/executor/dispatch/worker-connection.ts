import { decodeToHost, encodeToWorker, LineReader, MESSAGE_MAX } from "../../base/protocol/wire.ts";
import type { ToHost, ToWorker } from "../../base/protocol/messages.ts";
import type { ToolScript } from "../../base/protocol/script.ts";

/** Whose code runs: what a worker may have a turn of belongs to a tool, and to the tenant that called it. */
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

/** What a lane tells its dispatcher. */
export interface WorkerConnectionListener {
  onMessage(lane: WorkerConnection, message: ToHost): void;
  /** All that came at once has been told. */
  onPause(): void;
  /** The worker sent something that is no message: it is not to be trusted further. */
  onBroken(lane: WorkerConnection, error: Error): void;
}

/** How many tools a lane remembers as warm. */
const WARM_MAX = 1_024;
/** Work that a lane is given ahead of what it does, in milliseconds: what waits in the host can still go elsewhere. */
const AHEAD_MS = 2;
/** A turn of which nothing is known takes a moment as well, so one that runs nothing comes first. */
const LEAST_MS = 0.1;
/** A turn that lasts longer than this is slow, whatever was expected. */
const SLOW_TURN_MS = 25;

/** One worker thread as the host sees it. What is sent within one turn of the event loop goes out as one write. */
export class WorkerConnection {
  readonly worker: number;
  /** Whose calls go on after their first turn, until the worker says that they do not. */
  readonly going = new Map<number, CallOwner>();
  readonly #channel: Transport;
  readonly #loaded = new Set<string>();
  readonly #warm = new Set<string>();
  /** What was sent and has not ended its turn, by number, oldest first. */
  readonly #loads = new Map<number, WorkItem>();
  #expectedMs = 0;
  /** Since when the oldest of them has its turn. */
  #sinceMs = 0;
  #outbox = "";
  /** Resolves when the worker has said something: then it runs. */
  readonly opened: Promise<void>;
  /** Calls and inspections that were sent so far. */
  served = 0;

  constructor(worker: number, channel: Transport, listener: WorkerConnectionListener) {
    this.worker = worker;
    this.#channel = channel;
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

  /** Sends something that takes a turn, which has this number until `end`. */
  begin(run: number, load: WorkItem, message: ToWorker, nowMs: number): void {
    if (this.#loads.size === 0) this.#sinceMs = nowMs;
    this.#loads.set(run, load);
    this.#expectedMs += load.expectedMs;
    this.served += load.size;
    this.send(message);
  }

  /** The turn of that number, while it has not ended. */
  load(run: number): WorkItem | undefined {
    return this.#loads.get(run);
  }

  end(run: number, nowMs: number): void {
    const load = this.#loads.get(run);
    if (load === undefined) return;
    this.#loads.delete(run);
    this.#expectedMs = this.#loads.size === 0 ? 0 : this.#expectedMs - load.expectedMs;
    this.#sinceMs = nowMs;
  }

  /** Whose a call is that the worker may have a turn of, whether anybody still waits for it or not. */
  subjectOf(run: number): CallOwner | undefined {
    const going = this.going.get(run);
    if (going !== undefined) return going;
    for (const load of this.#loads.values()) if (load.runs.includes(run)) return load;
    return undefined;
  }

  /** Whether the worker has ended all that it was sent. */
  get isIdle(): boolean {
    return this.#loads.size === 0 && this.going.size === 0;
  }

  /**
   * Gives up everything. Answers the numbers of what has not ended: what has had a turn, or has it now, and what waited
   * for the turns before it.
   */
  abandon(): { readonly started: readonly number[]; readonly waiting: readonly number[] } {
    const [first, ...others] = this.#loads.values();
    const started = [...this.going.keys(), ...(first?.runs ?? [])];
    this.#loads.clear();
    this.going.clear();
    return { started, waiting: others.flatMap(({ runs }) => runs) };
  }

  /** How long something sent now would wait for its turn: what was expected or, once that has passed, as long again. */
  waitMs(nowMs: number): number {
    return this.#loads.size === 0 ? 0 : Math.max(LEAST_MS, this.#expectedMs, nowMs - this.#sinceMs);
  }

  /** Whether one more would not wait long: nothing long goes behind anything, and nothing behind that. */
  hasRoom(forLong: boolean): boolean {
    if (this.#loads.size === 0) return true;
    if (forLong || this.#expectedMs >= AHEAD_MS) return false;
    for (const load of this.#loads.values()) if (load.isLong) return false;
    return true;
  }

  isSlow(nowMs: number): boolean {
    if (this.#loads.size === 0) return false;
    if (nowMs - this.#sinceMs > SLOW_TURN_MS) return true;
    for (const load of this.#loads.values()) if (load.isSlow) return true;
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
    this.#channel.write(text);
  }

  /** Makes sure the worker has a tool's script before the first call of it. */
  bring(script: ToolScript, tenant: string): void {
    if (!this.#loaded.has(script.key)) {
      this.#loaded.add(script.key);
      this.send({ kind: "load", script });
    }
    this.noteWarm(script.key, tenant);
  }

  /** Remembers that the worker has an isolate for the tool and tenant. */
  noteWarm(key: string, tenant: string): void {
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

  /** Whether the worker has run this tool for this tenant before, and so most likely has an isolate ready. */
  isWarm(key: string, tenant: string): boolean {
    return this.#warm.has(`${key} ${tenant}`);
  }

  close(): void {
    this.#channel.close();
  }
}
