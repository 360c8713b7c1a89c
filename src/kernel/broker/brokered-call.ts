import type { Limits } from "../base/limits.ts";
import type { HostAccount } from "../base/tenant-account.ts";
import type { AskLog } from "./ask-log.ts";
import type { PauseCall } from "./capabilities/capability.ts";
import type { AdoptChild, CallBinary, CallOperation, CallTool } from "./capabilities/capability.ts";
import type { CallIdentity } from "./capability-event.ts";
import type { GrantSubject } from "./grants.ts";
import type { PlacedCapability } from "./thread/host-capability.ts";

/** Stores the capability calls of a running call, and their responses. */
export interface CallKeep {
  /** Adds a `JournalPart`, as JSON. Absent if a parent of the call is stored, and not the call itself. */
  append?(part: string): void;
  /**
   * Announces the effect of a step, before it happens. Rejects with a `CallFailure` if it must not happen: the store
   * cannot be used, or another process continues the call. `isRepeatable`: a later run without an answer carries it out
   * again, and no person has to say whether it happened.
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
  /** Whether the journal keeps the whole arguments, if there is room for them, for a recording of the call. */
  readonly isRecorded?: boolean;
  /** The journal from which it continues, as JSON of a `SessionSnapshot`. */
  readonly journal?: string | undefined;
  /** Its store, from which it continues after the loss of its process. Default: it is not stored. */
  readonly keep?: CallKeep | undefined;
  /** Prefix of the names of its effects, the same in all of its runs. Default: no later run repeats an effect. */
  readonly effectsId?: string | undefined;
  /** Whether its capability calls have a listener, which gets the hash of their arguments. */
  readonly isHeard?: boolean;
  /** Receives its capability calls, if its record may contain them. */
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
  /** The binary, if the tool is one. */
  readonly binary?: CallBinary | undefined;
  /** The operation, if the tool is one of another server. */
  readonly remote?: CallOperation | undefined;
  /** A capability of this call alone, granted by its caller. */
  readonly own?: PlacedCapability | undefined;
}
