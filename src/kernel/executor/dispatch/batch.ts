import { mayHaveLongInteger } from "../../base/exact-json.ts";
import type { RunMessage, RunTerms } from "../../base/protocol/messages.ts";
import type { ToolScript } from "../../base/protocol/script.ts";
import type { Job } from "../executor.ts";
import type { LocalCall } from "./local-call.ts";
import type { WorkItem } from "./worker-connection.ts";
import type { TurnTimeEstimate } from "./turn-time-estimate.ts";

/** Maximum length of arguments that are searched for long integers here; longer ones are searched in the isolate. */
const SEARCHED_MAX = 4_096;

/** The queue that a batch is taken from. */
export interface BatchSource {
  readonly script: ToolScript;
  readonly tenant: string;
  readonly turnTime: TurnTimeEstimate;
  termsOf(call: LocalCall): RunTerms;
  /** The batch has ended, or its worker is lost. */
  endBatch(): void;
}

/** Calls of one tool and tenant that enter their isolate together. */
export class Batch implements WorkItem {
  readonly script: ToolScript;
  readonly tenant: string;
  readonly turnTime: TurnTimeEstimate;
  readonly calls: readonly LocalCall[];
  readonly expectedMs: number;
  readonly isLong: boolean;
  readonly isSlow: boolean;
  readonly #source: BatchSource;
  #isCounted = true;

  constructor(source: BatchSource, calls: readonly LocalCall[]) {
    const { script, tenant, turnTime } = source;
    this.#source = source;
    this.script = script;
    this.tenant = tenant;
    this.turnTime = turnTime;
    this.calls = calls;
    this.expectedMs = turnTime.expectMs(calls.length);
    this.isSlow = turnTime.isSlow;
    this.isLong = turnTime.isLong || calls[0]?.alone === true;
  }

  get size(): number {
    return this.calls.length;
  }

  get runs(): number[] {
    return this.calls.map(({ callNumber }) => callNumber);
  }

  onEnd(): void {
    if (this.#isCounted) this.#source.endBatch();
    this.#isCounted = false;
  }

  /** `null` for an empty batch. */
  message(): RunMessage | null {
    const first = this.calls[0];
    if (first === undefined) return null;
    const { outputBytes } = first.job.limits;
    let runs = "";
    let calls = "";
    let hasLongIntegers = false;
    let nowMs = Number.NaN;
    // Calls of a batch mostly start at the same time, and have the same limit.
    let middle = "";
    for (const call of this.calls) {
      const { job } = call;
      const before = calls === "" ? "" : ",";
      if (call.nowMs !== nowMs) {
        nowMs = call.nowMs;
        middle = `,${nowMs},${outputBytes},`;
      }
      hasLongIntegers ||= job.args.length > SEARCHED_MAX || mayHaveLongInteger(job.args);
      runs += `${before}${call.callNumber}`;
      calls += `${before}[${call.callNumber},${JSON.stringify(job.callId)}${middle}${job.args}${writeMore(job)}]`;
    }
    const { callNumber, starts: attempt } = first;
    // A call with earlier responses runs alone.
    const plan = this.size === 1 ? (first.job.replay?.plan() ?? "") : "";
    // A child call may have caused the loss of a call: the host runs those of a further attempt.
    const tickets = plan === "" && first.attempts === 1 ? (first.job.children?.tickets ?? "") : "";
    const terms = this.#source.termsOf(first);
    return { kind: "run", callNumber, runs, terms, hasLongIntegers, attempt, plan, tickets, calls: `[${calls}]` };
  }
}

/** The optional fields: an operation of the tool, and the call's own seed. */
function writeMore({ command, replay }: Job): string {
  const seed = replay?.seed;
  if (seed !== undefined) return `,${JSON.stringify(command ?? null)},${JSON.stringify(seed)}`;
  return command === undefined ? "" : `,${JSON.stringify(command)}`;
}
