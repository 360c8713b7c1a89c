import type { RunMessage } from "../../base/protocol/messages.ts";
import type { ToolScript } from "../../base/protocol/script.ts";
import type { Job } from "../executor.ts";
import type { LocalCall } from "./local-call.ts";
import type { WorkItem } from "./worker-connection.ts";
import type { TurnTimeEstimate } from "./turn-time-estimate.ts";

/** Calls of one tool and tenant that enter their isolate together. */
export class Batch implements WorkItem {
  readonly script: ToolScript;
  readonly tenant: string;
  readonly turnTime: TurnTimeEstimate;
  readonly calls: readonly LocalCall[];
  readonly expectedMs: number;
  readonly isLong: boolean;
  readonly isSlow: boolean;

  constructor(script: ToolScript, tenant: string, turnTime: TurnTimeEstimate, calls: readonly LocalCall[]) {
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

  /** `null` for an empty batch. */
  message(): RunMessage | null {
    const [first] = this.calls;
    if (first === undefined) return null;
    let runs = "";
    let calls = "";
    for (const { callNumber, job, nowMs } of this.calls) {
      runs += runs === "" ? callNumber : `,${callNumber}`;
      const before = calls === "" ? "" : ",";
      const more = writeMore(job);
      calls += `${before}[${callNumber},${JSON.stringify(job.callId)},${nowMs},${job.limits.outputBytes},${job.args}${more}]`;
    }
    const { cpuMs, outputBytes, logBytes, capabilityCalls, capabilityBytes } = first.job.limits;
    const { script, tenant } = this;
    const limits = { cpuMs, outputBytes, logBytes, capabilityCalls, capabilityBytes };
    const { stream } = first.job;
    const { callNumber, ownIsolate } = first;
    // A call with earlier responses runs alone.
    const plan = this.size === 1 ? (first.job.replay?.plan() ?? "") : "";
    const how = { stream, ownIsolate, plan };
    return { kind: "run", callNumber, runs, key: script.key, tenant, ...limits, ...how, calls: `[${calls}]` };
  }
}

/** The optional fields: an operation of the tool, and the call's own seed. */
function writeMore({ command, replay }: Job): string {
  const seed = replay?.seed;
  if (seed !== undefined) return `,${JSON.stringify(command ?? null)},${JSON.stringify(seed)}`;
  return command === undefined ? "" : `,${JSON.stringify(command)}`;
}
