import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { EXEC_LIMITS } from "./limits.ts";

const EVERY_MS = 50;
/** bubblewrap's own process inside, and the shell that it starts. */
const PROCESSES_OF_OURS = 2;
const PAGE_BYTES = 4_096;

/** What a command has too much of. */
export type Excess = "processes" | "memory";

/**
 * Looks again and again at all processes of a command, by the first process inside. The system's own limits hold one
 * process each, and none of them holds the number of root's; this holds them together.
 */
export class Watch implements Disposable {
  readonly #onExcess: (excess: Excess) => void;
  readonly #pid: number;
  #timer: NodeJS.Timeout | null = null;
  #isOver = false;

  constructor(pid: number, onExcess: (excess: Excess) => void) {
    this.#pid = pid;
    this.#onExcess = onExcess;
    this.#schedule();
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #schedule(): void {
    this.#timer = setTimeout(() => void this.#look(), EVERY_MS);
  }

  async #look(): Promise<void> {
    // What cannot be looked at has ended, or has not begun.
    const excess = await excessOf(join("/proc", String(this.#pid), "root", "proc")).catch(() => null);
    if (this.#isOver) return;
    if (excess === null) this.#schedule();
    else this.#onExcess(excess);
  }
}

async function excessOf(folder: string): Promise<Excess | null> {
  // Until the sandbox is made, its root is the host's.
  if ((await stat(folder)).dev === (await stat("/proc")).dev) return null;
  const pids = (await readdir(folder)).filter((name) => /^\d+$/.test(name));
  if (pids.length > EXEC_LIMITS.processes + PROCESSES_OF_OURS) return "processes";
  const bytes = await Promise.all(pids.map((pid) => memoryOf(`${folder}/${pid}/statm`)));
  return bytes.reduce((sum, own) => sum + own, 0) > EXEC_LIMITS.memoryBytes ? "memory" : null;
}

/** What a process holds in memory without its files and what it has in common with others; nothing once it has ended. */
async function memoryOf(file: string): Promise<number> {
  const [, resident = 0, shared = 0] = (await readFile(file, "utf8").catch(() => "")).split(" ").map(Number);
  return Math.max(0, resident - shared) * PAGE_BYTES;
}
