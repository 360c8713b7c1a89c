import type { Prelude } from "./prelude.ts";

/** Messages between the supervisor and the main thread of an executor process. Calls use other pipes. */

export interface ChildInit {
  readonly kind: "init";
  readonly workers: number;
  readonly prelude: Prelude;
  readonly entropyKey: string;
  readonly warmIsolates: number;
  /** Time after the host's last message for which an idle worker does not sleep, in milliseconds. */
  readonly spinMs: number;
  /** Resident memory at which the process is replaced, in MiB. */
  readonly rssMaxMb: number;
  /** Descriptor of the first inherited pipe; there is one for each worker. */
  readonly firstPipeFd: number;
  /** For each worker, the word with which its pipe to the broker begins; that follows the pipes to the host. */
  readonly hellos: readonly (string | null)[];
  readonly mirrorFd: number | null;
}

/** A turn that was running when memory ran out; `grownMb`: growth of the whole process since the turn began, in MiB. */
export interface HungryTurn {
  readonly callNumber: number;
  readonly grownMb: number;
}

export type ToChild =
  | ChildInit
  /** The call has no waiting caller any more: its turn has to end. */
  | { readonly kind: "interrupt"; readonly callNumber: number }
  /** The machine is short of memory: each worker ends its largest idle isolate. */
  | { readonly kind: "shed" };

export type FromChild =
  /** A turn that the terminator failed to end. */
  | { readonly kind: "overrun"; readonly callNumber: number; readonly cpuMs: number }
  /** Resident memory above the ceiling, and the turns that were running. */
  | { readonly kind: "memory"; readonly turns: readonly HungryTurn[]; readonly rssMb: number }
  | { readonly kind: "beat"; readonly rssBytes: number }
  /** `error`: the reason for the end of its thread, if known. */
  | { readonly kind: "worker-lost"; readonly worker: number; readonly error?: string };
