import type { CapabilityCallMessage, SettleMessage, ToBroker } from "../../base/protocol/messages.ts";
import type { WorkerOutbox } from "./link.ts";
import type { WorkerCall } from "./worker-call.ts";

/** Messages of calls to the broker: by a pipe of the worker's own, or by the link to the host. */
export class BrokerOutbox {
  readonly #toHost: WorkerOutbox;
  /** `null` without a pipe, and if the broker has ended. */
  #pipe: WorkerOutbox | null;

  constructor(toHost: WorkerOutbox, pipe: WorkerOutbox | null) {
    this.#toHost = toHost;
    this.#pipe = pipe;
  }

  ask(call: WorkerCall, message: CapabilityCallMessage): void {
    const { step, capability, method, nowMs } = message;
    if (this.#pipeOf(call) !== null)
      call.unanswered.set(step, { capability, method, nowMs, askedMs: performance.now() });
    this.#outboxOf(call).post(message);
  }

  /** Sends a message together with those of the turn that begins now. */
  add(call: WorkerCall, message: ToBroker): void {
    this.#outboxOf(call).add(message);
  }

  /** Reports the end of a call to the broker, after all of its capability calls. Returns whether it does. */
  end({ callNumber, hasSent, deliveredCount, message: { attempt } }: WorkerCall): boolean {
    if (hasSent) this.#pipe?.post({ kind: "end", callNumber, attempt, deliveredCount });
    return hasSent;
  }

  /** Called when the broker has ended. Returns the responses to waiting capability calls; later ones go to the host. */
  lose(calls: Iterable<WorkerCall>): readonly SettleMessage[] {
    this.#pipe = null;
    return Array.from(calls).flatMap((call) => {
      call.hasSent = false;
      return call.failUnanswered();
    });
  }

  flush(): void {
    this.flushPipe();
    this.#toHost.flush();
  }

  flushPipe(): void {
    this.#pipe?.flush();
  }

  #outboxOf(call: WorkerCall): WorkerOutbox {
    const pipe = this.#pipeOf(call);
    call.hasSent = pipe !== null;
    return pipe ?? this.#toHost;
  }

  #pipeOf({ terms }: WorkerCall): WorkerOutbox | null {
    return terms.asksHost ? null : this.#pipe;
  }
}
