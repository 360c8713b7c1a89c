import type { Limits } from "../base/limits.ts";
import type { HostAccount } from "../base/tenant-account.ts";
import type { AskLog } from "./ask-log.ts";
import type { PauseCall } from "./capabilities/capability.ts";
import type { AdoptChild, CallBinary, CallOperation, CallTool } from "./capabilities/capability.ts";
import type { CallIdentity } from "./capability-event.ts";
import type { GrantSubject } from "./grants.ts";
import type { PlacedCapability } from "./thread/host-capability.ts";

/** Stores what a call asks and hears while it runs. */
export interface CallKeep {
  /** Adds a `JournalPart`, as JSON. Absent where the call is not stored itself, but one that has made it. */
  append?(part: string): void;
  /**
   * Announces the effect of a step, before it happens. Rejects with a `CallFailure` where it must not happen: the store
   * cannot be used, or another process goes on with the call. `isRepeatable`: a later run that finds no answer carries it out
   * again, and nobody has to say whether it happened.
   */
  begin(step: number, isRepeatable: boolean): Promise<void>;
}

/** The call on whose behalf the broker acts. */
export interface BrokeredCall extends GrantSubject, CallIdentity {
  /** Its number, for capabilities of another thread. */
  readonly callNumber?: number;
  readonly tenant: string;
  readonly limits: Pick<Limits, "capabilityCalls" | "capabilityBytes"> & Partial<Pick<Limits, "wallMs">>;
  /** The account of the call, in that of its tenant. Default: a new one. */
  readonly account?: HostAccount | undefined;
  /** Whether the journal keeps the whole arguments, where there is room for them, for a recording of the call. */
  readonly isRecorded?: boolean;
  /** JSON of its journal, as `SessionSnapshot` has it, from which it goes on. */
  readonly journal?: string | undefined;
  /** Where it is stored, so that it goes on after the loss of its process. Default: it is not. */
  readonly keep?: CallKeep | undefined;
  /** Begins the names of its effects, the same in each of its runs. Default: no later run repeats one. */
  readonly effectsId?: string | undefined;
  /** Whether somebody hears of its capability calls, with the hash of their arguments. */
  readonly isHeard?: boolean;
  /** Receives its capability calls, where its record may have them. */
  readonly log?: AskLog | undefined;
  readonly callTool: (
    name: string,
    args: Record<string, unknown>,
    signal: AbortSignal,
    step: number,
  ) => ReturnType<CallTool>;
  /** See `OpenCall`. */
  readonly adoptChild?: AdoptChild;
  /** See `OpenCall`. */
  readonly pause?: PauseCall | undefined;
  /** The binary, where the tool is one. */
  readonly binary?: CallBinary | undefined;
  /** The operation, where the tool is another server's. */
  readonly remote?: CallOperation | undefined;
  /** A capability of this call alone, which its caller has granted with it. */
  readonly own?: PlacedCapability | undefined;
}
