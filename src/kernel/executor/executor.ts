import type { RedisDown, RedisUp } from "../store/outage.ts";
import type { ErrorCode } from "../base/errors.ts";
import type { CapabilityCall, Respond } from "../base/protocol/capability-call.ts";
import type { Failure, RunLimits } from "../base/protocol/messages.ts";
import type { Inspection, ToolScript, ToolVersion } from "../base/protocol/script.ts";
import type { Progress } from "../base/result.ts";
import type { LedgerClaim } from "../base/ledger-claim.ts";
import type { FleetStats } from "./fleet-state.ts";
import type { TrustGroup } from "./trust-groups.ts";

export type { CapabilityCall, CapabilityResponse, Diverged, Respond } from "../base/protocol/capability-call.ts";

/** A call as an executor receives it. */
export interface Job {
  /** Unique within the engine. */
  readonly callNumber: number;
  readonly script: ToolScript;
  readonly tenant: string;
  readonly callId: string;
  /** The arguments as JSON. */
  readonly args: string;
  /** The operation to call, if it is not the tool's main one. */
  readonly command?: string | undefined;
  readonly limits: RunLimits & { readonly wallMs: number; readonly queueMs: number };
  /**
   * Rest of `queueMs` until the first start, in milliseconds. A call that loses its worker may wait for the whole
   * `queueMs` again.
   */
  readonly waitMs: number;
  /** Whether `onLog` and `onProgress` receive lines and progress while the call runs. */
  readonly stream: boolean;
  /**
   * Called when an attempt begins. `pipe`: the number of its worker's pipe to the broker, `null` if it has none;
   * `attempt`: the number of this start.
   */
  begin?(pipe: number | null, attempt: number): void;
  /** Called if the broker does not know the call, which made a capability call by its worker's pipe. */
  introduce?(): void;
  /** The child calls that its worker may run itself. */
  readonly children?: JobChildren | null;
  /** Whether its capability calls come by the worker's link to the engine, even with a pipe to the broker. */
  readonly asksHost?: boolean;
  /** Whether its reply includes its turns. */
  readonly tellsTurns?: boolean;
  /** Sends a capability call to the broker, which responds at once or later. Never throws. */
  ask(call: CapabilityCall, respond: Respond): void;
  onLog(line: string): void;
  onProgress?(progress: Progress): void;
  /** Called when the call first goes to a worker: the time by `performance.now()`, and by the call's clock. */
  onStart?(startMs: number, nowMs: number): void;
  /** Called when a watched call only waits. */
  onIdle?(idle: CallIdle): void;
  /** Called when the call lost its executor after this many attempts, and waits for another one. */
  onRestart?(attempts: number): void;
  /** Receives the reply: once, and without throwing. */
  settle(reply: CallReply): void;
  /** Without it, the call's clock starts at the current time, and further attempts get no earlier responses. */
  readonly replay?: JobReplay;
  /** For executors with isolates on other machines. */
  readonly fleet?: FleetTerms;
}

/** A run that only waits. */
export interface CallIdle {
  /** Numbers of its capability calls, and of responses delivered to it. */
  readonly asked: number;
  readonly delivered: number;
  /** Time until its timer is due, in milliseconds; `null` without one. */
  readonly dueInMs: number | null;
  /** Processor time of the run so far, in milliseconds; absent if an older machine does not report it. */
  readonly usedMs?: number | undefined;
}

/** Child calls that a worker may run itself: `ChildTickets` as JSON, and the scripts of their tools. */
export interface JobChildren {
  readonly tickets: string;
  readonly scripts: readonly ToolScript[];
}

/** The state that makes further attempts of a call deterministic. */
export interface JobReplay {
  /** The responses to capability calls of earlier attempts, as a `ReplayPlan` in JSON; empty text without any. */
  plan(): string;
  /**
   * Before a further attempt: fetches the later result of `plan`, if that is elsewhere; `null` if there is nothing to
   * fetch. Resolves with the failure of a call that cannot be repeated. Never rejects.
   */
  prepare?(): Promise<Failure | null> | null;
  /** Called when a response was delivered later, by the call's clock, than the broker gave it. */
  onTimed(step: number, nowMs: number): void;
  /** Called when the call's clock did not wait for the due time of its `fired`-th timer turn. */
  onLate(fired: number, nowMs: number): void;
  /** Called when so many responses, from the one at this index on, were delivered in one turn. */
  onTogether(at: number, count: number): void;
  /** The call's random seed: 256 bits in hexadecimal. Default: derived from its number. */
  readonly seed?: string | undefined;
  /** The call's clock at its start, in milliseconds since the epoch. Default: the current time. */
  readonly nowMs?: number | undefined;
  /** Whether it continues an earlier run, here or elsewhere: then `plan` has the responses delivered there. */
  readonly isResumed?: boolean;
}

