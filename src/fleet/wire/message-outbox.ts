import { BoundedCache } from "../../base/bounded-cache.ts";
import type { RedisConnection } from "../../store/redis/connection.ts";
import type { FleetKeys } from "./keys.ts";
import { SEND_AND_KEEP } from "./inbox-script.ts";
import type { Envelope } from "./messages.ts";
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
/** Boxes that are remembered. */
const RECIPIENTS_MAX = 10_000;

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

/** Sends messages, in their order: all that are for one recipient in one turn of the event loop are one letter. */
export class MessageOutbox<Message> {
  readonly #options: OutboxOptions;
  readonly #waiting = new Map<string, { messages: string[]; length: number }>();
  readonly #boxes = new BoundedCache<{ readonly seq: number; readonly renewedMs: number }>(RECIPIENTS_MAX);
  #held = 0;
  #isDue = false;
  #isClosed = false;
  #noted: NodeJS.Timeout | undefined;
  /** Since when there is a connection: a Redis that was away may have forgotten that boxes expire, or the boxes. */
  #readyMs = 0;
  readonly #stopListening: () => void;

  constructor(options: OutboxOptions) {
    this.#options = options;
    this.#stopListening = options.connection.onReady(() => {
      this.#readyMs = performance.now();
      this.#keepBoxes();
      this.#schedule();
    });
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
    if (this.#isClosed) return false;
    if ((this.#waiting.get(to)?.length ?? 0) + text.length > LETTER_MAX) this.#flush();
    // Where there is a Redis nothing is held any more, however long the texts are.
    if (this.#held > 0 && this.#held + text.length > HELD_MAX) return false;
    const waiting = this.#waiting.get(to) ?? { messages: [], length: 0 };
    waiting.messages.push(text);
    waiting.length += text.length;
    this.#waiting.set(to, waiting);
    this.#held += text.length;
    return true;
  }

  /** The client has just sent again what was on its way, and so may have made boxes anew. */
  #keepBoxes(): void {
    const { connection, keys } = this.#options;
    const commands = connection.client.pipeline();
    for (const to of this.#boxes.keys()) commands.pexpire(keys.of("mail", to), BOX_TTL_MS);
    if (commands.length > 0) commands.exec().catch(() => undefined);
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
    const nowMs = performance.now();
    for (const [to, { messages }] of this.#waiting) {
      const known = this.#boxes.get(to) ?? { seq: 0, renewedMs: -Infinity };
      const isDue = nowMs - known.renewedMs > RENEW_MS || known.renewedMs < this.#readyMs;
      const seq = known.seq + 1;
      this.#boxes.set(to, { seq, renewedMs: isDue ? nowMs : known.renewedMs });
      const head: Envelope<Message> = { v: protocolOf(to), from: id, seq, messages: [] };
      const letter = `${JSON.stringify(head).slice(0, -2)}${messages.join(",")}]}`;
      const box = keys.of("mail", to);
      const packed = payloads.pack(letter, box);
      // The client sends it again where the connection is lost meanwhile, so a letter may come twice, and is read once.
      const sent = isDue
        ? connection.client.eval(SEND_AND_KEEP, 1, box, LETTERS_MAX, packed, BOX_TTL_MS)
        : connection.client.xadd(box, "MAXLEN", "~", LETTERS_MAX, "*", "m", packed);
      sent.catch(() => undefined);
    }
    this.#waiting.clear();
    this.#held = 0;
  }
}
