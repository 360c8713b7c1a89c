import type { CapabilityCallMessage, SettleMessage, ToBroker } from "../../base/protocol/messages.ts";
import type { WorkerOutbox } from "./link.ts";
import type { WorkerCall } from "./worker-call.ts";

/** What calls send to the broker: by a pipe of the worker's own, or with all else to the host. */
export class BrokerOutbox {
  readonly #toHost: WorkerOutbox;
  /** `null` without a pipe, and where the broker has ended. */
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

  /** Sends a message with what the turn that begins now sends. */
  add(call: WorkerCall, message: ToBroker): void {
    this.#outboxOf(call).add(message);
  }

  /** The call has ended: the broker hears of it behind all that the call has asked. Returns whether it does. */
  end({ callNumber, hasSent, deliveredCount, message: { attempt } }: WorkerCall): boolean {
    if (hasSent) this.#pipe?.post({ kind: "end", callNumber, attempt, deliveredCount });
    return hasSent;
  }

  /** The broker has ended. Returns the responses to what was asked of it; later capability calls go to the host. */
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

  #pipeOf({ message }: WorkerCall): WorkerOutbox | null {
    return message.asksHost ? null : this.#pipe;
  }
}
