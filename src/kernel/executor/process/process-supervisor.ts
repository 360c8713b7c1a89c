import type { RecycleReason, Recycling } from "../executor.ts";
import type { WorkerConnection, WorkerConnectionListener } from "../dispatch/worker-connection.ts";
import { isPressed } from "../../base/os/pressure.ts";
import { Backoff } from "./backoff.ts";
import type { Death } from "./blame.ts";
import { causeOf, type ChildOptions, type ExecutorProcess, startExecutor } from "./child-handle.ts";
import type { SpareProcess } from "./spare-process.ts";

/**
 * The role of a process: it serves calls, is about to replace the one that does, or ends its last calls. A `left` one
 * has ended them and is killed.
 */
export type ProcessRole = "active" | "next" | "leaving" | "left";

export interface ProcessSupervisorOptions {
  readonly child: ChildOptions;
  /** A second process, so that work continues at once when the first is lost; `null`: none is kept. */
  readonly spare: SpareProcess | null;
  readonly recycling: Recycling;
  /** Whether the last process is unused. */
  readonly isIdle: () => boolean;
  /** Time after which an unused process ends: it is started again for the next call. `null`: it never ends. */
  readonly restAfterMs: number | null;
  /** Bytes in the isolates of some connections, with their expected overhead. */
  readonly knownBytes: (connections: readonly WorkerConnection[]) => number;
  readonly listener: WorkerConnectionListener;
  /** A process starts serving. */
  onActive(child: ExecutorProcess): void;
  /** The process takes no more calls; `release` it when its calls have ended. */
  onLeave(child: ExecutorProcess, reason: RecycleReason): void;
  onDeath(child: ExecutorProcess, death: Death): void;
  /** Processes are lost so fast, or cannot start, that the next start is delayed; `cause`: of a failed start. */
  onDelay(delayMs: number, cause: string | null): void;
}

interface SupervisedProcess {
  readonly child: ExecutorProcess;
  readonly startedMs: number;
  role: ProcessRole;
  isReady: boolean;
}

const CHECK_EVERY_MS = 1_000;
/** Time from the start of a process to that of the spare. */
const SETTLE_MS = 300;
/** Time for a leaving process to end its last calls, in milliseconds, before they are moved to the next one. */
const LEAVE_MS = 30_000;

/** Keeps one executor process serving. */
export class ProcessSupervisor {
  readonly #options: ProcessSupervisorOptions;
  readonly #backoff = new Backoff();
  readonly #processes = new Map<ExecutorProcess, SupervisedProcess>();
  #active: SupervisedProcess | null = null;
  /** The replacement of a process whose service has ended. */
  #next: SupervisedProcess | null = null;
  /** Whether it was ever started: unneeded processes are not replaced. */
  #isWanted = false;
  #retry: NodeJS.Timeout | null = null;
  readonly #check: NodeJS.Timeout;
  #idleMs = 0;
  #closed = false;
  /** The cause of the last failed start; `null` after a successful one. */
  problem: string | null = null;

  constructor(options: ProcessSupervisorOptions) {
    this.#options = options;
    this.#check = setInterval(() => this.#look(), CHECK_EVERY_MS).unref();
  }

  /** Whether a process serves calls. */
  get isReady(): boolean {
    return this.#active?.isReady === true;
  }

  /** Whether a process serves calls, or will without a further request. */
  get isAwake(): boolean {
    return this.#active !== null || this.#retry !== null;
  }

