import { setTimeout as delay } from "node:timers/promises";
import { within } from "../deadline.ts";
import type { RedisConnection } from "../redis/connection.ts";
import type { FleetKeys } from "./keys.ts";
import { type Letter, PROTOCOL } from "./messages.ts";
import type { Payloads } from "./payloads.ts";

/** Letters that a box holds, about: its owner reads them as they come, so more wait only for one that is gone. */
const LETTERS_MAX = 10_000;
const BOX_TTL_MS = 10 * 60_000;
/** Characters of one letter. */
const LETTER_MAX = 512 * 1024;
/** Characters that wait while there is no Redis: what comes then is lost, and whoever misses it asks again. */
const HELD_MAX = 64 * 1024 * 1024;
const READ_MAX = 128;
const BLOCK_MS = 2_000;
/** How long what is not urgent may wait for something to go with. */
const LATER_MS = 20;
const PAUSE_MS = 200;
/** Senders that are remembered. */
const SENDERS_MAX = 10_000;

/** What a mailbox needs of its fleet. */
export interface MailOptions {
  readonly connection: RedisConnection;
  readonly keys: FleetKeys;
  readonly payloads: Payloads;
  /** Whose letters these are: an id that no other process has or had. */
  readonly id: string;
}

/** Sends messages: all that are for one recipient in one turn of the event loop are one letter. */
export class Outbox<Message> {
  readonly #options: MailOptions;
  readonly #waiting = new Map<string, { messages: string[]; length: number }>();
  readonly #seqs = new Map<string, number>();
  #held = 0;
  /** Whether the last letters have come to Redis, once that is known. */
  #delivery = Promise.resolve(true);
  #isDue = false;
  #later: NodeJS.Timeout | null = null;
  #isClosed = false;
  readonly #onReady = (): void => this.#schedule();

