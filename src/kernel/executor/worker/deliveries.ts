import type { Failure, SettleMessage, ToBroker } from "../../base/protocol/messages.ts";
import type { WorkerCall } from "./worker-call.ts";

/** The worker, as its deliveries need it. */
interface DeliveryHost {
  readonly calls: ReadonlyMap<number, WorkerCall>;
  post(call: WorkerCall, message: ToBroker): void;
  /** Runs a turn of the call, with all that follows from it. */
  turn(call: WorkerCall, body: (timeoutMs: number) => void): void;
}

/**
 * Delivers responses and timers to calls, in an order that a further run of the call can repeat. Entering an isolate
 * takes longer than reading a response, so consecutive ones of one read share a turn.
 */
export class Deliveries {
  readonly #host: DeliveryHost;
  /** The call whose responses are being read; 0 between reads. */
  #callNumber = 0;

  constructor(host: DeliveryHost) {
    this.#host = host;
  }

  /** Takes a response, which waits for those that follow it. One to an earlier attempt is dropped. */
  take(response: SettleMessage): void {
    const { callNumber, attempt, step } = response;
    if (callNumber !== this.#callNumber) this.flush();
    this.#callNumber = callNumber;
    const call = this.#host.calls.get(callNumber);
    if (call?.message.attempt !== attempt) return;
    call.arrived.push(response);
    call.unanswered.delete(step);
    call.awaited.delete(step);
  }

  /** Delivers the responses that were taken. */
  flush(): void {
    const callNumber = this.#callNumber;
    if (callNumber === 0) return;
    this.#callNumber = 0;
    for (;;) {
      const call = this.#host.calls.get(callNumber);
      const next = call?.arrived[0];
      if (call === undefined || next === undefined) return;
      // A timer due before the response fires first, so that a run with immediate responses has the same order.
      if (call.dueMs <= next.nowMs) {
        this.fire(call);
        continue;
      }
      const responses = call.takeResponses();
      if (responses.length === 0) return;
      this.#settle(call, responses);
    }
  }

  #settle(call: WorkerCall, responses: readonly SettleMessage[]): void {
    const { callNumber, deliveredCount: at } = call;
    const { attempt } = call.message;
    const count = responses.length;
    let nowMs = Number.NEGATIVE_INFINITY;
    for (const response of responses) {
      nowMs = Math.max(nowMs, response.nowMs);
      if (!response.ok) call.tell((JSON.parse(response.payload) as Failure).code);
    }
    if (!call.receive(count, nowMs)) {
      // Planned responses keep their times and turns of the first run.
      if (count > 1) this.#host.post(call, { kind: "together", callNumber, attempt, at, count });
      for (const { step, nowMs: givenMs } of responses)
        if (call.firedMs > givenMs)
          this.#host.post(call, { kind: "timed", callNumber, attempt, step, nowMs: call.firedMs });
    }
    const asks = responses.map(({ step, ok }) => (ok ? step : -step)).join(",");
    const payloads = responses.map(({ payload }) => payload).join("\n");
    this.#host.turn(call, (timeoutMs) => call.realm.settle(callNumber, asks, payloads, nowMs, timeoutMs));
  }

  /** Begins the turn of the call's timer. The host is told a time that a further run could not know. */
  fire(call: WorkerCall): void {
    const { callNumber, dueMs } = call;
    call.stopTimer();
    const { nowMs, late } = call.timeOfTimer(dueMs);
    call.firedMs = Math.max(call.firedMs, nowMs);
    const { attempt } = call.message;
    if (late !== null) this.#host.post(call, { kind: "late", callNumber, attempt, fired: late, nowMs });
    this.#host.turn(call, (timeoutMs) => call.realm.fire(callNumber, nowMs, timeoutMs));
  }
}
