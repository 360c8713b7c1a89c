import type { Prelude } from "../base/protocol/prelude.ts";
import type { Executor, ResolvedExecutorOptions, EmitExecutorEvent } from "../executor/executor.ts";
import { ProcessExecutor } from "../executor/process/process-executor.ts";
import { QueueExecutor } from "../fleet/server/queue-executor.ts";
import { ThreadsExecutor } from "../executor/threads/threads-executor.ts";

/** What an engine gives every executor. */
export interface ExecutorHost {
  readonly workers: number;
  readonly prelude: Prelude;
  readonly entropyKey: string;
  readonly nextRun: () => number;
  /** Caps that hold wherever calls run; `Infinity` for none. */
  readonly perTool?: number;
  readonly perTenant?: number;
  readonly tell: EmitExecutorEvent;
}

export function createExecutor(options: ResolvedExecutorOptions, host: ExecutorHost): Executor {
  const { warmIsolates, rssMb, spare, recycle, sandbox } = options;
  switch (options.kind) {
    case "threads":
      return new ThreadsExecutor({ ...host, warmIsolates });
    case "process":
      return new ProcessExecutor({ ...host, warmIsolates, rssMaxMb: rssMb, spare, recycle, sandbox });
    case "queue":
      return new QueueExecutor({ perTool: Infinity, perTenant: Infinity, ...options, ...host });
  }
}
