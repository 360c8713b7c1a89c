import { LineReader, MESSAGE_MAX } from "../protocol/lines.ts";
import type { ToHost, ToWorker } from "../protocol/messages.ts";
import type { ToolScript } from "../protocol/script.ts";
import { decodeToHost, encodeToWorker } from "../protocol/wire.ts";

/** The host's end of a link to one worker thread. */
export interface Channel {
  /**
   * Whether what comes in arrives message by message, each in a turn of its own. Answers to it would then go out one
   * by one as well, so what is sent waits for the end of the event loop's turn instead of the end of the message's.
   */
  readonly isPiecemeal: boolean;
  write(text: string): void;
  onText(handler: (text: string) => void): void;
  close(): void;
}

/** What a lane tells its dispatcher. */
export interface LaneListener {
  onMessage(lane: Lane, message: ToHost): void;
  onBatch(size: number): void;
  /** The worker sent something that is no message: it is not to be trusted further. */
  onBroken(lane: Lane, error: Error): void;
}

/** One worker thread as the host sees it. What is sent within one turn of the event loop goes out as one write. */
export class Lane {
  readonly worker: number;
  /** Calls sent and not answered. */
  readonly open = new Set<number>();
  readonly #channel: Channel;
  readonly #listener: LaneListener;
  readonly #loaded = new Set<string>();
  readonly #warm = new Set<string>();
  #outbox = "";
  #outboxRuns = 0;

  constructor(worker: number, channel: Channel, listener: LaneListener) {
    this.worker = worker;
    this.#channel = channel;
    this.#listener = listener;
    const reader = new LineReader(MESSAGE_MAX);
    channel.onText((text) => {
      try {
        reader.push(text, (line) => listener.onMessage(this, decodeToHost(line)));
      } catch (error) {
        listener.onBroken(this, error instanceof Error ? error : new Error(String(error)));
      }
    });
  }

  send(message: ToWorker): void {
    if (this.#outbox === "") this.#flushSoon();
    this.#outbox += encodeToWorker(message);
    if (message.kind === "run") this.#outboxRuns++;
  }

  /** Makes sure the worker has a tool's script before the first call of it. */
  load(script: ToolScript): void {
    if (this.#loaded.has(script.key)) return;
    this.#loaded.add(script.key);
    this.send({ kind: "load", script });
  }

  unload(key: string): void {
    if (this.#loaded.delete(key)) this.send({ kind: "unload", key });
    for (const warm of this.#warm) if (warm.startsWith(`${key} `)) this.#warm.delete(warm);
  }

  /** Whether the worker has run this tool for this tenant before, and so most likely has an isolate ready. */
  isWarm(key: string, tenant: string): boolean {
    return this.#warm.has(`${key} ${tenant}`);
  }

  markWarm(key: string, tenant: string): void {
    this.#warm.add(`${key} ${tenant}`);
    if (this.#warm.size <= WARM_MAX) return;
    for (const oldest of this.#warm) {
      this.#warm.delete(oldest);
      return;
    }
  }

  close(): void {
    this.#channel.close();
  }

  #flushSoon(): void {
    if (this.#channel.isPiecemeal) setImmediate(() => this.#flush());
    else process.nextTick(() => this.#flush());
  }

  #flush(): void {
    const text = this.#outbox;
    this.#outbox = "";
    if (this.#outboxRuns > 0) this.#listener.onBatch(this.#outboxRuns);
    this.#outboxRuns = 0;
    this.#channel.write(text);
  }
}

/** How many tools a lane remembers as warm. */
const WARM_MAX = 1_024;
