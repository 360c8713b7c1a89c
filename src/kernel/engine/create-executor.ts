import { requireIsolates } from "../base/check-node.ts";
import type { ResolvedOptions } from "./options.ts";
import type { CreateExecutor, ResolvedExecutorOptions } from "../executor/executor-factory.ts";

/** Loads the packages for plugins' stores. Rejects with a `GloveboxError`, `missing_package`, if one is missing. */
export async function loadStores({
  kv,
  idempotency,
  calls,
}: Pick<ResolvedOptions, "kv" | "idempotency" | "calls">): Promise<void> {
  const places = [kv, idempotency, ...(calls === null ? [] : [calls.place])];
  for (const place of places) if ("factory" in place) await place.factory.load();
}

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
      // Tried while the rest is loaded: a working sandbox is remembered, and the executor reports the problem of
      // another.
      const tried = new Sandbox(sandbox).prepare().catch(() => undefined);
      const { ProcessExecutor } = await import("../executor/process/process-executor.ts");
      await tried;
      const isolates = { warmIsolates, spinMs, rssMaxMb: rssMb, spare, recycle, sandbox, trust };
      return (host) => new ProcessExecutor({ ...host, ...isolates });
    }
    case "plugin":
      return options.factory.load(options, options.own);
  }
}
