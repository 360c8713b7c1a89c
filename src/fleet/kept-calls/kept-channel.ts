import type { RedisConnection } from "../redis/connection.ts";
import { answerOf } from "../redis/reply.ts";
import type { CallCells } from "../../kernel/store/calls/call-record.ts";
import type { SealedRows } from "./sealed-rows.ts";

/** Time for which servers report their calls, and interval at which a reader requests it. */
const WATCHED_MS = 10_000;
const ASK_EVERY_MS = 3_000;
/**
 * Interval of reports, and their maximum number of calls, a millisecond of work; the oldest are dropped for later ones.
 */
const TELL_MS = 50;
const TOLD_MAX = 100;

interface ChannelParts {
  readonly connection: RedisConnection;
  readonly prefix: string;
  readonly rows: SealedRows;
  /** Name of this process as a sender: it ignores its own calls. */
  readonly sender: string;
  readonly tell: (calls: readonly CallCells[]) => void;
}

/** Calls that other servers keep, at the time they keep them. Servers report them only while a reader requests it. */
export class KeptChannel implements AsyncDisposable {
  readonly #parts: ChannelParts;
  readonly #subscriber: RedisConnection;
  readonly #asking: NodeJS.Timeout;
  #heard: CallCells[] = [];
  #telling: NodeJS.Timeout | undefined;

  constructor(parts: ChannelParts) {
    this.#parts = parts;
    this.#subscriber = parts.connection.another("watch");
    this.#subscriber.subscribe(
      `${parts.prefix}:kept`,
      (message) => this.#hear(message),
      () => void this.#ask(),
    );
    this.#asking = setInterval(() => void this.#ask(), ASK_EVERY_MS).unref();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#asking);
    clearTimeout(this.#telling);
    await this.#subscriber.close();
  }

  async #ask(): Promise<void> {
    const { connection, prefix } = this.#parts;
    await answerOf(connection, (client) => client.set(`${prefix}:watched`, "1", "PX", WATCHED_MS));
  }

  #hear(message: string): void {
    const [sender = "", member = ""] = message.split(" ", 2);
    if (sender === this.#parts.sender) return;
    try {
      this.#heard.push(this.#parts.rows.read(member, message.slice(sender.length + member.length + 2)));
    } catch {
      // It was sealed with another secret, or is no call.
      return;
    }
    if (this.#heard.length > TOLD_MAX) this.#heard.shift();
    this.#telling ??= setTimeout(() => this.#tell(), TELL_MS);
  }

  #tell(): void {
    this.#telling = undefined;
    this.#parts.tell(this.#heard);
    this.#heard = [];
  }
}
