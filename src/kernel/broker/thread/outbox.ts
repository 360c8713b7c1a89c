/** Maximum delay of a message that is not urgent, in milliseconds. */
const LATER_MS = 20;

/** Messages to another thread, which wakes once for those of one turn of the event loop. */
export class Outbox<Message> {
  readonly #post: (messages: readonly Message[]) => void;
  #messages: Message[] = [];
  #isDue = false;
  #timer: NodeJS.Timeout | null = null;

  constructor(post: (messages: readonly Message[]) => void) {
    this.#post = post;
  }

  /** Posts a message, and those that wait, after this turn of the event loop. */
  push(message: Message): void {
    this.#messages.push(message);
    if (this.#isDue) return;
    this.#isDue = true;
    setImmediate(() => this.flush());
  }

  /** Posts a message with the next one, or after `LATER_MS`. */
  pushLater(message: Message): void {
    this.#messages.push(message);
    if (!this.#isDue) this.#timer ??= setTimeout(() => this.flush(), LATER_MS);
  }

  flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#isDue = false;
    if (this.#messages.length === 0) return;
    const messages = this.#messages;
    this.#messages = [];
    this.#post(messages);
  }
}
