import { setTimeout as delay } from "node:timers/promises";
import type { RedisConnection } from "../redis/connection.ts";
import type { FleetKeys } from "./keys.ts";
import { type Letter, PROTOCOL } from "./messages.ts";
import type { Payloads } from "./payloads.ts";

/** Letters that a box holds, about: its owner reads them as they come, so more wait only for one that is gone. */
const LETTERS_MAX = 10_000;
const BOX_TTL_MS = 10 * 60_000;
/** A sender says so often that a box is still in use. */
const RENEW_MS = 60_000;
/** Characters of one letter. */
const LETTER_MAX = 512 * 1024;
/** Characters that wait while there is no Redis: what comes then is lost, and whoever misses it asks again. */
const HELD_MAX = 64 * 1024 * 1024;
/** What is sent with `note` goes with what is sent within so long, or then. */
const NOTE_MS = 1;
const READ_MAX = 128;
/** Letters that are left where they are after they have been read: taking them away costs as much as sending one. */
const LEFT_MAX = 64;
const BLOCK_MS = 2_000;
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

/** Sends messages, in their order: all that are for one recipient in one turn of the event loop are one letter. */
export class Outbox<Message> {
  readonly #options: MailOptions;
  readonly #waiting = new Map<string, { messages: string[]; length: number }>();
  readonly #boxes = new Map<string, { seq: number; renewedMs: number }>();
  #held = 0;
  #isDue = false;
  #isClosed = false;
  #noted: NodeJS.Timeout | undefined;
  readonly #stopListening: () => void;

  constructor(options: MailOptions) {
    this.#options = options;
    this.#stopListening = options.connection.onReady(() => this.#schedule());
  }

  send(to: string, message: Message): void {
    if (this.#add(to, message)) this.#schedule();
  }

  /** Sends something that nobody waits for: often there is soon something to send with it. */
  note(to: string, message: Message): void {
    if (!this.#add(to, message)) return;
    this.#noted ??= setTimeout(() => {
      this.#noted = undefined;
      this.#schedule();
    }, NOTE_MS);
  }

  /** Sends what waits, as far as there is a Redis. */
  close(): void {
    this.#flush();
    clearTimeout(this.#noted);
    this.#isClosed = true;
    this.#stopListening();
  }

  #add(to: string, message: Message): boolean {
    const text = JSON.stringify(message);
    if (this.#isClosed || this.#held + text.length > HELD_MAX) return false;
    if ((this.#waiting.get(to)?.length ?? 0) + text.length > LETTER_MAX) this.#flush();
    const waiting = this.#waiting.get(to) ?? { messages: [], length: 0 };
    waiting.messages.push(text);
    waiting.length += text.length;
    this.#waiting.set(to, waiting);
    this.#held += text.length;
    return true;
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
    const { connection, keys, payloads, id } = this.#options;
    // What is handed to the client while there is no Redis could not be taken back.
    if (!connection.isReady || this.#held === 0) return;
    const nowMs = performance.now();
    for (const [to, { messages }] of this.#waiting) {
      const known = this.#boxes.get(to) ?? { seq: 0, renewedMs: -Infinity };
      const isDue = nowMs - known.renewedMs > RENEW_MS;
      const seq = known.seq + 1;
      this.#remember(to, { seq, renewedMs: isDue ? nowMs : known.renewedMs });
      const head: Letter<Message> = { v: PROTOCOL, from: id, seq, messages: [] };
      const letter = `${JSON.stringify(head).slice(0, -2)}${messages.join(",")}]}`;
      const box = keys.of("mail", to);
      const packed = payloads.pack(letter, box);
      // The client sends it again where the connection is lost meanwhile, so a letter may come twice, and is read once.
      connection.client.xadd(box, "MAXLEN", "~", LETTERS_MAX, "*", "m", packed).catch(() => undefined);
      if (isDue) connection.client.pexpire(box, BOX_TTL_MS).catch(() => undefined);
    }
    this.#waiting.clear();
    this.#held = 0;
  }

  #remember(to: string, box: { seq: number; renewedMs: number }): void {
    this.#boxes.delete(to);
    this.#boxes.set(to, box);
    for (const oldest of this.#boxes.keys()) {
      if (this.#boxes.size <= SENDERS_MAX) return;
      this.#boxes.delete(oldest);
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
  #left = 0;
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
    // It is left to expire: what comes too late would make a new one, of which nobody has said when it does.
    if (connection.isReady) connection.client.xtrim(keys.of("mail", id), "MAXLEN", 0).catch(() => undefined);
  }

  async #read(): Promise<void> {
    const { keys, id } = this.#options;
    const box = keys.of("mail", id);
    while (!this.#isClosed) {
      try {
        const read = await this.#reader.client.xread("COUNT", READ_MAX, "BLOCK", BLOCK_MS, "STREAMS", box, this.#last);
        const entries = entriesOf(read);
        // What lies beside letters is asked for together.
        const letters = entries.map(([, packed]) => this.#open(packed, box));
        for (const letter of letters) this.#take(await letter);
        this.#last = entries.at(-1)?.[0] ?? this.#last;
        this.#clear(box, entries);
      } catch {
        // Redis is away, or this is the end.
        if (!this.#isClosed) await delay(PAUSE_MS);
      }
    }
  }

  /** Takes letters away that have been read: at once where they are long, else many together, or when no more come. */
  #clear(box: string, entries: Entries): void {
    const { connection, payloads } = this.#options;
    const sides = entries.flatMap(([, packed]) => payloads.sideOf(packed) ?? []);
    this.#left += entries.length;
    const isDue = sides.length > 0 || this.#left >= LEFT_MAX || (entries.length === 0 && this.#left > 0);
    if (!isDue || !connection.isReady) return;
    this.#left = 0;
    connection.client.xtrim(box, "MINID", idAfter(this.#last)).catch(() => undefined);
    if (sides.length > 0) connection.client.unlink(sides).catch(() => undefined);
  }

  /** Answers what is wrong with a letter that cannot be read. */
  async #open(packed: string, box: string): Promise<Letter<Message> | Error> {
    try {
      return readLetter<Message>(await this.#options.payloads.unpack(packed, box));
    } catch (error) {
      return error instanceof Error ? error : new Error("a letter that is none");
    }
  }

  #take(letter: Letter<Message> | Error): void {
    const { onMessage, onDamage } = this.#options;
    if (letter instanceof Error) return onDamage(letter.message);
    if (!this.#isNew(letter)) return;
    for (const message of letter.messages) {
      try {
        onMessage(letter.from, message);
      } catch (error) {
        onDamage(error instanceof Error ? error.message : "a message that is none");
      }
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

type Entries = readonly (readonly [id: string, packed: string])[];

/** Of the answer to an XREAD of one stream: ids, and what is in the only field. */
function entriesOf(read: unknown): Entries {
  const streams = Array.isArray(read) ? (read as unknown[]) : [];
  const [, entries] = (streams[0] ?? []) as readonly [unknown?, (readonly [string, readonly string[]])[]?];
  return (entries ?? []).map(([id, fields]) => [id, fields[1] ?? ""] as const);
}

/** Nothing in a stream lies between the two. */
function idAfter(id: string): string {
  const dash = id.indexOf("-");
  return `${id.slice(0, dash)}-${Number(id.slice(dash + 1)) + 1}`;
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
