import { setImmediate as nextTurn, setTimeout as delay } from "node:timers/promises";
import { BoundedCache } from "../../kernel/base/bounded-cache.ts";
import type { RedisConnection } from "../redis/connection.ts";
import { replyOf } from "../redis/reply.ts";
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
/**
 * Maximum distance of an entry's id into the future: Redis's clock produces no later one, and a later one blocks all
 * entries after it.
 */
const AHEAD_MS = 24 * 3_600_000;
const BEGINNING = "0-0";
/** Maximum number of remembered senders. */
const SENDERS_MAX = 10_000;

export interface InboxOptions<Message> extends MessagingOptions {
  readonly protocols: readonly number[];
  readonly timings: FleetTimings;
  /** Throws a `ProtocolError` for an invalid message. */
  readonly read: (message: unknown) => Message;
  /**
   * Receives messages in their senders' order. An error that it throws is reported as damage, and reading continues.
   */
  readonly onMessage: (from: string, message: Message) => void;
  /** An envelope cannot be read: it was sealed with another secret, speaks another protocol, or is invalid. */
  readonly onDamage: (why: string) => void;
}

/** Reads the messages that are sent to one member of a fleet. */
export class Inbox<Message> {
  readonly #options: InboxOptions<Message>;
  /** A blocking read occupies its connection. */
  readonly #reader: RedisConnection;
  readonly #sequences = new BoundedCache<SequenceTracker>(SENDERS_MAX);
  #last = BEGINNING;
  #readMs = -Infinity;
  /** Whether to read the waiting entries as a page and to remove those already read. */
  #readsPages = true;
  #reads = 0;
  #isClosed = false;
  #ended: Promise<void> | null = null;

  constructor(options: InboxOptions<Message>) {
    this.#options = options;
    this.#reader = options.connection.another("inbox");
  }

  /** Time, by the clock of this process, before which all arrived envelopes have been read. */
  get readMs(): number {
    return this.#readMs;
  }

  start(): void {
    this.#ended ??= this.#read();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    // A blocking read would delay the close.
    this.#reader.client.disconnect();
    await Promise.all([this.#reader.close(), this.#ended]);
    const { connection, keys, id } = this.#options;
    // The inbox is emptied and expires: deleting it would let a late envelope create a new one without an expiry.
    if (connection.isReady) connection.client.xtrim(keys.of("mail", id), "MAXLEN", 0).catch(() => undefined);
  }

  async #read(): Promise<void> {
    while (!this.#isClosed) {
      try {
        const askedMs = performance.now();
        const { entries, areAll } = await this.#entries(askedMs);
        // The next side text is fetched while the current one is read: all at once could be gigabytes.
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
        if (this.#isAhead(Date.now()) && (await this.#isBlocked())) await this.#clear();
      } catch (error) {
        // Redis is unreachable, this inbox closes, or its key has another type.
        if (replyOf(error) === "WRONGTYPE") await this.#clear();
        // Page reads skip entries that are too long, so the next read is one.
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

  /** The envelope of an entry, or a description of its damage. */
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

  /** Removes the side texts of read envelopes. */
  #dropSides(entries: readonly InboxEntry[]): void {
    const { connection, payloads } = this.#options;
    const sides = entries.flatMap(({ packed }) => payloads.sideOf(packed) ?? []);
    if (sides.length > 0 && connection.isReady) connection.client.unlink(sides).catch(() => undefined);
  }

  /** Whether the last id would block all later entries by Redis's own clock: that of this process may be wrong. */
  async #isBlocked(): Promise<boolean> {
    const [seconds] = await this.#reader.client.time();
    return this.#isAhead(Number(seconds) * 1_000);
  }

  #isAhead(nowMs: number): boolean {
    return Number.parseInt(this.#last, 10) > nowMs + AHEAD_MS;
  }

  /** Removes the inbox. Senders repeat the messages in it, or learn of the loss. */
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
 * The envelope numbers of one sender that have been read. A cluster's client repeats each envelope until it arrives, so
 * envelopes can arrive out of order or twice.
 */
export class SequenceTracker {
  #last = 0;
  readonly #missing = new Set<number>();

  /** Whether a number is new; marks it as read. */
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
