import type { Prelude } from "../../base/protocol/prelude.ts";
import type { SharedTexts } from "../../base/protocol/shared-texts.ts";

/** The settings of an executor's workers, passed at the start of each thread. */
export interface WorkerSettings {
  readonly prelude: Omit<Prelude, "parts">;
  readonly parts: SharedTexts;
  /** The key from which, with a call's number, the call's random seed is derived. */
  readonly entropyKey: string;
  readonly turnRecord: SharedArrayBuffer;
  /** Memory of the isolates, by tenant. */
  readonly holdings: SharedArrayBuffer;
  /** The descriptor of a file that mirrors the turn record. */
  readonly mirrorFd?: number;
  /** Number of isolates that a worker keeps warm. */
  readonly warmIsolates: number;
  /** Time after the host's last message for which an idle worker does not sleep, in milliseconds. */
  readonly spinMs: number;
}