/** A fleet's treatment of a call. */
export interface FleetTerms {
  /** Between -10 and 10, higher first. Default 0. */
  readonly priority?: number | undefined;
  /**
   * The call that waits for this one and already holds a slot: this one goes before all others, and is exempt from
   * caps.
   */
  readonly parent?: object | null;
  /** With it, another server may adopt the call's result if this one is lost. */
  readonly claim?: LedgerClaim | undefined;
}

/** The JSON of an output. */
export interface OutputText {
  readonly ok: true;
  readonly json: string;
  /** Of a long one: `json` joins them when it is read. No character is in two of them. */
  readonly parts?: readonly string[];
}

/** An output in one text, or in parts. */
export function outputOf(json: string, parts?: readonly string[]): OutputText {
  if (parts === undefined) return { ok: true, json };
  // V8 copies a joined text at its first read. A copy, or a message of a fleet, has the text only once.
  const joined = { ok: true, json: parts.reduce((all, part) => all + part, "") } as const;
  return Object.defineProperty(joined, "parts", { value: parts });
}

/** The end of a job. */
export interface CallReply {
  readonly outcome: OutputText | { readonly ok: false; readonly failure: Failure };
  readonly cpuMs: number;
  /** Time from its dispatch to its first start, and from there to its end. */
  readonly waitedMs: number;
  readonly wallMs: number;
  readonly heapBytes: number;
  readonly attempts: number;
  /** `[level, message][]` as JSON, or empty text. */
  readonly logs: string;
  readonly dropped: number;
  /** Number of responses delivered to the call, if known. */
  readonly deliveredCount?: number | undefined;
  /** Whether its last attempt has sent messages to the broker by its worker's pipe, if the worker has reported that. */
  readonly asked?: boolean | undefined;
  /** The turns of its last start as its worker reported them, if it had several and they were requested. */
  readonly turns?: string;
  /**
   * If the work continues after the reply, as for a cancelled call whose turn has to be ended first: resolves with its
   * processor time in milliseconds, which is not in `cpuMs`. Never rejects.
   */
  readonly work?: Promise<number>;
}

/** An executor's state. */
export interface ExecutorStats {
  readonly isolates: { readonly active: number; readonly warm: number; readonly blank: number };
  /** Number of isolates and contexts started so far, by kind. */
  readonly starts: ReadonlyMap<string, number>;
  readonly heapBytes: ReadonlyMap<string, number>;
  readonly rssBytes: number;
  /** Whether calls can run now. */
  readonly ready: boolean;
  /** The reason why no process serves calls; `null` if one does, or is starting for the first time. */
  readonly problem?: string | null;
  /** Whether a second process is ready to take over. */
  readonly spareReady: boolean;
  readonly quarantined: readonly string[];
  readonly sandbox: SandboxState;
  /** Trust groups with the processes that serve them now. Only if the executor has processes on this machine. */
  readonly groups?: readonly { readonly name: string; readonly pids: readonly number[] }[];
  /** For an executor with isolates on other machines. */
  readonly fleet?: FleetStats;
}

/** Whether executor processes run in the operating system's sandbox, and if not, the reason. */
export type SandboxState = { readonly kind: "bubblewrap" } | { readonly kind: "off"; readonly reason: string };

/** `auto`: if it works. `require`: nothing runs without it. */
export type SandboxMode = "auto" | "require" | "off";

/** Name of a pool of processes: `main` serves calls; `quarantine` runs tools and calls that may crash their process. */
export type PoolName = "main" | "quarantine";

