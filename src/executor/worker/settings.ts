import type { MessagePort } from "node:worker_threads";
import type { Prelude } from "../../base/protocol/prelude.ts";

/** What every worker of an executor is given when its thread starts. */
export interface WorkerSettings {
  readonly prelude: Prelude;
  /** From this and a call's number its randomness is derived. */
  readonly entropyKey: string;
  readonly turnRecord: SharedArrayBuffer;
  /** An open file that mirrors the turn record. */
  readonly mirrorFd?: number;
  /** How many isolates a worker keeps warm. */
  readonly warmIsolates: number;
}

/** What the one long task of a worker gets: its number, and its end of the link to the host. */
export interface ServeTask {
  readonly worker: number;
  readonly link:
    | {
        readonly kind: "port";
        readonly port: MessagePort;
        /** One number, which the host counts up and notifies with every message. */
        readonly bell: SharedArrayBuffer;
      }
    | { readonly kind: "pipe"; readonly fd: number };
}
