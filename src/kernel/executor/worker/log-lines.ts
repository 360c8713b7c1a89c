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

  /** Takes the lines in the memory of the current turn's realm. Consecutive lines of a call are one message. */
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

  /** Takes a line that is not from its realm's memory. */
  add(call: WorkerCall, level: string, message: string): void {
    call.log(level, message);
    this.#post(call);
  }

  /** Sends the unsent lines of a call, if they are streamed. */
  #post(call: WorkerCall): void {
    if (!call.terms.stream) return;
    const lines = call.takeLines();
    if (lines.length > 0) this.#outbox.post({ kind: "log", callNumber: call.callNumber, lines });
  }
}