/** Events of executors that belong to no single call, by name, with their listeners' arguments. */
export interface ExecutorEvents {
  /** A batch of calls was sent to a worker. */
  "dispatch:batch": [event: { readonly size: number }];
  /** An executor process started serving. `group`: its trust group; `all` for threads. */
  "executor:start": [event: { readonly pid: number; readonly ward: PoolName; readonly group: string }];
  /**
   * An executor was lost and replaced. `culprits` are the tools to blame; `restarted` is the number of other calls that
   * start again.
   */
  "executor:lost": [
    event: {
      readonly pid: number;
      readonly ward: PoolName;
      readonly group: string;
      readonly reason: RestartReason;
      readonly culprits: readonly string[];
      readonly restarted: number;
      /** The error, such as `EMFILE`, if the process could not start; of a thread, the error that ended it. */
      readonly cause?: string;
    },
  ];
  /** An executor process is being replaced by a fresh one; its calls end first. */
  "executor:recycle": [
    event: { readonly pid: number; readonly ward: PoolName; readonly group: string; readonly reason: RecycleReason },
  ];
  /** Executors are lost so fast, or cannot start, that the next start is delayed. */
  "executor:delay": [
    event: { readonly ward: PoolName; readonly group: string; readonly delayMs: number; readonly cause?: string },
  ];
  /** A worker machine joined the fleet. */
  "fleet:join": [event: { readonly machine: string }];
  /** A worker machine left the fleet; others take its jobs. */
  "fleet:leave": [event: { readonly machine: string }];
  /** A machine took calls; `waitMs` is their wait in the fleet. */
  "fleet:taken": [event: { readonly size: number; readonly waitMs: number }];
  /** Another machine resumed calls of a lost machine. */
  "fleet:resume": [event: { readonly size: number }];
  /** A server's start waits for a worker machine, for at most `waitMs`. */
  "fleet:wait": [event: { readonly problem: string; readonly waitMs: number }];
  /** Unreadable data came from the fleet. `unsaid`: number of such events omitted before this one. */
  "fleet:damage": [event: { readonly why: string; readonly unsaid?: number }];
  /**
   * Redis cannot be used: reported at once, and then with growing pauses, up to five minutes, while it lasts. `kind` is
   * `unreachable`, `silent`, `busy`, `login`, `permission`, `database`, `tls`, `full`, `replica`, `disk`, `cluster`,
   * `sentinel` or `other`; `message` has the effect on calls, and the remedy.
   */
  "redis:down": [event: RedisDown];
  /** Redis can be used again. */
  "redis:up": [event: RedisUp];
  /**
   * A call starts again after it lost its executor without causing the loss; `attempts` is the number of earlier
   * attempts.
   */
  "call:restart": [event: { readonly callId: string; readonly tool: string; readonly attempts: number }];
  /** A tool crashed an executor and is quarantined. `tenant` is the tenant of the call to blame. */
  "tool:quarantine": [event: { readonly tool: string; readonly tenant: string; readonly strikes: number }];
  /** A tenant's calls of the tool are refused for a while, because they crashed too many executors. */
  "tool:refuse": [event: { readonly tool: string; readonly tenant: string; readonly retryAfterMs: number }];
  /** The refusal is over: one probe call shows whether the tool crashes again. */
  "tool:probe": [event: { readonly tool: string; readonly tenant: string }];
  /** The tool left quarantine after enough clean calls. */
  "tool:clear": [event: { readonly tool: string }];
}

/** Emits an executor's events. */
export type EmitExecutorEvent = (
  ...told: { [Name in keyof ExecutorEvents]: [name: Name, ...args: ExecutorEvents[Name]] }[keyof ExecutorEvents]
) => void;

/** The reason why an executor was replaced; `spawn`: the system could not start its process. */
export type RestartReason = "overrun" | "memory" | "crash" | "killed" | "heartbeat" | "protocol" | "retired" | "spawn";

/**
 * The reason why a healthy process was replaced; `idle`: the next one starts on demand; `broker`: its workers have no
 * pipes to the broker, which has been started again or for the first time.
 */
export type RecycleReason = "age" | "calls" | "heap" | "idle" | "broker";

/** Limits of service after which a fresh process replaces an executor process. */
export interface Recycling {
  /** Default 21,600,000: six hours. */
  readonly ageMs: number;
  /** Default 100,000,000. */
  readonly calls: number;
  /** Resident memory in MiB. Default: half of `rssMb`. */
  readonly rssMb: number;
}

