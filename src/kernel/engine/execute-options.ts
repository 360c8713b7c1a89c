import type { CapabilityRequest } from "../broker/capabilities/capability.ts";
import type { Limits } from "../base/limits.ts";
import type { CapabilityEvent } from "../broker/capability-event.ts";
import type { LogLine, Progress } from "../base/result.ts";

/** Origin of a call, for its kept record. */
export interface CallOrigin {
  /** At most 64 characters. Default `library`; a child call has `tool`. */
  readonly surface?: string;
  /** Name of the key with which it is made, at most 256 characters. */
  readonly key?: string | null;
  /**
   * Whether a server has found the key among its keys, and checks it again before the call continues after a wait.
   * Default false: the key is only a name.
   */
  readonly isKeyChecked?: boolean;
}

/** Options of a call. */
export interface ExecuteOptions {
  /** Tenant of the call: tenants share neither isolates nor queue places. */
  readonly tenant?: string;
  /** -10 to 10; higher goes first. Default 0. */
  readonly priority?: number;
  /** Origin of the call. */
  readonly origin?: CallOrigin;
  /** Cancels the call while it waits or runs. */
  readonly signal?: AbortSignal;
  /**
   * Limits of this call, up to the engine's `maxLimits`. Excludes the heap limit, which belongs to the tool's isolate.
   */
  readonly limits?: Partial<Omit<Limits, "memoryMb">>;
  /** Ceiling of the limits of this call and of its child calls, below the engine's, regardless of `limits`. */
  readonly maxLimits?: Partial<Omit<Limits, "memoryMb">>;
  /** Names of the tools that the call may use, each of which may end in `*`; other tools are not found. */
  readonly tools?: readonly string[];
  /** Narrows the tool's grants for this call. */
  readonly capabilities?: CapabilityRequest;
  /**
   * Adds a `Recording` to the result's metadata: the input of `replayCall`. `replayCall` refuses calls ended from
   * outside, for example by a time limit, and calls of tools with isolation `shared`: they are not functions of the
   * recorded data. Their recordings only show capability calls and responses.
   */
  readonly record?: boolean;
  /**
   * Calls of one tenant to one tool with the same key run once: later ones get the result of the first, while it runs
   * and for the engine's `idempotency.ttlMs` after it. With `idempotency.path` this also holds for other processes and
   * after a restart. The run is cancelled when all its callers have cancelled; the next call with the key then runs
   * again if the cancelled run had no effect. If the process ended before the call, the call runs again only if its
   * tool has no capabilities, is idempotent or is read-only; otherwise the error is `outcome_unknown`. A worker machine
   * that knows the ledger can end the call without that process, unless the call makes a further capability call. At
   * most 256 characters.
   */
  readonly idempotencyKey?: string;
  /** Maximum number of retries, 0 to 5, instead of the tool's own. */
  readonly retries?: number;
  /**
   * If the call has to wait for a person, a signal or a time: `return` ends it with `paused`, and it is kept; `wait`
   * waits up to `waitMs` for its end after that; `refuse` fails with `cannot_pause`. Default `return`.
   */
  readonly pause?: "return" | "wait" | "refuse";
  /**
   * Stores the call before it begins: after the loss of its process another one continues it, and each effect happens
   * once. Not for tools with isolation `shared`. Default false.
   */
  readonly durable?: boolean;
  /**
   * `onFailure`: if the call ends with an error, its tool calls are undone, as far as their tools declare how. Includes
   * `durable`. See `engine.calls.undo`.
   */
  readonly undo?: "onFailure";
  /** With `pause: "wait"`, in milliseconds: at most, and by default, 25,000. */
  readonly waitMs?: number;
  /** Receives console lines as they are written. */
  readonly onLog?: (line: LogLine) => void;
  /**
   * Receives progress reports of the tool: at most twenty per second, always the latest, and the last one before the
   * call ends. Progress never decreases.
   */
  readonly onProgress?: (progress: Progress) => void;
  /** Receives each capability call after its response. */
  readonly onCapability?: (event: CapabilityEvent) => void;
  /**
   * Receives the processor time, in milliseconds, of each attempt of the call and of its child calls, when the attempt
   * has ended, of a cancelled call after its answer: that of tool code, and that of the host's main thread for
   * capability calls. An attempt that ended its process counts as its whole `cpuMs` limit.
   */
  readonly onCpu?: (cpuMs: number) => void;
}

/** The work of a tool of the host itself, within the options that its caller may have. */
export type AnswerWork = (options: ExecuteOptions) => Promise<unknown>;
