import type { Failure } from "../../base/protocol/messages.ts";
import type { FromChild } from "../../base/protocol/control.ts";
import type { Turn } from "../../base/protocol/turn-record.ts";
import type { RestartReason } from "../executor.ts";

/** Evidence of an executor process's end. */
export interface Death {
  /** The executor's own report before it was killed. */
  readonly report: Extract<FromChild, { kind: "overrun" | "memory" | "worker-lost" }> | null;
  /** The supervisor's reason for killing it, if it had one of its own. */
  readonly killedFor: "heartbeat" | "protocol" | "retired" | null;
  /** Whether the kernel ended it because its control group had no memory left. */
  readonly isMemory: boolean;
  /** The system's error if it could not start the process, such as `spawn node EMFILE`; otherwise `null`. */
  readonly startError: string | null;
  readonly signal: NodeJS.Signals | null;
  readonly exitCode: number | null;
  /** The turns that ran when it died; `null` if no file could mirror them. */
  readonly turns: readonly (Turn | null)[] | null;
  /** The end of its standard error. */
  readonly stderr: string;
}

/** The calls to blame. A call that is neither culprit nor suspect is innocent and runs again. */
export interface Verdict {
  readonly reason: RestartReason;
  readonly culprit: { readonly callNumber: number; readonly failure: Failure } | null;
  /**
   * Calls that may be the cause: each runs again in quarantine. A negative number means all calls of that call's tool:
   * they may have shared the turn.
   */
  readonly suspects: readonly number[];
  /** Calls with a turn when another process killed this one: possibly the system, for its memory. */
  readonly killed: readonly number[];
}

/** Growth of the process's memory during a call's turn that makes the call suspect, in MiB. */
const SUSPECT_MB = 16;

/** V8's last message: its heap is full, or one table needs more elements than V8 allows. */
const OUT_OF_MEMORY = /out of memory|Allocation failed|JavaScript invalid size error/i;

/** Signals sent from outside: the process's own calls do not cause them. */
const OUTSIDE: ReadonlySet<string> = new Set(["SIGKILL", "SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"]);

/** `memoryMbOf`: the memory limit of a call; `isAlone`: nothing else ran in that process. */
export function judge(death: Death, isAlone: boolean, memoryMbOf: (callNumber: number) => number): Verdict {
  const { report, startError } = death;
  if (startError !== null) return { reason: "spawn", culprit: null, suspects: [], killed: [] };
  if (report?.kind === "overrun") {
    const message = `the call could not be interrupted after ${Math.round(report.cpuMs)} ms of processor time (limits.cpuMs)`;
    return oneOrMany("overrun", [report.callNumber], { code: "cpu_limit", message });
  }
  if (report?.kind === "memory") {
    const message = `the executor's memory reached ${Math.round(report.rssMb)} MiB during the call's turn (limits.memoryMb)`;
    const guilty = report.turns.filter(({ callNumber, grownMb }) => isAlone || grownMb > memoryMbOf(callNumber));
    // Other calls may have filled the memory, so only growth during the turn is proof, or makes a call suspect.
    const suspects = report.turns.filter(({ grownMb }) => grownMb >= SUSPECT_MB).map(({ callNumber }) => callNumber);
    if (guilty.length !== 1) return { reason: "memory", culprit: null, suspects, killed: [] };
    return oneOrMany("memory", [guilty[0]?.callNumber ?? 0], { code: "memory_limit", message });
  }
  const runs: number[] = [];
  for (const turn of death.turns ?? []) if (turn !== null) runs.push(turn.callNumber);
  if (report === null && death.isMemory) {
    const message =
      "the system ended the executor: its memory reached the limit of its control group in the call's turn (limits.memoryMb)";
    return oneOrMany("memory", runs, { code: "memory_limit", message });
  }
  if (death.killedFor !== null) return { reason: death.killedFor, culprit: null, suspects: [], killed: [] };
  if (report === null && death.signal !== null && OUTSIDE.has(death.signal)) {
    return { reason: "killed", culprit: null, suspects: [], killed: runs };
  }
  // A thread that ended by itself is identified: the turns of others are not suspect.
  const turn = report === null ? undefined : death.turns?.[report.worker];
  const suspects = report === null ? runs : turn ? [turn.callNumber] : [];
  return oneOrMany("crash", suspects, crashFailure(death));
}

function oneOrMany(reason: RestartReason, runs: readonly number[], failure: Failure): Verdict {
  const [run] = runs;
  if (run === undefined || run < 0 || runs.length > 1) return { reason, culprit: null, suspects: runs, killed: [] };
  return { reason, culprit: { callNumber: run, failure }, suspects: [], killed: [] };
}

function crashFailure(death: Death): Failure {
  if (OUT_OF_MEMORY.test(death.stderr)) {
    return { code: "memory_limit", message: "the call made V8 run out of memory (limits.memoryMb)" };
  }
  const end = death.signal ?? `exit code ${death.exitCode}`;
  return { code: "executor_crashed", message: `the call ended the process that ran it (${end})` };
}
