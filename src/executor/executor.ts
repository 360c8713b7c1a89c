import type { ErrorCode } from "../base/errors.ts";
import type { CapabilityCall, CapabilityResponse, Diverged } from "../base/protocol/capability-call.ts";
import type { Failure, RunLimits } from "../base/protocol/messages.ts";
import type { Inspection, ToolScript } from "../base/protocol/script.ts";
import type { Progress } from "../base/result.ts";
import type { LedgerClaim } from "../base/ledger-claim.ts";
import type { FleetStats } from "./fleet-state.ts";

export type { CapabilityCall, CapabilityResponse, Diverged } from "../base/protocol/capability-call.ts";

/** A call as an executor takes it. */
export interface Job {
  /** Unique within the engine. */
  readonly run: number;
  readonly script: ToolScript;
  readonly tenant: string;
  readonly callId: string;
  /** The arguments as JSON. */
  readonly args: string;
  /** The operation that is called, where it is not the tool's main one. */
  readonly command?: string | undefined;
  readonly limits: RunLimits & { readonly wallMs: number; readonly queueMs: number };
  /** The rest of `queueMs` until its first start. A call that loses its worker may wait for all of `queueMs` again. */
  readonly waitMs: number;
  /** Whether `onLog` and `onProgress` take lines and progress while the call runs. */
  readonly stream: boolean;
  /** Hands a capability call to the broker. Never rejects. */
  ask(call: CapabilityCall): Promise<CapabilityResponse | Diverged>;
  onLog(line: string): void;
  onProgress?(progress: Progress): void;
  /** The call went to a worker for the first time: when by `performance.now()`, and the time on the call's clock. */
  onStart?(startMs: number, nowMs: number): void;
  /** The call lost its executor after so many starts, and waits for another one. */
  onRestart?(attempts: number): void;
  /** Takes the reply: once, and without throwing. */
  settle(reply: CallReply): void;
  /** Without it, the call's clock shows the time, and a further start gets no earlier responses. */
  readonly replay?: JobReplay;
  /** For executors whose isolates are on other machines. */
  readonly fleet?: FleetTerms;
}

/** The state that makes a further start of a call see what its earlier ones saw. */
export interface JobReplay {
  /** The responses to requests of earlier starts, as a `ReplayPlan` in JSON; empty text where there are none. */
  plan(): string;
  /** A response reached the call later, by the call's clock, than the broker gave it. */
  onTimed(step: number, nowMs: number): void;
  /** The source of its randomness: 256 bits in hexadecimal. Default: derived from its number. */
  readonly seed?: string | undefined;
  /** The call's clock at its start, since the epoch. Default: the time. */
  readonly nowMs?: number | undefined;
  /** Whether another executor had started it: then `plan` has the responses that it got there. */
  readonly isResumed?: boolean;
}

/** How a fleet treats a call. */
export interface FleetTerms {
  /** Between -10 and 10, higher first. Default 0. */
  readonly priority?: number | undefined;
  /** The call that waits for it and holds a slot already: it goes before all others, and is exempt from caps. */
  readonly parent?: object | null;
  /** With it, another server may store the call's result where this one is lost. */
  readonly ticket?: LedgerClaim | undefined;
}

/** How a call ended. */
export interface CallReply {
  /** The output's JSON, or a failure. */
  readonly outcome: { readonly ok: true; readonly json: string } | { readonly ok: false; readonly failure: Failure };
  readonly cpuMs: number;
  /** From its dispatch to its first start, and from there to its end. */
  readonly waitedMs: number;
  readonly wallMs: number;
  readonly heapBytes: number;
  readonly attempts: number;
  /** `[level, message][]` as JSON, or empty text. */
  readonly logs: string;
  readonly dropped: number;
  /** Number of responses that had reached the call, where that is known. */
  readonly heard?: number | undefined;
}

