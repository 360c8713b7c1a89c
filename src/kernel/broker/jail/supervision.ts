import type { Ceilings, Jailed } from "./jail.ts";
import { type Excess, Watch } from "./watch.ts";

/** Maximum time for killed processes to end. */
const GONE_MS = 5_000;
const STATUS_MAX = 16_384;

/** Reason for killing a program from outside. */
export type Killing = "time" | "call" | "start" | "output" | Excess;

/** Watches a started sandbox, and kills all processes in it together. */
export class Supervision {
  /** Settles like the sandbox's `closed`. */
  readonly closed: Promise<void>;
  readonly #jailed: Jailed;
  readonly #ceilings: Ceilings;
  /** Called once with the sandbox's root, by its path on the host. */
  readonly #onRoot: (root: string) => void;
  #status = "";
  #watch: Watch | null = null;
  #killing: Killing | null = null;
  #isClosed = false;

  constructor(jailed: Jailed, ceilings: Ceilings, onRoot: (root: string) => void = () => {}) {
    this.#jailed = jailed;
    this.#ceilings = ceilings;
    this.#onRoot = onRoot;
    jailed.status.on("data", (chunk: Buffer) => this.#readStatus(chunk.toString("utf8")));
    this.closed = this.#close();
  }

  /** The reason for which it was killed; `null` if it was not. */
  get killing(): Killing | null {
    return this.#killing;
  }

  /** Exit code of the program; `null` as long as it has not ended by itself. */
  get exitCode(): number | null {
    return this.#statusOf("exit-code");
  }

  /** Kills everything inside. Does nothing if all has ended. */
  kill(why: Killing): void {
    if (this.#killing !== null || this.#isClosed) return;
    this.#killing = why;
    this.#watch?.[Symbol.dispose]();
    const { process: outer, lifeline } = this.#jailed;
    // Killing the first process inside kills all others; the outer process ends after them.
    const pid = this.#statusOf("child-pid");
    if (pid !== null && outer.exitCode === null && outer.signalCode === null) killInside(pid);
    lifeline.end();
    const { stdout, stderr, status } = this.#jailed;
    const timer = setTimeout(() => {
      outer.kill("SIGKILL");
      for (const pipe of [stdout, stderr, status, lifeline]) pipe.destroy();
    }, GONE_MS);
    outer.once("close", () => clearTimeout(timer));
  }

  async #close(): Promise<void> {
    try {
      const { isMemory } = await this.#jailed.closed;
      // The kernel killed it before the watch did.
      if (isMemory) this.#killing ??= "memory";
    } finally {
      this.#isClosed = true;
      this.#watch?.[Symbol.dispose]();
    }
  }

  #readStatus(text: string): void {
    this.#status = (this.#status + text).slice(0, STATUS_MAX);
    const pid = this.#statusOf("child-pid");
    if (pid === null || this.#killing !== null || this.#watch !== null) return;
    const root = `/proc/${pid}/root`;
    this.#watch = new Watch(root, this.#ceilings, (excess) => this.kill(excess));
    this.#onRoot(root);
  }

  /** Reads a number from bubblewrap's status, which is lines of JSON. */
  #statusOf(name: "child-pid" | "exit-code"): number | null {
    const [, digits] = new RegExp(`"${name}": (\\d+)`).exec(this.#status) ?? [];
    return digits === undefined ? null : Number(digits);
  }
}

function killInside(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has already ended.
  }
}
