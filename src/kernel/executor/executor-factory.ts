import type { Prelude } from "../base/protocol/prelude.ts";
import type { AskPipes } from "../broker/thread/ask-pipe.ts";
import type { EmitExecutorEvent, Executor, ExecutorOptions, ResolvedIsolateOptions } from "./executor.ts";

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
  /** Pipes of workers to the broker. Default: capability calls come by the workers' links. */
  readonly pipes?: AskPipes;
}

export type CreateExecutor = (host: ExecutorHost) => Executor;

/** A kind of executor beside `process` and `threads`. A plugin brings it. */
export interface ExecutorFactory<Own extends object = object> {
  /** Value of `executor.kind`. */
  readonly kind: string;
  /** Options that this kind alone has. */
  readonly options: readonly (keyof ExecutorOptions)[];
  /**
   * Its own options with their defaults. Throws a `RangeError` or `TypeError` that names the invalid one, no secret.
   */
  resolve(options: Partial<ExecutorOptions>): Own;
  /** Loads its module. Rejects with a `GloveboxError`, `missing_package`, if a package is missing. */
  load(options: ResolvedIsolateOptions, own: Own): Promise<CreateExecutor>;
}

/** `ExecutorOptions` with all defaults applied. */
export type ResolvedExecutorOptions = ResolvedIsolateOptions &
  (
    | { readonly kind: "process" | "threads" }
    /** Of a plugin, with the options that are its own. */
    | { readonly kind: "plugin"; readonly factory: ExecutorFactory; readonly own: object }
  );
