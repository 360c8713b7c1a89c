import { SimBrokers } from "../brokers.ts";
import type { Effects } from "../effects.ts";
import { createEngine } from "../engine.ts";
import { SimProcesses } from "../processes.ts";
import { SimThread, type World } from "../world.ts";
import type { SimStore } from "./store.ts";

/** Size of an engine of these simulations. */
const SIZE = {
  workers: 1,
  spare: false,
  concurrency: 8,
  recycleCalls: 1_000,
  hasCalled: false,
  keep: null,
  calls: [],
  faults: [],
  brokerFalls: 0,
  processFalls: 0,
  isTorn: false,
  closesAtMs: null,
} as const;

/** An engine with its broker and its processes, which end with it. */
export class SimHost {
  readonly main: SimThread;
  readonly engine: ReturnType<typeof createEngine>;
  isClosing = false;
  readonly #world: World;
  readonly #brokers: SimBrokers;
  readonly #processes: SimProcesses;

  constructor(world: World, number: number, effects: Effects, store: SimStore, onEffect: (host: SimHost) => void) {
    this.#world = world;
    this.main = new SimThread(`host ${number}`);
    this.#processes = new SimProcesses(world, effects, false, this.main);
    const disk = effects.capability("disk", () => onEffect(this));
    this.#brokers = new SimBrokers(world, () => [disk], this.main);
    this.engine = createEngine(SIZE, {
      startBroker: this.#brokers.start,
      startProcess: this.#processes.start,
      notes: effects.capability("notes", () => undefined),
      disk,
      onBrokerDeath: () => undefined,
      take: store.takeFor(this.main),
    });
    this.engine.events.on("capability:call", ({ callId, outcome }) => {
      if (outcome === "diverged") world.violate(`${callId} did not repeat itself`);
    });
    this.engine.events.markOwn();
  }

  get isAlive(): boolean {
    return this.main.isAlive;
  }

  async start(): Promise<void> {
    const { broker, executor, durable } = this.engine;
    broker.start();
    await executor.start().catch((error: unknown) => this.#world.note(`no executor: ${String(error)}`));
    await durable.start();
  }

  /** It ends now, in whatever it is at. */
  kill(): void {
    if (!this.isAlive) return;
    if (this.#world.trace !== null) this.#world.note(`${this.main.name} ends`);
    this.main.kill();
    for (const broker of this.#brokers.living) broker.end();
    this.killExecutors();
  }

  killExecutors(): void {
    for (const process of this.#processes.living) process.end("SIGKILL");
  }

  async close(): Promise<void> {
    if (this.isClosing) return;
    this.isClosing = true;
    const { pipeline, broker, durable } = this.engine;
    const stopping = durable.stop();
    await pipeline.close({ isAtOnce: true, hurry: Promise.resolve() });
    await stopping;
    await broker.close();
    await durable.close();
    // What it does not do any more is done by another process.
    this.main.kill();
  }
}
