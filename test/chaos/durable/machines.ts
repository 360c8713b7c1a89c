import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

/** Processes at work, of which each may be killed, and processes that start at once. */
const AT_WORK = 3;
const STARTS = 3;
const PROGRAM = fileURLToPath(new URL("programs/machine.ts", import.meta.url));

/**
 * Processes that run calls. Whatever is killed is followed at once by one that is ready, as long as there is one: a process
 * takes longer to start than it lives.
 */
export class Machines implements Disposable {
  readonly #args: readonly string[];
  readonly #ready: ChildProcess[] = [];
  /** In the order in which they began. */
  readonly #atWork = new Set<ChildProcess>();
  readonly #all = new Set<ChildProcess>();
  #wanted = 0;
  #starting = 0;
  #isAtWork = false;
  #isOver = false;
  #onReady: () => void = () => undefined;
  kills = 0;

  constructor(args: readonly string[]) {
    this.#args = args;
  }

  /** Resolves once as many are ready, besides those that will be at work. */
  async prepare(spares: number): Promise<void> {
    this.#wanted = AT_WORK + spares;
    this.#startMore();
    await new Promise<void>((resolve) => {
      this.#onReady = () => {
        if (this.#ready.length === this.#wanted) resolve();
      };
    });
  }

  /** They begin to work. */
  begin(): void {
    this.#isAtWork = true;
    this.#fill();
  }

  /** Kills the one that has worked for the longest time; `false` where none is at work. */
  killOldest(): boolean {
    const [oldest] = this.#atWork;
    return oldest !== undefined && this.#kill(oldest);
  }

  /** Kills the one of that name. */
  killNamed(name: string): boolean {
    const named = [...this.#atWork].find(({ pid }) => name === nameOf(pid ?? 0));
    return named !== undefined && this.#kill(named);
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    for (const child of this.#all) child.kill("SIGKILL");
  }

  #kill(child: ChildProcess): boolean {
    this.#atWork.delete(child);
    const isKilled = child.kill("SIGKILL");
    if (isKilled) this.kills++;
    this.#fill();
    return isKilled;
  }

  #startMore(): void {
    while (!this.#isOver && this.#all.size < this.#wanted && this.#starting < STARTS) this.#start();
  }

  #start(): void {
    this.#starting++;
    const args = ["--no-warnings", PROGRAM, ...this.#args];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "inherit", "ipc"] });
    this.#all.add(child);
    let isStarting = true;
    const started = (): void => {
      if (isStarting) this.#starting--;
      isStarting = false;
      this.#startMore();
    };
    child.once("message", () => {
      this.#ready.push(child);
      this.#onReady();
      this.#fill();
      started();
    });
    child.once("exit", () => {
      this.#all.delete(child);
      this.#atWork.delete(child);
      started();
    });
  }

  #fill(): void {
    while (this.#isAtWork && this.#atWork.size < AT_WORK) {
      const next = this.#ready.shift();
      if (next === undefined) return;
      this.#atWork.add(next);
      next.send("go");
    }
  }
}

/** The name by which a server knows a process, long enough for a secret. */
export function nameOf(pid: number): string {
  return `machine-${`${pid}`.padStart(24, "0")}`;
}
