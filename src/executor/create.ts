import type { Executor, ExecutorEvent, ExecutorOptions } from "./executor.ts";
import { ProcessExecutor } from "./process/process-executor.ts";
import { ThreadsExecutor } from "./threads/threads-executor.ts";

/** What an engine gives every executor. */
export interface ExecutorHost {
  readonly workers: number;
  readonly prelude: string;
  readonly entropyKey: string;
  readonly nextRun: () => number;
  readonly onEvent: (event: ExecutorEvent) => void;
}

export function createExecutor(options: Required<ExecutorOptions>, host: ExecutorHost): Executor {
  const { kind, warmIsolates, rssMb, spare } = options;
  switch (kind) {
    case "threads":
      return new ThreadsExecutor({ ...host, warmIsolates });
    case "process":
      return new ProcessExecutor({ ...host, warmIsolates, rssMaxMb: rssMb, spare });
  }
}
