import { setImmediate as nextTurn, setTimeout as delay } from "node:timers/promises";
import { BoundedCache } from "../../base/bounded-cache.ts";
import type { RedisConnection } from "../../store/redis/connection.ts";
import { replyOf } from "../../store/redis/reply.ts";
import { describeDamage } from "./damage.ts";
import {
  type InboxEntry,
  entriesOf,
  idAfter,
  isLastPage,
  ENVELOPE_BYTES_MAX,
  READ_INBOX,
  type InboxPage,
} from "./inbox-script.ts";
import type { MessagingOptions } from "./message-outbox.ts";
import type { Envelope } from "./messages.ts";
import { readEnvelope } from "./read-message.ts";
import type { FleetTimings } from "./fleet-timings.ts";

/** Number of envelopes read one by one before the waiting ones are read as a page. */
const READS_MAX = 8;
/** Longest time until a page shows that all waiting envelopes were read. */
const READ_MS = 1_000;
const PAUSE_MS = 200;
/** An entry of an inbox that is so much later than now was put there by nobody who sends envelopes, and none could follow it. */
const AHEAD_MS = 24 * 3_600_000;
const BEGINNING = "0-0";
/** Senders that are remembered. */
const SENDERS_MAX = 10_000;

export interface InboxOptions<Message> extends MessagingOptions {
  readonly protocols: readonly number[];
  readonly timings: FleetTimings;
  /** Throws a `ProtocolError` for a message that is invalid here. */
  readonly read: (message: unknown) => Message;
  /** Takes what somebody has said, in its order. What it throws is told as damage, and the next is read. */
  readonly onMessage: (from: string, message: Message) => void;
  /** An envelope cannot be read: it was sealed with another secret, speaks another protocol, or is invalid. */
  readonly onDamage: (why: string) => void;
}

/** Reads what is sent to one member of a fleet, as it comes. */
export class Inbox<Message> {
  readonly #options: InboxOptions<Message>;
  /** A read that waits holds its connection. */
  readonly #reader: RedisConnection;
  readonly #sequences = new BoundedCache<SequenceTracker>(SENDERS_MAX);
  #last = BEGINNING;
  #readMs = -Infinity;
  /** Whether what waits is to be taken together, and what was read is to be taken away. */
  #readsPages = true;
  #reads = 0;
  #isClosed = false;
  #ended: Promise<void> | null = null;

  constructor(options: InboxOptions<Message>) {
    this.#options = options;
    this.#reader = options.connection.another("inbox");
  }

  /** All envelopes that arrived before this time have been read, by the clock of this process. */
  get readMs(): number {
    return this.#readMs;
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
    // It is left to expire: what comes too late would make a new one, of which nobody has said when it does.
    if (connection.isReady) connection.client.xtrim(keys.of("mail", id), "MAXLEN", 0).catch(() => undefined);
  }

