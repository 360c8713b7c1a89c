import type { Lane, LaneListener } from "../lane.ts";
import type { Death } from "./blame.ts";
import { ChildHandle, type ChildOptions } from "./child-handle.ts";

export interface CrewOptions {
  readonly child: ChildOptions;
  /** Whether a second process is kept running, so that work goes on at once when the first is lost. */
  readonly spare: boolean;
  readonly listener: LaneListener;
  onActive(child: ChildHandle): void;
  /** A spare that dies has no calls to answer for. */
  onDeath(child: ChildHandle, death: Death, wasActive: boolean): void;
}

const BACKOFF_FIRST_MS = 50;
const BACKOFF_MAX_MS = 10_000;

/** Keeps one executor process at work, and a spare behind it. Restarts back off when processes die at their start. */
export class Crew {
  readonly #options: CrewOptions;
  #active: ChildHandle | null = null;
  #spare: ChildHandle | null = null;
  readonly #alive = new Set<ChildHandle>();
  #backoffMs = 0;
  #timer: NodeJS.Timeout | null = null;
  #closed = false;

  constructor(options: CrewOptions) {
    this.#options = options;
  }

  get active(): ChildHandle | null {
    return this.#active;
  }

  get rssBytes(): number {
    let rssBytes = 0;
    for (const child of this.#alive) rssBytes += child.rssBytes;
    return rssBytes;
  }

  /** Resolves when the first process is at work; rejects with its error where it cannot be started. */
  async start(): Promise<void> {
    if (this.#active === null) this.#replace();
    await this.#active?.ready;
  }

  /** The process at the other end of a lane. */
  owner(lane: Lane): ChildHandle | null {
    for (const child of this.#alive) if (child.lanes.includes(lane)) return child;
    return null;
  }

  async close(): Promise<void> {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    const deaths = [...this.#alive].map((child) => child.death);
    for (const child of this.#alive) child.kill(null);
    await Promise.all(deaths);
  }

  /** Puts the spare to work, or a new process: what is sent to one that is still starting waits in its pipes. */
  #replace(): void {
    const next = this.#spare ?? this.#spawn();
    this.#spare = null;
    this.#active = next;
    this.#options.onActive(next);
    if (this.#options.spare) this.#spare = this.#spawn();
  }

  #spawn(): ChildHandle {
    const child = new ChildHandle(this.#options.child, this.#options.listener);
    this.#alive.add(child);
    let started = false;
    child.ready.then(
      () => {
        started = true;
        this.#backoffMs = 0;
      },
      () => undefined,
    );
    void child.death.then((death) => {
      this.#alive.delete(child);
      if (!this.#closed) this.#onDeath(child, death, started);
    });
    return child;
  }

  #onDeath(child: ChildHandle, death: Death, started: boolean): void {
    if (!started) this.#backoffMs = Math.min(BACKOFF_MAX_MS, this.#backoffMs * 2 || BACKOFF_FIRST_MS);
    if (child === this.#spare) this.#spare = null;
    const wasActive = child === this.#active;
    if (wasActive) {
      this.#active = null;
      // The next process comes first, so that calls that run again find its lanes.
      if (this.#spare !== null || this.#backoffMs === 0) this.#replace();
    }
    this.#options.onDeath(child, death, wasActive);
    this.#timer ??= setTimeout(() => this.#complete(), this.#backoffMs);
  }

  /** Starts what is missing after a death. */
  #complete(): void {
    this.#timer = null;
    if (this.#closed) return;
    if (this.#active === null) this.#replace();
    else if (this.#options.spare) this.#spare ??= this.#spawn();
  }
}