/** What an executor tells about itself. */
export interface ExecutorStats {
  readonly isolates: { readonly active: number; readonly warm: number; readonly blank: number };
  /** Isolates and contexts started so far, by kind. */
  readonly starts: ReadonlyMap<string, number>;
  readonly heapBytes: ReadonlyMap<string, number>;
  readonly rssBytes: number;
  /** Whether calls can run now. */
  readonly ready: boolean;
  /** Whether another process stands ready to take over. */
  readonly spareReady: boolean;
  readonly quarantined: readonly string[];
  readonly sandbox: SandboxState;
  /** Of an executor whose isolates are on other machines. */
  readonly fleet?: FleetStats;
}

/** Whether executor processes stand inside walls of the operating system, and if not, why. */
export type SandboxState = { readonly kind: "bubblewrap" } | { readonly kind: "off"; readonly reason: string };

/** `auto`: where it works. `require`: nothing runs without it. */
export type SandboxMode = "auto" | "require" | "off";

/** Which processes: those that serve, or the one in which tools and calls run that may end it. */
export type PoolName = "main" | "quarantine";

/** What executors do that is not part of any call's own life: names and what listeners get. */
export interface ExecutorEvents {
  /** A batch of calls went to a worker. */
  "dispatch:batch": [event: { readonly size: number }];
  /** An executor process went to work. */
  "executor:start": [event: { readonly pid: number; readonly ward: PoolName }];
  /** An executor was lost and replaced. `culprits` are the tools to blame; `restarted` calls of others start again. */
  "executor:lost": [
    event: {
      readonly pid: number;
      readonly ward: PoolName;
      readonly reason: RestartReason;
      readonly culprits: readonly string[];
      readonly restarted: number;
    },
  ];
  /** An executor process makes room for a fresh one, and ends its calls first. */
  "executor:recycle": [event: { readonly pid: number; readonly ward: PoolName; readonly reason: RecycleReason }];
  /** Executor processes are lost so fast that the next one waits. */
  "executor:delay": [event: { readonly ward: PoolName; readonly delayMs: number }];
  /** A worker machine of the fleet takes calls from now on. */
  "fleet:join": [event: { readonly machine: string }];
  /** A worker machine has gone; what it had, others take up. */
  "fleet:leave": [event: { readonly machine: string }];
  /** A machine took calls that had waited in the fleet for so long. */
  "fleet:taken": [event: { readonly size: number; readonly waitMs: number }];
  /** Another machine took up calls whose machine was lost. */
  "fleet:resume": [event: { readonly size: number }];
  /** Something came from the fleet that cannot be read; `unsaid` such things before it were not told. */
  "fleet:damage": [event: { readonly why: string; readonly unsaid?: number }];
  /** A call starts again that lost its executor through no fault of its own, after so many starts. */
  "call:restart": [event: { readonly callId: string; readonly tool: string; readonly attempts: number }];
  /** A tool ended an executor, so it runs apart from now on. `tenant` is whose call did it. */
  "tool:quarantine": [event: { readonly tool: string; readonly tenant: string; readonly strikes: number }];
  /** A tenant's calls of the tool are refused for a while, because its calls ended too many executors. */
  "tool:refuse": [event: { readonly tool: string; readonly tenant: string; readonly retryAfterMs: number }];
  /** That while is over: one call shows whether the tool does it again. */
  "tool:probe": [event: { readonly tool: string; readonly tenant: string }];
  /** After enough clean calls the tool runs among the others again. */
  "tool:clear": [event: { readonly tool: string }];
}

/** Where executors tell what they do. */
export type EmitExecutorEvent = (
  ...told: { [Name in keyof ExecutorEvents]: [name: Name, ...args: ExecutorEvents[Name]] }[keyof ExecutorEvents]
) => void;

/** Why an executor had to be replaced. */
export type RestartReason = "overrun" | "memory" | "crash" | "killed" | "heartbeat" | "protocol" | "retired";

/** Why a process was replaced although nothing was wrong with it; `idle`: not before it is needed again. */
export type RecycleReason = "age" | "calls" | "heap" | "idle";

/** After how much service an executor process makes room for a fresh one. */
export interface Recycling {
  /** Default 21,600,000: six hours. */
  readonly ageMs: number;
  /** Default 100,000,000. */
  readonly calls: number;
  /** Resident memory in MiB. Default: half of `rssMb`. */
  readonly rssMb: number;
}

