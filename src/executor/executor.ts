import type { ErrorCode } from "../errors.ts";
import type { Failure, RunLimits } from "../protocol/messages.ts";
import type { Inspection, ToolScript } from "../protocol/script.ts";

/** A capability call on its way to the broker. */
export interface Ask {
  /** Counts the call's asks from 1; the same step again when the call is run again. */
  readonly step: number;
  readonly capability: string;
  readonly method: string;
  /** JSON. */
  readonly args: string;
}

/** The broker's answer. `diverged`: a call that was run again asked something else than before, so it must end. */
export type Answer =
  | { readonly kind: "value"; readonly nowMs: number; readonly json: string }
  | { readonly kind: "failure"; readonly nowMs: number; readonly failure: Failure }
  | { readonly kind: "diverged"; readonly message: string };

/** A call as an executor takes it. */
export interface Job {
  /** Unique within the engine. */
  readonly run: number;
  readonly script: ToolScript;
  readonly tenant: string;
  readonly callId: string;
  /** The arguments as JSON. */
  readonly args: string;
  readonly limits: RunLimits & { readonly wallMs: number };
  /** Whether `onLog` wants lines as they come. */
  readonly stream: boolean;
  /** Hands a capability call to the broker. Never rejects. */
  ask(ask: Ask): Promise<Answer>;
  onLog(line: string): void;
}

/** How a call ended. */
export interface Reply {
  /** The output's JSON, or a failure. */
  readonly outcome: { readonly ok: true; readonly json: string } | { readonly ok: false; readonly failure: Failure };
  readonly cpuMs: number;
  readonly wallMs: number;
  readonly heapBytes: number;
  readonly attempts: number;
  /** `[level, message][]` as JSON, or empty text. */
  readonly logs: string;
  readonly dropped: number;
}

/** What an executor tells about itself. */
export interface ExecutorStats {
  readonly isolates: { readonly active: number; readonly warm: number; readonly blank: number };
  /** Isolates and contexts started so far, by kind. */
  readonly starts: ReadonlyMap<string, number>;
  readonly heapBytes: ReadonlyMap<string, number>;
  readonly rssBytes: number;
  /** Processes or threads that serve now. */
  readonly ready: boolean;
  readonly quarantined: readonly string[];
}

/** Something an executor did that is not part of any call. */
export type ExecutorEvent =
  | { readonly kind: "started"; readonly pid: number }
  | { readonly kind: "lost"; readonly reason: RestartReason; readonly culprits: readonly string[] }
  | { readonly kind: "batch"; readonly size: number }
  | { readonly kind: "quarantined"; readonly tool: string; readonly strikes: number };

/** Why an executor had to be replaced. */
export type RestartReason = "overrun" | "memory" | "crash" | "killed" | "heartbeat" | "protocol";

/** Runs calls in isolates, wherever those are. One suite tests every implementation. */
export interface Executor {
  readonly kind: ExecutorKind;
  /** Resolves when calls can run. Rejects with `executor_lost` where that is impossible. */
  start(): Promise<void>;
  /** Never rejects: what goes wrong is in the reply. */
  run(job: Job): Promise<Reply>;
  /** Ends a call at once with this code; its worker learns of it as soon as it can. */
  cancel(run: number, code: ErrorCode, message: string): void;
  /** Evaluates a tool's module in an isolate of its own and says what it exports. */
  inspect(script: ToolScript): Promise<Inspection>;
  /** Drops what is kept for a tool that is gone. */
  forget(key: string): void;
  /** How long a tool is refused because of what it did, in milliseconds; 0 where it may run. */
  refusedForMs(tool: string): number;
  stats(): ExecutorStats;
  /** Ends every call in flight with `engine_closed` and leaves no thread and no process behind. */
  close(): Promise<void>;
}

export type ExecutorKind = "process" | "threads";

export interface ExecutorOptions {
  /** `process` (the default): a supervised child process. `threads`: threads of this process, no crash boundary. */
  readonly kind: ExecutorKind;
  /** Isolates that each worker keeps warm. Default 128. */
  readonly warmIsolates?: number;
  /** `process` only: resident memory at which an executor is replaced, in MiB. Default 4096. */
  readonly rssMb?: number;
  /** `process` only: whether a second process stands ready. Default true. */
  readonly spare?: boolean;
}
