import { type CustomCapability, defineCapability, type Engine } from "../../../src/glovebox/index.ts";

/** Has the tools of tests end their own executor, at a step of which the test can be sure: by `host.kill.now()`. */
export class ExecutorKiller {
  readonly capability: CustomCapability;
  /** How often it still does; then it answers `false`. */
  left = 0;
  /** The processes that are at work: a call that is killed more than once may go on in the other one. */
  readonly #pids = new Map<string, number>();
  #engine: Engine | null = null;

  constructor() {
    this.capability = defineCapability({ name: "kill", methods: { now: { handler: () => this.kill() } } });
  }

  /** Processes that are at work before are not known. */
  watch(engine: Engine): void {
    this.#engine = engine;
    engine.on("executor:start", ({ ward, pid }) => this.#pids.set(ward, pid));
    engine.on("executor:lost", ({ ward, pid }) => this.#pids.get(ward) === pid && this.#pids.delete(ward));
    engine.on("executor:recycle", ({ ward }) => this.#pids.delete(ward));
  }

  /** Ends the executor, as `host.kill.now()` does; resolves once it is lost. */
  kill(): boolean | Promise<boolean> {
    if (this.left-- <= 0) return false;
    const lost = Promise.all([...this.#pids.values()].map((pid) => this.#deathOf(pid)));
    for (const pid of this.#pids.values()) process.kill(pid, "SIGKILL");
    // A call goes on for as long as its process does, which the system ends in its own time.
    return lost.then(() => true);
  }

  #deathOf(pid: number): Promise<void> {
    return new Promise((resolve) => {
      const onLost = (lost: { readonly pid: number }) => {
        if (lost.pid !== pid) return;
        this.#engine?.off("executor:lost", onLost);
        resolve();
      };
      this.#engine?.on("executor:lost", onLost);
    });
  }
}
