import { readdir, readFile, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { OWN } from "./jail.ts";
import { EXEC_LIMITS } from "./limits.ts";

const EVERY_MS = 20;
/** bubblewrap's own process inside, and the shell that it starts. */
const PROCESSES_OF_OURS = 2;
const PAGE_BYTES = 4_096;

/** What a command has too much of. */
export type Excess = "processes" | "memory" | "files";

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
    const excess = await excessOf(join("/proc", String(this.#pid), "root")).catch(() => null);
    if (this.#isOver) return;
    if (excess === null) this.#schedule();
    else this.#onExcess(excess);
  }
}

/** `root` is the sandbox's, as the host sees it. */
async function excessOf(root: string): Promise<Excess | null> {
  const folder = join(root, "proc");
  // Until the sandbox is made, its root is the host's.
  if ((await stat(folder)).dev === (await stat("/proc")).dev) return null;
  const pids = (await readdir(folder)).filter((name) => /^\d+$/.test(name));
  if (pids.length > EXEC_LIMITS.processes + PROCESSES_OF_OURS) return "processes";
  const bytes = await Promise.all(pids.map((pid) => memoryOf(`${folder}/${pid}/statm`)));
  if (bytes.reduce((sum, own) => sum + own, 0) > EXEC_LIMITS.memoryBytes) return "memory";
  // Their bytes are limited by the system; that each entry takes memory as well is not.
  const systems = await Promise.all(OWN.map((own) => statfs(join(root, own))));
  return systems.some(({ files, ffree }) => files - ffree > EXEC_LIMITS.folderEntries) ? "files" : null;
}

/** What a process holds in memory without its files and what it has in common with others; nothing once it has ended. */
async function memoryOf(file: string): Promise<number> {
  const [, resident = 0, shared = 0] = (await readFile(file, "utf8").catch(() => "")).split(" ").map(Number);
  return Math.max(0, resident - shared) * PAGE_BYTES;
}