  async #read(): Promise<void> {
    while (!this.#isClosed) {
      try {
        const askedMs = performance.now();
        const { entries, areAll } = await this.#entries(askedMs);
        // The text beside an envelope is fetched while the one before it is read: all together might be gigabytes.
        let opening = this.#open(entries[0]);
        for (const [at, { id, packed }] of entries.entries()) {
          this.#last = id;
          const envelope = await opening;
          opening = this.#open(entries[at + 1]);
          if (envelope !== null) this.#deliver(envelope);
          // Timers run between long envelopes.
          if (this.#options.payloads.sideOf(packed) !== null) await nextTurn();
        }
        if (areAll) this.#readMs = askedMs;
        this.#dropSides(entries);
        // It would bar the inbox for all that comes: a clock of Redis's own is never so far ahead.
        if (Number.parseInt(this.#last, 10) > Date.now() + AHEAD_MS) await this.#clear();
      } catch (error) {
        // Redis is away, this inbox closes, or its key has another type.
        if (replyOf(error) === "WRONGTYPE") await this.#clear();
        // Together with others nothing is taken that is too long to be read.
        this.#readsPages = true;
        if (!this.#isClosed) await delay(PAUSE_MS);
      }
    }
  }

  /** Reads the waiting entries, or waits for the next one. Removes those already read. */
  async #entries(askedMs: number): Promise<InboxPage> {
    const { client } = this.#reader;
    const { keys, id, timings } = this.#options;
    const inbox = keys.of("mail", id);
    if (this.#readsPages) {
      const there = entriesOf(await READ_INBOX.run(client, [inbox], [this.#last, idAfter(this.#last)]));
      this.#readsPages = there.length > 0;
      this.#reads = 0;
      if (this.#readsPages) return { entries: there, areAll: isLastPage(there) };
      this.#readMs = askedMs;
    }
    const read: unknown = await client.xread(
      "COUNT",
      1,
      "BLOCK",
      Math.ceil(timings.blockMs),
      "STREAMS",
      inbox,
      this.#last,
    );
    const [stream] = Array.isArray(read) ? (read as unknown[]) : [];
    const next = Array.isArray(stream) ? entriesOf(stream[1]) : [];
    this.#reads += next.length;
    const isBehind = askedMs - this.#readMs > READ_MS;
    this.#readsPages = this.#reads >= READS_MAX || isBehind || (this.#reads > 0 && next.length === 0);
    return { entries: next, areAll: next.length === 0 };
  }

  /** An envelope, or what is wrong with it. */
  async #open(entry: InboxEntry | undefined): Promise<Envelope<unknown> | string | null> {
    if (entry === undefined) return null;
    const { packed } = entry;
    const { keys, id, payloads, protocols } = this.#options;
    if (packed.length > ENVELOPE_BYTES_MAX) return "an envelope that is too long";
    try {
      return readEnvelope(await payloads.unpack(packed, keys.of("mail", id)), protocols);
    } catch (error) {
      return describeDamage(error);
    }
  }

  #deliver(envelope: Envelope<unknown> | string): void {
    const { read, onMessage, onDamage } = this.#options;
    if (typeof envelope === "string") return onDamage(envelope);
    if (!this.#isNew(envelope)) return;
    for (const message of envelope.messages) {
      try {
        onMessage(envelope.from, read(message));
      } catch (error) {
        onDamage(describeDamage(error));
      }
    }
  }

  /** Long texts lie beside their envelopes, and nobody needs them any more. */
  #dropSides(entries: readonly InboxEntry[]): void {
    const { connection, payloads } = this.#options;
    const sides = entries.flatMap(({ packed }) => payloads.sideOf(packed) ?? []);
    if (sides.length > 0 && connection.isReady) connection.client.unlink(sides).catch(() => undefined);
  }

  /** Senders repeat the messages that were in it, or learn of the loss. */
  async #clear(): Promise<void> {
    this.#options.onDamage("an inbox entry that blocks all later ones");
    this.#last = BEGINNING;
    const { keys, id } = this.#options;
    await this.#reader.client.del(keys.of("mail", id)).catch(() => undefined);
  }

  #isNew({ from, seq }: Envelope<unknown>): boolean {
    return this.#sequences.getOrMake(from, () => new SequenceTracker()).accept(seq);
  }
}

/** Maximum number of skipped numbers to remember. */
const MISSING_MAX = 64;

/**
 * Which numbers of one sender's envelopes have been read. A cluster's client sends each envelope until it arrives, so one may overtake
 * another, and one may come twice.
 */
export class SequenceTracker {
  #last = 0;
  readonly #missing = new Set<number>();

  /** Whether a number has not been read before; now it has. */
  accept(number: number): boolean {
    if (number <= this.#last) return this.#missing.delete(number);
    for (let passed = Math.max(this.#last + 1, number - MISSING_MAX); passed < number; passed++) {
      this.#missing.add(passed);
    }
    for (const oldest of this.#missing) {
      if (this.#missing.size <= MISSING_MAX) break;
      this.#missing.delete(oldest);
    }
    this.#last = number;
    return true;
  }
}