  get pids(): readonly number[] {
    return [...this.#processes.keys()].map(({ pid }) => pid);
  }

  get rssBytes(): number {
    let rssBytes = 0;
    for (const child of this.#processes.keys()) rssBytes += child.rssBytes;
    return rssBytes;
  }

  /** Resolves when the first process serves calls; rejects with its error if it cannot be started. */
  async start(): Promise<void> {
    this.#isWanted = true;
    // After losses the next process waits for its backoff.
    if (!this.isAwake && !this.#closed) this.#complete();
    await this.#active?.child.ready;
  }

  /** The process of a connection. */
  owner(connection: WorkerConnection): ExecutorProcess | null {
    for (const child of this.#processes.keys()) if (child.connections.includes(connection)) return child;
    return null;
  }

  /** Ends a leaving process whose calls have ended. */
  release(child: ExecutorProcess): void {
    const member = this.#processes.get(child);
    if (member?.role !== "leaving") return;
    member.role = "left";
    child.kill(null);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#check);
    if (this.#retry !== null) clearTimeout(this.#retry);
    const deaths = [...this.#processes.keys()].map((child) => child.death);
    for (const child of this.#processes.keys()) child.kill(null);
    await Promise.all(deaths);
  }

  /** Makes a process the active one; if it is still starting, it serves once it has started. */
  #promote(next: SupervisedProcess): void {
    if (next === this.#next) this.#next = null;
    next.role = "active";
    this.#active = next;
    if (next.isReady) this.#options.onActive(next.child);
  }

  #spawn(): SupervisedProcess {
    return this.#keep(startExecutor(this.#options.child, this.#options.listener), false);
  }

  /** The process in reserve, if there is one. */
  #takeSpare(): SupervisedProcess | null {
    const taken = this.#options.spare?.take(this.#options.listener) ?? null;
    return taken === null ? null : this.#keep(taken.child, taken.isReady);
  }

  #keep(child: ExecutorProcess, isReady: boolean): SupervisedProcess {
    const member: SupervisedProcess = { child, startedMs: performance.now(), role: "next", isReady };
    this.#processes.set(child, member);
    child.ready.then(
      () => {
        const wasReady = member.isReady;
        member.isReady = true;
        this.problem = null;
        this.#backoff.started();
        if (!wasReady && member.role === "active" && !this.#closed) this.#options.onActive(child);
      },
      () => undefined,
    );
    void child.death.then((death) => {
      this.#processes.delete(child);
      if (!this.#closed) this.#onDeath(member, death);
    });
    return member;
  }

  #onDeath(member: SupervisedProcess, death: Death): void {
    const { child, role, isReady } = member;
    if (role === "left") return;
    const delayMs = this.#backoff.lost(isReady);
    const cause = isReady ? null : causeOf(death);
    if (cause !== null) this.problem = cause;
    if (member === this.#next) this.#next = null;
    if (member === this.#active) {
      this.#active = null;
      // The next process is promoted first, so that calls that run again find its connections.
      const next = this.#next ?? this.#takeSpare();
      if (next !== null) this.#promote(next);
    }
    this.#options.onDeath(child, death);
    if (delayMs > 0) this.#options.onDelay(delayMs, cause);
    this.#completeSoon(delayMs);
  }

  #completeSoon(delayMs: number): void {
    this.#retry ??= setTimeout(() => this.#complete(), delayMs);
  }

  /** Starts the missing processes. */
  #complete(): void {
    this.#retry = null;
    if (this.#closed || !this.#isWanted) return;
    if (this.#active === null) this.#promote(this.#next ?? this.#takeSpare() ?? this.#spawn());
    const { spare } = this.#options;
    if (this.#active?.isReady !== false) spare?.prepare();
    else {
      // The first tools and calls get the processor before a process that is not needed yet.
      const later = (): unknown => setTimeout(() => spare?.prepare(), SETTLE_MS).unref();
      this.#active.child.ready.then(later, () => undefined);
    }
  }

  #look(): void {
    const { spare } = this.#options;
    if (isPressed("memory")) {
      for (const child of this.#processes.keys()) child.shedIdle();
      spare?.shedIdle();
    }
    // A spare may have had to wait for the processor.
    if (this.#active !== null && this.#retry === null) spare?.prepare();
    this.#recycle();
  }

  /** Replaces the active process after its limits of service. */
  #recycle(): void {
    const old = this.#active;
    if (old === null || !old.isReady || this.#closed) return;
    const { child, startedMs } = old;
    let calls = 0;
    for (const connection of child.connections) calls += connection.served;
    const { rssBytes, connections } = child;
    const knownBytes = this.#options.knownBytes(connections);
    const service = { ageMs: performance.now() - startedMs, calls, rssBytes, knownBytes };
    const { isIdle, restAfterMs } = this.#options;
    this.#idleMs = isIdle() ? this.#idleMs + CHECK_EVERY_MS : 0;
    if (restAfterMs !== null && this.#idleMs >= restAfterMs) {
      this.#isWanted = false;
      this.#active = null;
      return this.#leave(old, "idle");
    }
    const reason = child.isCutOff ? "broker" : recycleReason(this.#options.recycling, service);
    if (reason === null) return;
    // The replacement is not urgent: the old process serves until the new one is ready.
    this.#next ??= this.#takeSpare() ?? this.#spawn();
    if (!this.#next.isReady) return;
    this.#promote(this.#next);
    this.#completeSoon(0);
    this.#leave(old, reason);
  }

  #leave(member: SupervisedProcess, reason: RecycleReason): void {
    const { child } = member;
    member.role = "leaving";
    const timer = setTimeout(() => child.kill("retired"), LEAVE_MS);
    void child.death.then(() => clearTimeout(timer));
    this.#options.onLeave(child, reason);
  }
}

/** The service of a process so far. */
export interface Service {
  readonly ageMs: number;
  readonly calls: number;
  readonly rssBytes: number;
  /** Bytes in its isolates, and their expected overhead. */
  readonly knownBytes: number;
}

/**
 * Minimum age for a replacement because of memory: otherwise a load that needs that much would cause constant
 * replacements.
 */
const HEAP_AGE_MIN_MS = 60_000;
/**
 * Memory outside isolates, in MiB, from which a process is replaced, and the minimum age for that: native code keeps
 * it.
 */
const LOST_MB = 256;
const LOST_AGE_MIN_MS = 5_000;
const MIB = 1024 * 1024;

/** The first reason to replace a process, or `null`. */
export function recycleReason(recycling: Recycling, service: Service): RecycleReason | null {
  const { ageMs, calls, rssBytes, knownBytes } = service;
  if (ageMs >= recycling.ageMs) return "age";
  if (calls >= recycling.calls) return "calls";
  if (ageMs >= HEAP_AGE_MIN_MS && rssBytes >= recycling.rssMb * MIB) return "heap";
  return ageMs >= LOST_AGE_MIN_MS && rssBytes - knownBytes >= LOST_MB * MIB ? "heap" : null;
}
