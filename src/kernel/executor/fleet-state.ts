/** A server's view of its fleet. */
export interface FleetStats {
  /** Number of worker machines that take this server's calls, of their slots, and of their busy slots. */
  readonly machines: number;
  readonly slots: number;
  readonly busySlots: number;
  /** This server's jobs that no machine has taken yet. */
  readonly waitingJobs: number;
  readonly isRedisUp: boolean;
  /** The reason why no calls run, for an operator, without addresses or secrets; `null` if calls run. */
  readonly problem: string | null;
  /** Machines with a recent heartbeat, whether they take calls or not: the first hundred by id. */
  readonly seen: readonly SeenMachine[];
  /** Number of further machines, and of machines with an unreadable heartbeat, which have another secret. */
  readonly unlisted: number;
  readonly unreadable: number;
}

/** `unready`: its executor is not running. `other protocol`: it does not understand this server. */
export type MachineState = "ready" | "draining" | "unready" | "other protocol";

/** A worker machine, by its last heartbeat. */
export interface SeenMachine {
  readonly id: string;
  /** The system's host name; `null` if the machine sends none. */
  readonly host: string | null;
  readonly state: MachineState;
  readonly slots: number;
  readonly busySlots: number;
  /** Versions of the fleet's protocol that it understands. */
  readonly protocols: readonly number[];
  readonly isSandboxed: boolean;
  /** Milliseconds since its last heartbeat, which it sends every second. */
  readonly silentMs: number;
}
