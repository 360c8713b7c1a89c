import type { LineMemory } from "./line-memory.ts";
import type { WorkerOutbox } from "./link.ts";
import type { WorkerCall } from "./worker-call.ts";

/** The log lines of a worker's calls, from their realms to the host. */
export class LogLines {
  readonly #outbox: Pick<WorkerOutbox, "post">;
  readonly #speaking: (callNumber: number) => WorkerCall | undefined;

  /** `speaking`: the call with that number, if the current turn's realm may speak for it. */
  constructor(outbox: Pick<WorkerOutbox, "post">, speaking: (callNumber: number) => WorkerCall | undefined) {
    this.#outbox = outbox;
    this.#speaking = speaking;
  }

  /** Takes the lines that gathered in the current turn's realm. A call's lines in a row are one message. */
  take(memory: LineMemory | null | undefined): void {
    let last: WorkerCall | undefined;
    memory?.take((callNumber, level, message) => {
      if (last?.callNumber !== callNumber) {
        if (last !== undefined) this.#post(last);
        last = this.#speaking(callNumber);
      }
      last?.log(level, message);
    });
    if (last !== undefined) this.#post(last);
  }

  /** Takes a line that its realm did not gather. */
  add(call: WorkerCall, level: string, message: string): void {
    call.log(level, message);
    this.#post(call);
  }

  /** Sends the call's lines that were not sent, if somebody hears them. */
  #post(call: WorkerCall): void {
    if (!call.message.stream) return;
    const lines = call.takeLines();
    if (lines.length > 0) this.#outbox.post({ kind: "log", callNumber: call.callNumber, lines });
  }
}