  constructor(options: MailOptions) {
    this.#options = options;
    options.connection.client.on("ready", this.#onReady);
  }

  /** `isUrgent`: whether somebody waits for it. What is not urgent goes with what comes next, or after a short while. */
  send(to: string, message: Message, isUrgent = true): void {
    const text = JSON.stringify(message);
    if (this.#isClosed || this.#held + text.length > HELD_MAX) return;
    this.#held += text.length;
    let waiting = this.#waiting.get(to);
    if (waiting === undefined) this.#waiting.set(to, (waiting = { messages: [], length: 0 }));
    if (waiting.length > 0 && waiting.length + text.length > LETTER_MAX) this.#flush();
    waiting = this.#waiting.get(to) ?? { messages: [], length: 0 };
    waiting.messages.push(text);
    waiting.length += text.length;
    this.#waiting.set(to, waiting);
    if (isUrgent) this.#schedule();
    else this.#later ??= setTimeout(() => this.#flush(), LATER_MS);
  }

  /** Whether Redis has all that was said by now: it keeps the order, so what anybody says later comes after it. */
  async delivered(ms: number): Promise<boolean> {
    // What else is said in this turn goes with it.
    await new Promise<void>((resolve) => setImmediate(resolve));
    this.#flush();
    let isDelivered = false;
    if (this.#held === 0)
      await within(
        ms,
        this.#delivery.then((is) => void (isDelivered = is)),
      );
    return isDelivered;
  }

  /** Sends what waits, as far as there is a Redis. */
  close(): void {
    this.#flush();
    this.#isClosed = true;
    this.#options.connection.client.off("ready", this.#onReady);
  }

  #schedule(): void {
    if (this.#isDue || this.#held === 0) return;
    this.#isDue = true;
    setImmediate(() => {
      this.#isDue = false;
      this.#flush();
    });
  }

  #flush(): void {
    if (this.#later !== null) clearTimeout(this.#later);
    this.#later = null;
    const { connection, keys, payloads, id } = this.#options;
    // What is handed to the client while there is no Redis could not be taken back.
    if (!connection.isReady || this.#held === 0) return;
    const pipeline = connection.client.pipeline();
    for (const [to, { messages }] of this.#waiting) {
      const seq = (this.#seqs.get(to) ?? 0) + 1;
      this.#remember(to, seq);
      const head: Letter<Message> = { v: PROTOCOL, from: id, seq, messages: [] };
      const letter = `${JSON.stringify(head).slice(0, -2)}${messages.join(",")}]}`;
      const box = keys.of("mail", to);
      const packed = payloads.pack(letter, box, pipeline);
      pipeline.xadd(box, "MAXLEN", "~", LETTERS_MAX, "*", "m", packed).pexpire(box, BOX_TTL_MS);
    }
    this.#waiting.clear();
    this.#held = 0;
    // The client sends it again where the connection is lost meanwhile, so a letter may come twice, and is read once.
    this.#delivery = pipeline.exec().then(
      (results) => results?.every(([error]) => error === null) ?? false,
      () => false,
    );
  }

  #remember(to: string, seq: number): void {
    this.#seqs.delete(to);
    this.#seqs.set(to, seq);
    for (const oldest of this.#seqs.keys()) {
      if (this.#seqs.size <= SENDERS_MAX) return;
      this.#seqs.delete(oldest);
    }
  }
}

export interface InboxOptions<Message> extends MailOptions {
  /** Takes what somebody has said, in its order. What it throws is told as damage, and the next is read. */
  readonly onMessage: (from: string, message: Message) => void;
  /** A letter cannot be read: it was sealed with another secret, speaks another protocol, or is none. */
  readonly onDamage: (why: string) => void;
}

/** Reads what is sent to one member of a fleet, as it comes. */
export class Inbox<Message> {
  readonly #options: InboxOptions<Message>;
  /** A read that waits holds its connection. */
  readonly #reader: RedisConnection;
  readonly #seqs = new Map<string, number>();
  #last = "0-0";
  #isClosed = false;
  #ended: Promise<void> | null = null;

  constructor(options: InboxOptions<Message>) {
    this.#options = options;
    this.#reader = options.connection.another("inbox");
  }

  start(): void {
    this.#ended ??= this.#read();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#reader.client.disconnect();
    await this.#ended;
    const { connection, keys, id } = this.#options;
    if (connection.isReady) connection.client.del(keys.of("mail", id)).catch(() => undefined);
  }

  async #read(): Promise<void> {
    const { keys, id, connection } = this.#options;
    const box = keys.of("mail", id);
    while (!this.#isClosed) {
      try {
        const read = await this.#reader.client.xread("COUNT", READ_MAX, "BLOCK", BLOCK_MS, "STREAMS", box, this.#last);
        const entries = entriesOf(read);
        for (const [entry, packed] of entries) {
          this.#last = entry;
          await this.#take(packed, box);
        }
        if (entries.length > 0 && connection.isReady) {
          connection.client.xtrim(box, "MINID", this.#last).catch(() => undefined);
        }
      } catch {
        // Redis is away, or this is the end.
        if (!this.#isClosed) await delay(PAUSE_MS);
      }
    }
  }

  async #take(packed: string, box: string): Promise<void> {
    const { onMessage, onDamage, payloads } = this.#options;
    try {
      const letter = readLetter<Message>(await payloads.unpack(packed, box));
      if (!this.#isNew(letter)) return;
      for (const message of letter.messages) onMessage(letter.from, message);
    } catch (error) {
      onDamage(error instanceof Error ? error.message : "a letter that is none");
    }
  }

  #isNew({ from, seq }: Letter<Message>): boolean {
    const last = this.#seqs.get(from) ?? 0;
    if (seq <= last) return false;
    this.#seqs.delete(from);
    this.#seqs.set(from, seq);
    for (const oldest of this.#seqs.keys()) {
      if (this.#seqs.size <= SENDERS_MAX) break;
      this.#seqs.delete(oldest);
    }
    return true;
  }
}

/** Of the answer to an XREAD of one stream: ids, and what is in the only field. */
function entriesOf(read: unknown): readonly (readonly [id: string, packed: string])[] {
  const streams = Array.isArray(read) ? (read as unknown[]) : [];
  const [, entries] = (streams[0] ?? []) as readonly [unknown?, (readonly [string, readonly string[]])[]?];
  return (entries ?? []).map(([id, fields]) => [id, fields[1] ?? ""] as const);
}

function readLetter<Message>(text: string): Letter<Message> {
  const letter = JSON.parse(text) as Partial<Letter<Message>> | null;
  const { v, from, seq, messages } = letter ?? {};
  if (v !== PROTOCOL) throw new Error(`a letter of protocol ${String(v).slice(0, 16)}, and this one is ${PROTOCOL}`);
  if (typeof from !== "string" || typeof seq !== "number" || !Array.isArray(messages)) {
    throw new Error("a letter that is none");
  }
  return { v, from, seq, messages };
}
