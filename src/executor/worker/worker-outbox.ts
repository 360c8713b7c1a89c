import type { ToHost } from "../../base/protocol/messages.ts";
import { encodeToHost } from "../../base/protocol/wire.ts";

/** Replies wait for the rest of the batch at most so long, in milliseconds. */
const REPLY_DELAY_MS = 0.05;

/** What a worker has to say to its host, sent together as far as it comes together. */
export class WorkerOutbox {
  readonly #send: (text: string) => void;
  #text = "";
  #sinceMs = 0;

  constructor(send: (text: string) => void) {
    this.#send = send;
  }

  post(message: ToHost): void {
    const nowMs = performance.now();
    if (this.#text === "") this.#sinceMs = nowMs;
    this.#text += encodeToHost(message);
    if (nowMs - this.#sinceMs > REPLY_DELAY_MS) this.flush();
  }

  flush(): void {
    const text = this.#text;
    if (text === "") return;
    this.#text = "";
    this.#send(text);
  }
}
