import type { RunLimits, RunTerms } from "../../base/protocol/messages.ts";
import { homeOf, isHardened, type ToolScript } from "../../base/protocol/script.ts";
import { Batch, type BatchSource } from "./batch.ts";
import type { LocalCall } from "./local-call.ts";
import type { TurnTimeEstimate } from "./turn-time-estimate.ts";

const TURN_LIMITS = ["cpuMs", "outputBytes", "logBytes", "capabilityCalls", "capabilityBytes"] as const;
/** Maximum total length of a batch's arguments, in characters. */
const LENGTH_MAX = 64 * 1024;
/** Minimum number of calls of a share: to enter an isolate costs as much as some short calls do. */
const SHARE_MIN = 16;
/** Number of taken calls at which the queue drops its references to them. */
const TAKEN_MAX = 1_024;

/** The waiting calls of one tool and tenant. */
export class ToolQueue implements BatchSource {
  readonly script: ToolScript;
  readonly tenant: string;
  readonly turnTime: TurnTimeEstimate;
  /** The name of its isolates. */
  readonly home: string;
  readonly #onIdle: (queue: ToolQueue) => void;
  /** `undefined` in place of a taken call: a reference would keep it until the next full collection. */
  #calls: (LocalCall | undefined)[] = [];
  #next = 0;
  #inFlight = 0;
  /** Those of the last batch, and the limits in them. */
  #terms: RunTerms | null = null;
  #limits: RunLimits | null = null;

  /** `onIdle`: called when no call waits any more, and no batch is in flight. */
  constructor(
    script: ToolScript,
    tenant: string,
    turnTime: TurnTimeEstimate,
    onIdle: (queue: ToolQueue) => void = () => undefined,
  ) {
    this.script = script;
    this.tenant = tenant;
    this.home = homeOf(script.key, tenant);
    this.turnTime = turnTime;
    this.#onIdle = onIdle;
  }

  /** Number of batches that were taken and have not ended. */
  get inFlight(): number {
    return this.#inFlight;
  }

  add(call: LocalCall): void {
    this.#calls.push(call);
  }

  /** Puts taken calls back at the head. */
  putBack(calls: readonly LocalCall[]): void {
    this.#calls = [...calls, ...this.#calls.slice(this.#next)];
    this.#next = 0;
  }

  /** Removes the waiting calls. */
  clear(): LocalCall[] {
    const left = this.#calls.slice(this.#next).filter((call): call is LocalCall => call?.isOver === false);
    this.#calls = [];
    this.#next = 0;
    return left;
  }

  /** Whether no unfinished call waits. */
  get isEmpty(): boolean {
    this.#skip();
    return this.#next === this.#calls.length;
  }

  /** Whether the next call must share its turn with no others. */
  get isNextAlone(): boolean {
    this.#skip();
    return this.#calls[this.#next]?.alone === true;
  }

  /** Expected time of all waiting calls, in milliseconds. */
  get expectedMs(): number {
    return this.turnTime.expectMs(this.#calls.length - this.#next);
  }

  /**
   * The next batch: calls with equal values in the common fields of their message. `shares`: number of batches among
   * which the waiting calls are shared.
   */
  take(shares = 1): Batch {
    this.#skip();
    const calls: LocalCall[] = [];
    const share = Math.max(SHARE_MIN, Math.ceil((this.#calls.length - this.#next) / shares));
    const together = isHardened(this.script) ? Math.min(share, this.turnTime.together) : 1;
    let length = 0;
    for (; this.#next < this.#calls.length && calls.length < together; this.#next++) {
      const call = this.#calls[this.#next];
      if (call === undefined || call.isOver) continue;
      length += call.job.args.length;
      const first = calls[0];
      if (first !== undefined && (length > LENGTH_MAX || !mayJoin(call, first))) break;
      calls.push(call);
      this.#calls[this.#next] = undefined;
    }
    this.#compact();
    this.#inFlight++;
    return new Batch(this, calls);
  }

  /** The terms of a batch with this first call: the same object as long as they do not change. */
  termsOf({ job, ownIsolate }: LocalCall): RunTerms {
    const { limits, stream, asksHost = false, tellsTurns = false } = job;
    const last = this.#terms;
    const isSame = last?.stream === stream && last.asksHost === asksHost && last.tellsTurns === tellsTurns;
    if (isSame && last.ownIsolate === ownIsolate && this.#limits === limits) return last;
    const { cpuMs, outputBytes, logBytes, capabilityCalls, capabilityBytes } = limits;
    const { script, tenant } = this;
    const bounds = { cpuMs, outputBytes, logBytes, capabilityCalls, capabilityBytes };
    this.#limits = limits;
    return (this.#terms = { key: script.key, tenant, ...bounds, stream, asksHost, tellsTurns, ownIsolate });
  }

  endBatch(): void {
    this.#inFlight--;
    if (this.#inFlight === 0 && this.isEmpty) this.#onIdle(this);
  }

  /**
   * Drops references to taken calls, even if the queue is never empty; only occasionally, because it copies the rest.
   */
  #compact(): void {
    if (this.#next < this.#calls.length && this.#next < TAKEN_MAX) return;
    this.#calls = this.#calls.slice(this.#next);
    this.#next = 0;
  }

  /** Skips calls at the head that ended while they waited. */
  #skip(): void {
    while (this.#next < this.#calls.length && this.#calls[this.#next]?.isOver === true) this.#next++;
  }
}

function mayJoin(call: LocalCall, first: LocalCall): boolean {
  if (call.job.children?.tickets !== first.job.children?.tickets || call.attempts !== first.attempts) return false;
  if (call.alone || first.alone || call.job.stream || first.job.stream || call.starts !== first.starts) return false;
  return haveSameTurn(call.job.limits, first.job.limits);
}

/** Whether two calls have the same limits within a turn: their batch's message has these once. */
function haveSameTurn(one: RunLimits, other: RunLimits): boolean {
  // Calls without limits of their own share their tool's.
  return one === other || TURN_LIMITS.every((name) => one[name] === other[name]);
}
