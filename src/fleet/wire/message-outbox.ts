import { BoundedCache } from "../../kernel/base/bounded-cache.ts";
import type { RedisConnection } from "../redis/connection.ts";
import type { FleetKeys } from "./keys.ts";
import { SEND_AND_EXPIRE } from "./inbox-script.ts";
import type { Envelope } from "./messages.ts";
import type { Payloads } from "./payloads.ts";

/**
 * Approximate maximum number of envelopes in an inbox: its owner reads them on arrival, so more wait only for a lost
 * one.
 */
const ENVELOPES_MAX = 10_000;
const INBOX_TTL_MS = 10 * 60_000;
/** Interval at which a sender renews an inbox's expiry. */
const RENEW_MS = 60_000;
/** Maximum characters of one envelope. */
const ENVELOPE_LENGTH_MAX = 512 * 1024;
/**
 * Maximum characters that wait for a connection: later messages are dropped, and their recipients request them again.
 */
const WAITING_LENGTH_MAX = 64 * 1024 * 1024;
/** Longest delay of a message sent with `sendSoon`. */
const SOON_MS = 1;
/** Maximum number of remembered recipients. */
const RECIPIENTS_MAX = 10_000;

/** The connection and identity of a member that sends and receives messages. */
export interface MessagingOptions {
  readonly connection: RedisConnection;
  readonly keys: FleetKeys;
  readonly payloads: Payloads;
  /** The member's id: no other process has or had it. */
  readonly id: string;
}

export interface MessageOutboxOptions extends MessagingOptions {
  /** The protocol that a recipient understands. */
  readonly protocolOf: (to: string) => number;
}

/** Sends messages in order: those for one recipient in one turn of the event loop share an envelope. */
export class MessageOutbox<Message> {
  readonly #options: MessageOutboxOptions;
  readonly #waiting = new Map<string, { messages: string[]; length: number }>();
  readonly #recipients = new BoundedCache<{ readonly seq: number; readonly renewedMs: number }>(RECIPIENTS_MAX);
  #waitingLength = 0;
  #isDue = false;
  #isClosed = false;
  #sendingSoon: NodeJS.Timeout | undefined;
  /** Time of the last reconnection: the Redis may have lost inboxes or their expiry. */
  #readyMs = 0;
  readonly #stopListening: () => void;

  constructor(options: MessageOutboxOptions) {
    this.#options = options;
    this.#stopListening = options.connection.onReady(() => {
      this.#readyMs = performance.now();
      this.#extendInboxes();
      this.#schedule();
    });
  }

  send(to: string, message: Message): void {
    if (this.#add(to, message)) this.#schedule();
  }

  /** Sends a message that is not urgent: a short delay lets later messages share its envelope. */
  sendSoon(to: string, message: Message): void {
    if (!this.#add(to, message)) return;
    this.#sendingSoon ??= setTimeout(() => {
      this.#sendingSoon = undefined;
      this.#schedule();
    }, SOON_MS);
  }

  /** Sends the waiting messages if there is a connection. */
  close(): void {
    this.#flush();
    clearTimeout(this.#sendingSoon);
    this.#isClosed = true;
    this.#stopListening();
  }

  #add(to: string, message: Message): boolean {
    const text = JSON.stringify(message);
    if (this.#isClosed) return false;
    if ((this.#waiting.get(to)?.length ?? 0) + text.length > ENVELOPE_LENGTH_MAX) this.#flush();
    // With a connection nothing waits beyond the current turn, so texts of any length pass.
    if (this.#waitingLength > 0 && this.#waitingLength + text.length > WAITING_LENGTH_MAX) return false;
    const waiting = this.#waiting.get(to) ?? { messages: [], length: 0 };
    waiting.messages.push(text);
    waiting.length += text.length;
    this.#waiting.set(to, waiting);
    this.#waitingLength += text.length;
    return true;
  }

  /** The client has just repeated the commands in flight, which may have created inboxes without an expiry. */
  #extendInboxes(): void {
    const { connection, keys } = this.#options;
    const commands = connection.client.pipeline();
    for (const to of this.#recipients.keys()) commands.pexpire(keys.of("mail", to), INBOX_TTL_MS);
    if (commands.length > 0) commands.exec().catch(() => undefined);
  }

  #schedule(): void {
    if (this.#isDue || this.#waitingLength === 0) return;
    this.#isDue = true;
    setImmediate(() => {
      this.#isDue = false;
      this.#flush();
    });
  }

  #flush(): void {
    const { connection, keys, payloads, id, protocolOf } = this.#options;
    // The client cannot withdraw a command that waits for a connection.
    if (!connection.isReady || this.#waitingLength === 0) return;
    const nowMs = performance.now();
    for (const [to, { messages }] of this.#waiting) {
      const known = this.#recipients.get(to) ?? { seq: 0, renewedMs: -Infinity };
      const isDue = nowMs - known.renewedMs > RENEW_MS || known.renewedMs < this.#readyMs;
      const seq = known.seq + 1;
      this.#recipients.set(to, { seq, renewedMs: isDue ? nowMs : known.renewedMs });
      const head: Envelope<Message> = { v: protocolOf(to), from: id, seq, messages: [] };
      const envelope = `${JSON.stringify(head).slice(0, -2)}${messages.join(",")}]}`;
      const inbox = keys.of("mail", to);
      const packed = payloads.pack(envelope, inbox);
      // The client repeats the command if the connection is lost meanwhile; the recipient ignores the duplicate.
      const sent = isDue
        ? connection.client.eval(SEND_AND_EXPIRE, 1, inbox, ENVELOPES_MAX, packed, INBOX_TTL_MS)
        : connection.client.xadd(inbox, "MAXLEN", "~", ENVELOPES_MAX, "*", "m", packed);
      sent.catch(() => undefined);
    }
    this.#waiting.clear();
    this.#waitingLength = 0;
  }
}
