import { type MemberOptions, readMachines } from "../wire/members.ts";
import type { MachineInfo } from "../wire/messages.ts";
import type { MachineState } from "../../kernel/executor/fleet-state.ts";

/** Number of consecutive missed reads after which a machine is lost: a single miss may be a restarted Redis. */
const MISSED_MAX = 2;

export interface MachineDirectoryListener {
  onJoin(machine: string): void;
  onLeave(machine: string): void;
  /** Number of machines with an unreadable heartbeat, reported when it was 0 before. */
  onForeign(count: number): void;
}

/** The machines of the fleet, from one server's side. */
export class MachineDirectory {
  readonly #options: MemberOptions;
  readonly #protocol: number;
  readonly #listener: MachineDirectoryListener;
  /** Sorted by id. */
  #machines: ReadonlyMap<string, MachineInfo> = new Map();
  /** Time of each machine's last new heartbeat. */
  readonly #beatMs = new Map<string, number>();
  /** Number of consecutive reads without a known machine's heartbeat. */
  readonly #missed = new Map<string, number>();
  /** Number of machines with an unreadable heartbeat. */
  #foreign = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: MemberOptions, protocol: number, listener: MachineDirectoryListener) {
    this.#options = options;
    this.#protocol = protocol;
    this.#listener = listener;
  }

  start(): void {
    this.#timer ??= setInterval(() => void this.look(), this.#options.timings.lookMs);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  get all(): ReadonlyMap<string, MachineInfo> {
    return this.#machines;
  }

  get foreign(): number {
    return this.#foreign;
  }

  /** Machines that take this server's calls. */
  get serving(): readonly MachineInfo[] {
    return [...this.#machines.values()].filter((machine) => this.stateOf(machine) === "ready");
  }

  stateOf({ protocols, isReady, isDraining }: MachineInfo): MachineState {
    if (!protocols.includes(this.#protocol)) return "other protocol";
    if (isDraining) return "draining";
    return isReady ? "ready" : "unready";
  }

  /** Milliseconds since a machine's last heartbeat. */
  silentMs(machine: string): number {
    const heardMs = this.#beatMs.get(machine);
    return heardMs === undefined ? 0 : Math.round(performance.now() - heardMs);
  }

  /** The reason why no machine supports this server's protocol; `null` if one does or no machine exists. */
  get misfit(): string | null {
    const machines = [...this.#machines.values()];
    if (machines.length === 0 || machines.some(({ protocols }) => protocols.includes(this.#protocol))) return null;
    const spoken = [...new Set(machines.flatMap(({ protocols }) => protocols))].toSorted((a, b) => a - b).slice(0, 8);
    const isOlder = (spoken[0] ?? 0) > this.#protocol;
    const remedy = `${isOlder ? "upgrade this server, or " : ""}start worker machines of its version beside them`;
    return (
      `no worker machine of the fleet understands protocol ${this.#protocol}, which this server speaks; ` +
      `they understand ${spoken.join(", ")}: ${remedy}`
    );
  }

  /** Whether a machine was present at the last look. */
  has(machine: string): boolean {
    return this.#machines.has(machine);
  }

  async look(): Promise<void> {
    const read = await readMachines(this.#options);
    if (read === null) return;
    const { machines: now, unreadable } = read;
    if (unreadable > 0 && this.#foreign === 0) this.#listener.onForeign(unreadable);
    this.#foreign = unreadable;
    const before = this.#machines;
    const nowMs = performance.now();
    for (const [id, { beat }] of now) {
      if (beat === undefined || before.get(id)?.beat !== beat) this.#beatMs.set(id, nowMs);
    }
    const machines = new Map(now);
    for (const [id, info] of before) {
      if (now.has(id)) continue;
      const missed = (this.#missed.get(id) ?? 0) + 1;
      if (missed < MISSED_MAX) {
        this.#missed.set(id, missed);
        machines.set(id, info);
      } else this.#missed.delete(id);
    }
    for (const id of now.keys()) this.#missed.delete(id);
    this.#machines = new Map([...machines].toSorted(([a], [b]) => (a < b ? -1 : 1)));
    for (const id of this.#beatMs.keys()) if (!machines.has(id)) this.#beatMs.delete(id);
    for (const id of before.keys()) if (!machines.has(id)) this.#listener.onLeave(id);
    for (const id of machines.keys()) if (!before.has(id)) this.#listener.onJoin(id);
  }
}
