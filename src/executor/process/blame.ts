import type { Failure } from "../../base/protocol/messages.ts";
import type { FromChild } from "../../base/protocol/control.ts";
import type { Turn } from "../../base/protocol/turn-record.ts";
import type { RestartReason } from "../executor.ts";

/** What is known of an executor's end. */
export interface Death {
  /** What the executor itself reported before it was killed. */
  readonly report: Extract<FromChild, { kind: "overrun" | "memory" | "worker-lost" }> | null;
  /** Why the supervisor killed it, where it did for reasons of its own. */
  readonly killedFor: "heartbeat" | "protocol" | "retired" | null;
  readonly signal: NodeJS.Signals | null;
  readonly exitCode: number | null;
  /** Whose turns ran when it died; `null` where the system gave no file to mirror them. */
  readonly turns: readonly (Turn | null)[] | null;
  /** The end of what it wrote to its standard error. */
  readonly stderr: string;
}

/** Who has to answer for it. Whoever is neither culprit nor suspect is innocent and runs again. */
export interface Verdict {
  readonly reason: RestartReason;
  readonly culprit: { readonly run: number; readonly failure: Failure } | null;
  /**
   * Calls that may have done it: each runs again where it can harm nobody. A negative number stands for all calls of
   * that call's tool: they may have been in the turn together.
   */
  readonly suspects: readonly number[];
  /** Calls whose turn it was when somebody else killed the process: it may have been the system, for its memory. */
  readonly killed: readonly number[];
}

const OUT_OF_MEMORY = /heap out of memory|Allocation failed|out of memory/i;

/** A process that was killed from outside died of nothing its calls did. */
const OUTSIDE: ReadonlySet<string> = new Set(["SIGKILL", "SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"]);

/** `memoryMbOf`: how much memory a call may use; `isAlone`: nothing else ran in that process. */
export function judge(death: Death, isAlone: boolean, memoryMbOf: (run: number) => number): Verdict {
  const { report } = death;
  if (report?.kind === "overrun") {
    const message = `the call could not be interrupted ${Math.round(report.elapsedMs)} ms after its turn began`;
    return oneOrMany("overrun", [report.run], { code: "cpu_limit", message });
  }
  if (report?.kind === "memory") {
    const message = `the executor's memory reached ${Math.round(report.rssMb)} MiB during the call's turn`;
    const runs = report.turns.map(({ run }) => run);
    const guilty = report.turns.filter(({ run, grownMb }) => isAlone || grownMb > memoryMbOf(run));
    // All that ran before may have filled it, so it is proved only by what has been taken during the turn.
    if (guilty.length !== 1) return { reason: "memory", culprit: null, suspects: runs, killed: [] };
    return oneOrMany("memory", [guilty[0]?.run ?? 0], { code: "memory_limit", message });
  }
  const runs: number[] = [];
  for (const turn of death.turns ?? []) if (turn !== null) runs.push(turn.run);
  if (death.killedFor !== null) return { reason: death.killedFor, culprit: null, suspects: [], killed: [] };
  if (report === null && death.signal !== null && OUTSIDE.has(death.signal)) {
    return { reason: "killed", culprit: null, suspects: [], killed: runs };
  }
  // A thread that ended by itself says which one it was: what the others did is nothing to it.
  const turn = report === null ? undefined : death.turns?.[report.worker];
  const suspects = report === null ? runs : turn ? [turn.run] : [];
  return oneOrMany("crash", suspects, crashFailure(death));
}

function oneOrMany(reason: RestartReason, runs: readonly number[], failure: Failure): Verdict {
  const [run] = runs;
  if (run === undefined || run < 0 || runs.length > 1) return { reason, culprit: null, suspects: runs, killed: [] };
  return { reason, culprit: { run, failure }, suspects: [], killed: [] };
}

function crashFailure(death: Death): Failure {
  if (OUT_OF_MEMORY.test(death.stderr)) {
    return { code: "memory_limit", message: "the call made V8 run out of memory" };
  }
  const end = death.signal ?? `exit code ${death.exitCode}`;
  return { code: "executor_crashed", message: `the call ended the process that ran it (${end})` };
}
