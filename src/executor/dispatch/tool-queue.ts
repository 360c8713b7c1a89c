import { isHardened, type ToolScript } from "../../base/protocol/script.ts";
import { Batch } from "./batch.ts";
import type { LocalCall } from "./local-call.ts";
import type { TurnTimeEstimate } from "./turn-time-estimate.ts";

/** Arguments of all calls of a batch together, in characters. */
const LENGTH_MAX = 64 * 1024;
/** Calls that were taken and are still held on to. */
const TAKEN_MAX = 1_024;

/** The calls of one tool and tenant that wait for a worker. */
export class ToolQueue {
  readonly script: ToolScript;
  readonly tenant: string;
  readonly pace: TurnTimeEstimate;
  #flights: LocalCall[] = [];
  #next = 0;

  constructor(script: ToolScript, tenant: string, pace: TurnTimeEstimate) {
    this.script = script;
    this.tenant = tenant;
    this.pace = pace;
  }

  add(flight: LocalCall): void {
    this.#flights.push(flight);
  }

  /** Puts calls back that were taken and not started. */
  putBack(flights: readonly LocalCall[]): void {
    this.#flights = [...flights, ...this.#flights.slice(this.#next)];
    this.#next = 0;
  }

  /** Gives up the calls that wait. */
  clear(): LocalCall[] {
    const left = this.#flights.slice(this.#next).filter(({ isOver }) => !isOver);
    this.#flights = [];
    this.#next = 0;
    return left;
  }

  /** Whether a call waits that is not over. */
  get isEmpty(): boolean {
    this.#skip();
    return this.#next === this.#flights.length;
  }

  /** Whether the next call must share its turn with no others. */
  get isNextAlone(): boolean {
    this.#skip();
    return this.#flights[this.#next]?.alone === true;
  }

  /** What the calls that wait will take, in milliseconds. */
  get expectedMs(): number {
    return this.pace.expectMs(this.#flights.length - this.#next);
  }

  /** The calls that go next, together: only those that are equal in all that their message says once. */
  take(): Batch {
    this.#skip();
    const flights: LocalCall[] = [];
    const together = isHardened(this.script) ? this.pace.together : 1;
    let length = 0;
    for (; this.#next < this.#flights.length && flights.length < together; this.#next++) {
      const flight = this.#flights[this.#next];
      if (flight === undefined || flight.isOver) continue;
      length += flight.job.args.length;
      const [first] = flights;
      if (first !== undefined && (length > LENGTH_MAX || !mayJoin(flight, first))) break;
      flights.push(flight);
    }
    this.#compact();
    return new Batch(this.script, this.tenant, this.pace, flights);
  }

  /** Lets go of what was taken, also where a line is never empty; now and then, as it copies what is left. */
  #compact(): void {
    if (this.#next < this.#flights.length && this.#next < TAKEN_MAX) return;
    this.#flights = this.#flights.slice(this.#next);
    this.#next = 0;
  }

  /** Calls that ended while they waited are only looked for at the head. */
  #skip(): void {
    while (this.#next < this.#flights.length && this.#flights[this.#next]?.isOver === true) this.#next++;
  }
}

function mayJoin(flight: LocalCall, first: LocalCall): boolean {
  if (flight.alone || first.alone || flight.job.stream || first.job.stream) return false;
  return flight.job.limits === first.job.limits;
}
