import type { WorkerConnectionListener } from "../dispatch/worker-connection.ts";
import { isPressed } from "../../base/os/pressure.ts";
import { Backoff } from "./backoff.ts";
import type { Death } from "./blame.ts";
import { causeOf, type ChildOptions, type ExecutorProcess, startExecutor } from "./child-handle.ts";

export interface SpareProcessOptions {
  readonly child: ChildOptions;
  /** Called when it died before a group took it. */
  onDeath(child: ExecutorProcess, death: Death): void;
  /** Spares die so fast, or cannot start, that the next start is delayed. */
  onDelay(delayMs: number, cause: string | null): void;
}

/** A process as its group takes it over. */
export interface TakenProcess {
  readonly child: ExecutorProcess;
  readonly isReady: boolean;
}

/** The process in reserve for all trust groups. It belongs to none until one takes it, and then only to that one. */
export class SpareProcess {
  readonly #options: SpareProcessOptions;
  readonly #backoff = new Backoff();
  #child: ExecutorProcess | null = null;
  #isReady = false;
  #retry: NodeJS.Timeout | null = null;
  #closed = false;

  constructor(options: SpareProcessOptions) {
    this.#options = options;
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  get rssBytes(): number {
    return this.#child?.rssBytes ?? 0;
  }

  /** Starts a process, unless one is in reserve or waits for its start, or the machine is short of processor time. */
  prepare(): void {
    this.#dropCutOff();
    if (!this.#closed && this.#child === null && this.#retry === null && !isPressed("cpu")) this.#start();
  }

  /** Ends idle isolates: the machine is short of memory. */
  shedIdle(): void {
    this.#child?.shedIdle();
  }

  /** Gives the process away, even if it is still starting; `null` if none exists in reserve. */
  take(listener: WorkerConnectionListener): TakenProcess | null {
    this.#dropCutOff();
    const child = this.#child;
    if (child === null) return null;
    const isReady = this.#isReady;
    this.#child = null;
    this.#isReady = false;
    child.listen(listener);
    return { child, isReady };
  }

  /** Ends a process whose workers lack pipes to the broker: another one takes its place. */
  #dropCutOff(): void {
    const child = this.#child;
    if (child?.isCutOff !== true) return;
    this.#child = null;
    this.#isReady = false;
    child.kill(null);
  }

  async close(): Promise<void> {
    this.#closed = true;
    if (this.#retry !== null) clearTimeout(this.#retry);
    this.#child?.kill(null);
    await this.#child?.death;
  }

  #start(): void {
    const child: ExecutorProcess = startExecutor(this.#options.child, {
      onMessage: () => undefined,
      onPause: () => undefined,
      onWho: () => undefined,
      onDiverged: () => undefined,
      onBroken: () => child.kill("protocol"),
    });
    this.#child = child;
    child.ready.then(
      () => {
        this.#backoff.started();
        this.#isReady ||= this.#child === child;
      },
      () => undefined,
    );
    void child.death.then((death) => {
      if (this.#child === child) this.#onDeath(child, death);
    });
  }

  #onDeath(child: ExecutorProcess, death: Death): void {
    const wasReady = this.#isReady;
    this.#child = null;
    this.#isReady = false;
    if (this.#closed) return;
    this.#options.onDeath(child, death);
    const delayMs = this.#backoff.lost(wasReady);
    if (delayMs > 0) this.#options.onDelay(delayMs, wasReady ? null : causeOf(death));
    this.#retry = setTimeout(() => {
      this.#retry = null;
      this.prepare();
    }, delayMs);
  }
}
