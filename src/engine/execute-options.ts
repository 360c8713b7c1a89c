import { type CapabilityRequest, matchesName } from "../broker/capabilities/capability.ts";
import type { Limits } from "../base/limits.ts";
import type { CapabilityEvent } from "../broker/capability-event.ts";
import type { LogLine, Progress } from "../base/result.ts";

/** What a call may be given besides its arguments. */
export interface ExecuteOptions {
  /** Whose call it is: tenants share neither isolates nor queue places. */
  readonly tenant?: string;
  /** -10 to 10; higher goes first. Default 0. */
  readonly priority?: number;
  /** Cancels the call, whether it waits or runs. */
  readonly signal?: AbortSignal;
  /** Limits of this call, within the engine's ceiling. The heap's is the tool's: it belongs to its isolate. */
  readonly limits?: Partial<Omit<Limits, "memoryMb">>;
  /** The ceiling of this call's limits, and of those of calls on its behalf: below the engine's, whatever `limits` asks for. */
  readonly maxLimits?: Partial<Omit<Limits, "memoryMb">>;
  /** Names of the tools that it may be a call of, each of which may end in `*`: others are as if they were not there. */
  readonly tools?: readonly string[];
  /** Narrows what the tool is granted. */
  readonly capabilities?: CapabilityRequest;
  /**
   * Puts a `Recording` into the result's metadata: all that `replayCall` needs to run the call again. It refuses calls
   * that were ended from outside, by a time limit for example, and those of tools with isolation `shared`: these are
   * not functions of what can be recorded, and their recordings only tell what they asked and were answered.
   */
  readonly record?: boolean;
  /**
   * Calls of one tenant to one tool with the same key are one call: later ones get the result of the first, while it
   * runs and as long after as the engine's `idempotency.ttlMs` says; with a file (`idempotency.path`) from other
   * processes and after a restart as well. It is cancelled when all who wait for it are, and runs again for the next one
   * where it had no effect by then. Where its process ended before it did, it runs again if its tool has no capabilities
   * or says that it is idempotent or only reads; else the answer is `outcome_unknown`. On a worker machine that knows the ledger it
   * comes to its end without its process, unless it asks for something then. At most 256 characters.
   */
  readonly idempotencyKey?: string;
  /** How often the call is tried again, instead of what its tool says of that: 0 to 5. */
  readonly retries?: number;
  /** Gets console lines as they are written. */
  readonly onLog?: (line: LogLine) => void;
  /**
   * Gets what the tool says of how far it has come: twenty times a second at most, the latest each time, and the last
   * before the call ends. It never goes back.
   */
  readonly onProgress?: (progress: Progress) => void;
  /** Gets what the tool asks the host for, once it has its answer. */
  readonly onCapability?: (event: CapabilityEvent) => void;
  /**
   * Gets the processor time, in milliseconds, of each try of the call and of the calls on its behalf, once it has ended.
   * A try that ended its process counts as all that it might have used.
   */
  readonly onCpu?: (cpuMs: number) => void;
}

/** Whether tools of these names, each of which may end in `*`, are meant by a list; without one all are. */
export function isAmong(tools: readonly string[] | undefined, name: unknown): boolean {
  return tools === undefined || (typeof name === "string" && tools.some((pattern) => matchesName(pattern, name)));
}
