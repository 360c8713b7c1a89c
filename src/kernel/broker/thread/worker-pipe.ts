import { BoundedCache } from "../../base/bounded-cache.ts";
import type { CapabilityResponse } from "../../base/protocol/capability-call.ts";
import { type CapabilityCallMessage, settleMessage, type ToBroker } from "../../base/protocol/messages.ts";
import { LineReader, MESSAGE_MAX } from "../../base/protocol/line-reader.ts";
import { decodeToBroker, encodeToWorker, ProtocolError } from "../../base/protocol/wire.ts";

/** The broker's end of a link to one worker thread. */
export interface PipeTransport {
  write(text: string): void;
  onText(handler: (text: string) => void): void;
  onClose(handler: () => void): void;
  close(): void;
}

/** Receives a worker's messages about its calls. */
export interface PipeListener {
  onOpen(pipe: WorkerPipe): void;
  onMessage(pipe: WorkerPipe, message: ToBroker): void;
  /** The worker sent an invalid message, and is no longer trusted. */
  onBroken(pipe: WorkerPipe, error: Error): void;
  onClose(pipe: WorkerPipe): void;
}

/** Longest line of a worker, in characters, unless its calls may send longer ones; and its length besides arguments. */
const LINE_MAX = 32 * 1024 * 1024;
const REST_MAX = 64 * 1024;
/** Maximum number of lines between two messages to the worker, or beginnings of calls. */
const LINES_MAX = 500_000;
/** Maximum number of lines of calls that the broker does not know yet, and their length. */
const WAITING_MAX = 10_000;
const GONE_MAX = 1_000;
const WAITING_LENGTH = 32 * 1024 * 1024;

/** A worker's pipe to the broker. Answers of one turn of the event loop are one write. */
export class WorkerPipe {
  readonly number: number;
  readonly #transport: PipeTransport;
  readonly #listener: PipeListener;
  readonly #reader = new LineReader(LINE_MAX);
  /** Lines since something was sent or began. */
  #lines = 0;
  #outbox = "";
  /** Messages of calls that the broker does not know yet, by call and attempt. */
  readonly #waiting = new Map<string, ToBroker[]>();
  #waitingCount = 0;
  #waitingLength = 0;
  /** Last attempts of calls that have ended, and the number of refused messages. */
  readonly #gone = new BoundedCache<number>(GONE_MAX);
  #refused = 0;
  #isOpen = true;

  constructor(number: number, transport: PipeTransport, listener: PipeListener) {
    this.number = number;
    this.#transport = transport;
    this.#listener = listener;
    const onLine = (line: string): void => {
      if (++this.#lines > LINES_MAX) throw new ProtocolError("more messages than its calls can have");
      listener.onMessage(this, decodeToBroker(line));
    };
    transport.onText((text) => {
      if (!this.#isOpen) return;
      try {
        this.#reader.push(text, onLine);
      } catch (error) {
        this.#fail(error instanceof Error ? error : new Error(String(error)));
      }
    });
    transport.onClose(() => {
      this.#isOpen = false;
      listener.onClose(this);
    });
  }

  /** A call with this limit begins on the worker, which may send lines as long as it needs. */
  admit(capabilityBytes: number): void {
    this.#lines = 0;
    this.#refused = 0;
    this.#reader.maxLength = Math.max(this.#reader.maxLength, Math.min(capabilityBytes + REST_MAX, MESSAGE_MAX));
  }

  settle(asked: CapabilityCallMessage, response: CapabilityResponse): void {
    if (!this.#isOpen) return;
    if (this.#outbox === "") setImmediate(() => this.#flush());
    this.#outbox += encodeToWorker(settleMessage(asked, response));
  }

  /** Keeps a message of a call that the broker does not know yet. Returns whether it is the first of that attempt. */
  wait(message: ToBroker): boolean {
    if ((this.#gone.get(`${message.callNumber}`) ?? 0) >= message.attempt) return false;
    this.#waitingLength += message.kind === "ask" ? message.args.length : 0;
    if (++this.#waitingCount > WAITING_MAX || this.#waitingLength > WAITING_LENGTH) {
      throw new ProtocolError("too many messages of unknown calls");
    }
    const key = keyOf(message.callNumber, message.attempt);
    const waiting = this.#waiting.get(key);
    if (waiting === undefined) this.#waiting.set(key, [message]);
    else waiting.push(message);
    return waiting === undefined;
  }

  /** Messages that waited for a call to be known, in order. */
  take(callNumber: number, attempt: number): readonly ToBroker[] {
    const key = keyOf(callNumber, attempt);
    const waiting = this.#waiting.get(key) ?? [];
    this.#waiting.delete(key);
    this.#waitingCount -= waiting.length;
    for (const message of waiting) this.#waitingLength -= message.kind === "ask" ? message.args.length : 0;
    return waiting;
  }

  /** Discards the messages of an attempt whose call has ended. */
  refuse(callNumber: number, attempt: number): void {
    this.take(callNumber, attempt);
    this.#gone.set(`${callNumber}`, attempt);
    if (++this.#refused > WAITING_MAX) this.#fail(new ProtocolError("too many messages of calls that have ended"));
  }

  close(): void {
    this.#isOpen = false;
    this.#transport.close();
  }

  #fail(error: Error): void {
    this.close();
    this.#listener.onBroken(this, error);
  }

  #flush(): void {
    const text = this.#outbox;
    this.#outbox = "";
    this.#lines = 0;
    if (this.#isOpen) this.#transport.write(text);
  }
}

function keyOf(callNumber: number, attempt: number): string {
  return `${callNumber} ${attempt}`;
}
