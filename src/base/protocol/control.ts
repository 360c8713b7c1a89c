import type { Prelude } from "./prelude.ts";

/** What the supervisor and the main thread of an executor process say to each other. Calls do not come this way. */

export interface ChildInit {
  readonly kind: "init";
  readonly workers: number;
  readonly prelude: Prelude;
  readonly entropyKey: string;
  readonly warmIsolates: number;
  /** Resident memory at which the process is given up, in MiB. */
  readonly rssMaxMb: number;
  /** First of the inherited pipes, one for each worker. */
  readonly firstPipeFd: number;
  readonly mirrorFd: number | null;
}

/** A turn that ran when memory ran out, and by how much the whole process had grown since it began, in MiB. */
export interface HungryTurn {
  readonly run: number;
  readonly grownMb: number;
}

export type FromChild =
  /** A turn that V8's timeout did not end. */
  | { readonly kind: "overrun"; readonly run: number; readonly elapsedMs: number }
  /** Resident memory over the ceiling, and whose turns ran then. */
  | { readonly kind: "memory"; readonly turns: readonly HungryTurn[]; readonly rssMb: number }
  | { readonly kind: "beat"; readonly rssBytes: number }
  | { readonly kind: "worker-lost"; readonly worker: number };