/** Runs calls in isolates, wherever those are. One suite tests every implementation. */
export interface Executor {
  readonly kind: ExecutorKind;
  /** Resolves when calls can run. Rejects with `executor_lost` where that is impossible. */
  start(): Promise<void>;
  /** Settles the job once, sooner or later: what goes wrong is in its reply. */
  run(job: Job): void;
  /** Ends a call at once with this code; its worker learns of it as soon as it can. */
  cancel(run: number, code: ErrorCode, message: string): void;
  /** Evaluates a tool's module in an isolate of its own and says what it exports. */
  inspect(script: ToolScript): Promise<Inspection>;
  /** Drops what is kept for a tool that is gone. */
  forget(key: string): void;
  /** How long a tenant's calls of a tool are refused because of what they did, in milliseconds; 0 where they may run. */
  refusedForMs(tool: string, tenant: string): number;
  stats(): ExecutorStats;
  /** Ends every call in flight with `engine_closed` and leaves no thread and no process behind. */
  close(): Promise<void>;
}

export type ExecutorKind = "process" | "threads" | "queue";

export interface ExecutorOptions {
  /**
   * `process` (the default): a supervised child process. `threads`: threads of this process, no crash boundary. `queue`: worker
   * machines (`glovebox worker`), which get the calls from Redis; what is said here of isolates is for them to say.
   */
  readonly kind: ExecutorKind;
  /** Isolates that each worker keeps warm. Default 128. */
  readonly warmIsolates?: number;
  /** `process` only: resident memory at which an executor is replaced, in MiB. Default 4096. */
  readonly rssMb?: number;
  /** `process` only: whether a second process stands ready. Default true. */
  readonly spare?: boolean;
  /** `process` only: when a process makes room for a fresh one. Its calls end first. */
  readonly recycle?: Partial<Recycling>;
  /**
   * `process` only: whether executors run inside bubblewrap. `auto` (the default): where it is installed and works.
   * `require`: the engine does not start without it. `off`: they do not.
   */
  readonly sandbox?: SandboxMode;
  /**
   * `queue` only, and required there: where Redis is. `redis://[[user]:password@]host[:port][/db]`, `rediss://` with TLS,
   * `redis+sentinel://host[,…]/name`, `redis+cluster://host[,…]`.
   */
  readonly url?: string;
  /** `queue` only: the name of the servers and machines that belong together. Default `default`. */
  readonly fleet?: string;
  /** `queue` only: what all of the fleet know, so that nobody reads in Redis what they say to each other. At least 16 characters. */
  readonly secret?: string;
  /** `queue` only: for how long Redis may be lost until calls in flight end with `executor_lost`. Default 10,000. */
  readonly lostMs?: number;
  /**
   * `queue` only: where code lies that is too large for Redis: a folder that all machines have, or `s3+https://host/bucket/prefix`.
   * Default: nowhere.
   */
  readonly store?: string;
  /** `queue` only: the most of a tool's code that goes to Redis, in bytes as it is stored. Default 16 MiB. */
  readonly codeMaxBytes?: number;
}

/** How isolates are kept, with everything decided. */
export interface ResolvedIsolateOptions extends Required<
  Pick<ExecutorOptions, "warmIsolates" | "rssMb" | "spare" | "sandbox">
> {
  readonly recycle: Recycling;
}

/** Which fleet it is, with everything decided. */
export interface ResolvedFleetOptions extends Required<
  Pick<ExecutorOptions, "url" | "fleet" | "lostMs" | "codeMaxBytes">
> {
  readonly secret: string | undefined;
  /** A URL, or an absolute path. */
  readonly store: string | undefined;
}

/** `ExecutorOptions` with everything decided. */
export type ResolvedExecutorOptions =
  | (ResolvedIsolateOptions & { readonly kind: "process" | "threads" })
  | (ResolvedIsolateOptions & ResolvedFleetOptions & { readonly kind: "queue" });
