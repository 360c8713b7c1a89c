import type { Prelude } from "../base/protocol/prelude.ts";
import { requireIsolates } from "../base/check-node.ts";
import { importOptional } from "../base/optional-package.ts";
import type { AskPipes } from "../broker/thread/ask-pipe.ts";
import type { ResolvedOptions } from "./options.ts";
import type { Executor, ResolvedExecutorOptions, EmitExecutorEvent } from "../executor/executor.ts";

/**
 * Loads the Redis client if an option needs it. Rejects with a `GloveboxError`, `missing_package`, if it is not
 * installed.
 */
export async function requirePackages({
  kv,
  idempotency,
  calls,
}: Pick<ResolvedOptions, "kv" | "idempotency" | "calls">): Promise<void> {
  const load = () => import("../store/redis/connection.ts");
  if ("url" in kv) await importOptional("kv.url", ["ioredis"], load);
  if (idempotency.kind === "redis") await importOptional("idempotency.url", ["ioredis"], load);
  if (calls !== null && "url" in calls.store) await importOptional("calls.url", ["ioredis"], load);
}

/** Engine parts and options that every executor gets. */
export interface ExecutorHost {
  readonly workers: number;
  readonly prelude: Prelude;
  readonly entropyKey: string;
  readonly nextCallNumber: () => number;
  /** Caps on calls in flight on all machines of a fleet together; `Infinity` for no cap. */
  readonly perTool?: number;
  readonly perTenant?: number;
  readonly emit: EmitExecutorEvent;
  /** Pipes of workers to the broker. Default: what calls ask comes with all else. */
  readonly pipes?: AskPipes;
}

export type CreateExecutor = (host: ExecutorHost) => Executor;

/**
 * Loads only the chosen executor's module. Rejects with a `GloveboxError`, `missing_package`, if a package is missing,
 * and with an `Error` if this runtime has no isolates.
 */
export async function loadExecutor(options: ResolvedExecutorOptions): Promise<CreateExecutor> {
  switch (options.kind) {
    case "threads": {
      requireIsolates();
      const { ThreadsExecutor } = await import("../executor/threads/threads-executor.ts");
      const { warmIsolates, spinMs } = options;
      return (host) => new ThreadsExecutor({ ...host, warmIsolates, spinMs });
    }
    case "process": {
      requireIsolates();
      const { warmIsolates, spinMs, rssMb, spare, recycle, sandbox, trust } = options;
      const { Sandbox } = await import("../executor/process/sandbox.ts");
      // Tried while the rest is loaded: a sandbox that works is remembered, and the executor says what is wrong with another.
      const tried = new Sandbox(sandbox).prepare().catch(() => undefined);
      const { ProcessExecutor } = await import("../executor/process/process-executor.ts");
      await tried;
      const isolates = { warmIsolates, spinMs, rssMaxMb: rssMb, spare, recycle, sandbox, trust };
      return (host) => new ProcessExecutor({ ...host, ...isolates });
    }
    case "queue": {
      const load = () => import("../fleet/server/queue-executor.ts");
      const { QueueExecutor } = await importOptional('executor "queue"', ["bullmq", "ioredis"], load);
      const { requireSigner } = await import("../fleet/texts/open-store.ts");
      await requireSigner(options.store);
      return (host) => new QueueExecutor({ perTool: Infinity, perTenant: Infinity, ...options, ...host });
    }
  }
}
