import { setTimeout as delay } from "node:timers/promises";
import type { RedisConnection } from "../redis/connection.ts";
import { replyOf } from "../redis/reply.ts";
import { wordsOf } from "./damage.ts";
import type { FleetKeys } from "./keys.ts";
import { type Entry, entriesOf, LETTER_BYTES_MAX, TAKE } from "./mail-script.ts";
import type { Letter } from "./messages.ts";
import type { Payloads } from "./payloads.ts";
import { readLetter } from "./read-message.ts";

/** Letters that a box holds, about: its owner reads them as they come, so more wait only for one that is gone. */
const LETTERS_MAX = 10_000;
const BOX_TTL_MS = 10 * 60_000;
/** Characters of one letter. */
const LETTER_MAX = 512 * 1024;
/** Characters that wait while there is no Redis: what comes then is lost, and whoever misses it asks again. */
const HELD_MAX = 64 * 1024 * 1024;
const BLOCK_MS = 2_000;
const PAUSE_MS = 200;
/** Senders that are remembered. */
const SENDERS_MAX = 10_000;
/** An entry of a box that is so much later than now was put there by nobody who sends letters, and none could follow it. */
const AHEAD_MS = 24 * 3_600_000;
const BEGINNING = "0-0";

/** What a mailbox needs of its fleet. */
export interface MailOptions {
  readonly connection: RedisConnection;
  readonly keys: FleetKeys;
  readonly payloads: Payloads;
  /** Whose letters these are: an id that no other process has or had. */
  readonly id: string;
}

export interface OutboxOptions extends MailOptions {
  /** The protocol that a recipient understands. */
  readonly protocolOf: (to: string) => number;
}

/** Sends messages: all that are for one recipient in one turn of the event loop are one letter. */
export class Outbox<Message> {
  readonly #options: OutboxOptions;
  readonly #waiting = new Map<string, { messages: string[]; length: number }>();
  readonly #seqs = new Map<string, number>();
  #held = 0;
  #isDue = false;
  #isClosed = false;
  readonly #stopListening: () => void;

  constructor(options: OutboxOptions) {
    this.#options = options;
    this.#stopListening = options.connection.onReady(() => this.#schedule());
  }

  send(to: string, message: Message): void {
    const text = JSON.stringify(message);
    if (this.#isClosed || this.#held + text.length > HELD_MAX) return;
    if ((this.#waiting.get(to)?.length ?? 0) + text.length > LETTER_MAX) this.#flush();
    const waiting = this.#waiting.get(to) ?? { messages: [], length: 0 };
    waiting.messages.push(text);
    waiting.length += text.length;
    this.#waiting.set(to, waiting);
    this.#held += text.length;
    this.#schedule();
  }

  /** Sends what waits, as far as there is a Redis. */
  close(): void {
    this.#flush();
    this.#isClosed = true;
    this.#stopListening();
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
    const { connection, keys, payloads, id, protocolOf } = this.#options;
    // What is handed to the client while there is no Redis could not be taken back.
    if (!connection.isReady || this.#held === 0) return;
    const pipeline = connection.client.pipeline();
    for (const [to, { messages }] of this.#waiting) {
      const seq = (this.#seqs.get(to) ?? 0) + 1;
      this.#remember(to, seq);
      const head: Letter<Message> = { v: protocolOf(to), from: id, seq, messages: [] };
      const letter = `${JSON.stringify(head).slice(0, -2)}${messages.join(",")}]}`;
      const box = keys.of("mail", to);
      const packed = payloads.pack(letter, box, pipeline);
      pipeline.xadd(box, "MAXLEN", "~", LETTERS_MAX, "*", "m", packed).pexpire(box, BOX_TTL_MS);
    }
    this.#waiting.clear();
    this.#held = 0;
    // The client sends it again where the connection is lost meanwhile, so a letter may come twice, and is read once.
    pipeline.exec().catch(() => undefined);
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
  readonly protocols: readonly number[];
  /** Throws a `ProtocolError` where what somebody has said is none of the messages that come here. */
  readonly read: (message: unknown) => Message;
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
  #last = BEGINNING;
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
    // A read that waits would hold up its end.
    this.#reader.client.disconnect();
    await Promise.all([this.#reader.close(), this.#ended]);
    const { connection, keys, id } = this.#options;
    if (connection.isReady) connection.client.del(keys.of("mail", id)).catch(() => undefined);
  }

  async #read(): Promise<void> {
    while (!this.#isClosed) {
      try {
        const entries = await this.#entries();
        for (const entry of entries) await this.#open(entry);
      } catch (error) {
        // Redis is away, or this is the end; or what is in the place of the box is none.
        if (replyOf(error) === "WRONGTYPE") await this.#clear();
        if (!this.#isClosed) await delay(PAUSE_MS);
      }
    }
  }

  /** What has come, or else the next to come, for which it waits. */
  async #entries(): Promise<readonly Entry[]> {
    const { client } = this.#reader;
    const { keys, id } = this.#options;
    const box = keys.of("mail", id);
    const there = entriesOf(await TAKE.run(client, [box], [this.#last]));
    if (there.length > 0) return there;
    const read: unknown = await client.xread("COUNT", 1, "BLOCK", BLOCK_MS, "STREAMS", box, this.#last);
    const [stream] = Array.isArray(read) ? (read as unknown[]) : [];
    return Array.isArray(stream) ? entriesOf(stream[1]) : [];
  }

  async #open({ id, packed }: Entry): Promise<void> {
    this.#last = id;
    if (Number.parseInt(id, 10) > Date.now() + AHEAD_MS) {
      this.#options.onDamage("an entry that bars the box for all that comes");
      return this.#clear();
    }
    if (packed.length <= LETTER_BYTES_MAX) return this.#take(packed);
    this.#options.onDamage("a letter that is too long");
  }

  /** Whoever has sent something that was in it says it again, or is told that it was lost. */
  async #clear(): Promise<void> {
    this.#last = BEGINNING;
    const { keys, id } = this.#options;
    await this.#reader.client.del(keys.of("mail", id)).catch(() => undefined);
  }

  async #take(packed: string): Promise<void> {
    const { keys, id, payloads, protocols, read, onMessage, onDamage } = this.#options;
    try {
      const letter = readLetter(await payloads.unpack(packed, keys.of("mail", id)), protocols);
      if (!this.#isNew(letter)) return;
      for (const message of letter.messages) {
        try {
          onMessage(letter.from, read(message));
        } catch (error) {
          onDamage(wordsOf(error));
        }
      }
    } catch (error) {
      onDamage(wordsOf(error));
    }
  }

  #isNew({ from, seq }: Letter<unknown>): boolean {
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