/** Runs calls in isolates, on this machine or others. One test suite covers every implementation. */
export interface Executor {
  readonly kind: ExecutorKind;
  /** Resolves when calls can run. Rejects with `executor_lost` if that is impossible. */
  start(): Promise<void>;
  /** Runs a job and settles it once; failures are in its reply. */
  run(job: Job): void;
  /** Ends a call at once with this code, and cancels it on its worker. */
  cancel(callNumber: number, code: ErrorCode, message: string): void;
  /** Has `onIdle` of a running job called whenever it only waits. Absent: never called. */
  watch?(callNumber: number): void;
  /** Evaluates a tool's module in its own isolate and describes its exports. */
  inspect(script: ToolScript): Promise<Inspection>;
  /** Drops the cached state of a removed tool. */
  forget(key: string): void;
  /** Lets no worker run child calls of a replaced or removed tool by itself any more. Calls in flight end unchanged. */
  withdraw?(key: string): void;
  /**
   * Remaining time for which a tenant's calls of a tool are refused because of their crashes, in milliseconds; 0 if
   * they may run.
   */
  refusedForMs(tool: ToolVersion, tenant: string): number;
  /**
   * Whether calls of both tools for a tenant may share a worker, so that it may run the one for the other. Absent: none
   * may.
   */
  mayShareWorker?(tool: ToolVersion, other: ToolVersion, tenant: string): boolean;
  /** The trust group of a tool's calls for a tenant; `null` if this executor has no processes on this machine. */
  trustGroup(tool: ToolVersion, tenant: string): string | null;
  stats(): ExecutorStats;
  /** Ends every call in flight with `engine_closed` and leaves no thread and no process behind. */
  close(): Promise<void>;
}

/** `queue` is that of fleets; plugins may bring others. */
export type ExecutorKind = "process" | "threads" | "queue" | (string & Record<never, never>);

export type Latency = "normal" | "low";

export interface ExecutorOptions {
  /**
   * `process` (the default): a supervised child process. `threads`: threads of this process, without a crash boundary.
   * `queue`: worker machines (`glovebox worker`), which get calls through Redis; they configure their isolates
   * themselves.
   */
  readonly kind: ExecutorKind;
  /** Number of isolates that each worker keeps warm. Default 128. */
  readonly warmIsolates?: number;
  /**
   * `low`: the host and its workers poll for the next message for half a millisecond before they sleep. Single short
   * calls are two to three times as fast while both sides have a free processor, and every pause costs that half
   * millisecond of processor time on both. On a loaded machine it has no benefit. Default `normal`. With `queue` it is
   * a setting of the worker machines, not of the server.
   */
  readonly latency?: Latency;
  /** `process` only: resident memory at which an executor is replaced, in MiB. Default 4096. */
  readonly rssMb?: number;
  /** `process` only: whether a second process is kept ready. Default true. */
  readonly spare?: boolean;
  /** `process` only: limits after which a fresh process replaces an old one. The old one's calls end first. */
  readonly recycle?: Partial<Recycling>;
  /**
   * Not `threads`: groups of calls that share no process with calls of other groups. A call belongs to the first group
   * that names its tenant and the registrant of its tool. Default: `own` for the operator's tools, `brought` for all
   * others. At most 16; calls that no group names are the group `rest`.
   */
  readonly trust?: readonly TrustGroup[];
  /**
   * `process` only: whether executors run inside bubblewrap. `auto` (the default): if it is installed and works.
   * `require`: the engine does not start without it. `off`: never.
   */
  readonly sandbox?: SandboxMode;
  /**
   * `queue` only, and required there: the URL of Redis. `redis://[[user]:password@]host[:port][/db]`, `rediss://` with
   * TLS, `redis+sentinel://host[,…]/name`, `redis+cluster://host[,…]`.
   */
  readonly url?: string;
  /** `queue` only: the name of the fleet, the same on its servers and machines. Default `default`. */
  readonly fleet?: string;
  /**
   * `queue` only: the secret of the fleet's members, with which they encrypt their data in Redis. At least 16
   * characters.
   */
  readonly secret?: string;
  /** `queue` only: milliseconds without Redis after which calls in flight end with `executor_lost`. Default 10,000. */
  readonly lostMs?: number;
  /**
   * `queue` only: store for code that is too large for Redis: a folder that all machines share, or
   * `s3+https://host/bucket/prefix`. Default: none.
   */
  readonly store?: string;
  /** `queue` only: maximum size of a tool's code in Redis, in bytes as stored. Default 16 MiB. */
  readonly codeMaxBytes?: number;
}

/** Isolate options with all defaults applied. */
export interface ResolvedIsolateOptions extends Required<
  Pick<ExecutorOptions, "warmIsolates" | "rssMb" | "spare" | "sandbox">
> {
  readonly recycle: Recycling;
  /** Time after a message for which neither the host nor a worker sleeps, in milliseconds; 0 for `normal` latency. */
  readonly spinMs: number;
  /** The last group has all calls that no earlier group names. */
  readonly trust: readonly TrustGroup[];
}
