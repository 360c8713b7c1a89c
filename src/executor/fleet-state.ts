/** What a server knows of its fleet. */
export interface FleetStats {
  /** Worker machines that take this server's calls, what they may run at once, and what they do. */
  readonly machines: number;
  readonly slots: number;
  readonly busySlots: number;
  /** This server's jobs that no machine has taken yet. */
  readonly waitingJobs: number;
  readonly isRedisUp: boolean;
  /** Why no calls run, in words for an operator, without addresses or secrets; `null` where they do. */
  readonly problem: string | null;
  /** Machines that were heard of lately, whether they take calls or not: the first hundred, by their ids. */
  readonly seen: readonly SeenMachine[];
  /** How many others there are, and how many machines that cannot be read: they have another secret. */
  readonly unlisted: number;
  readonly unreadable: number;
}

/** `unready`: its executor is not there. `other protocol`: it does not understand this server. */
export type MachineState = "ready" | "draining" | "unready" | "other protocol";

/** A worker machine, by what it last said of itself. */
export interface SeenMachine {
  readonly id: string;
  /** The name of its system, where it says one. */
  readonly host: string | null;
  readonly state: MachineState;
  readonly slots: number;
  readonly busySlots: number;
  /** Versions of the fleet's protocol that it understands. */
  readonly protocols: readonly number[];
  readonly isSandboxed: boolean;
  /** For how long it has said nothing: it does so every second. */
  readonly silentMs: number;
}
