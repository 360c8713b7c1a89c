import type { ResolvedOptions } from "../options.ts";
import type { Executor, ExecutorEvent } from "./executor.ts";
import { ProcessExecutor } from "./process/process-executor.ts";
import { ThreadsExecutor } from "./threads/threads-executor.ts";

/** What an engine gives every executor. */
export interface ExecutorHost {
  readonly prelude: string;
  readonly entropyKey: string;
  readonly nextRun: () => number;
  readonly onEvent: (event: ExecutorEvent) => void;
}

export function createExecutor({ executor, workers }: ResolvedOptions, host: ExecutorHost): Executor {
  const { kind, warmIsolates, rssMb, spare } = executor;
  switch (kind) {
    case "threads":
      return new ThreadsExecutor({ ...host, workers, warmIsolates });
    case "process":
      return new ProcessExecutor({ ...host, workers, warmIsolates, rssMaxMb: rssMb, spare });
  }
}
