import { readdir, readFile, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import type { Ceilings } from "./jail.ts";

const EVERY_MS = 20;
/** bubblewrap's own process inside, and the program that it starts. */
const TASKS_OF_OURS = 2;
const KIB = 1024;
/** Ticks per second in `/proc`: `USER_HZ` is 100, whatever the kernel's own `HZ` is. */
const TICKS = 100;
/** Fields of `/proc/PID/stat` after the name, which may contain any character. */
const [USER_TICKS, SYSTEM_TICKS] = [11, 12];

/** The limit that was exceeded. */
export type Excess = "processes" | "memory" | "cpu" | "files";

/**
 * Polls all processes in a sandbox through `/proc` of its first process. The system's own limits apply to single
 * processes, and its limit on the number of processes does not apply to root; this watch limits their sum.
 */
export class Watch implements Disposable {
  readonly #root: string;
  readonly #ceilings: Ceilings;
  readonly #onExcess: (excess: Excess) => void;
  #timer: NodeJS.Timeout | null = null;
  #isOver = false;

  /** `root`: the sandbox's root, as the host sees it. */
  constructor(root: string, ceilings: Ceilings, onExcess: (excess: Excess) => void) {
    this.#root = root;
    this.#ceilings = ceilings;
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
    // Processes that cannot be read have ended, or have not begun.
    const excess = await excessOf(this.#root, this.#ceilings).catch(() => null);
    if (this.#isOver) return;
    if (excess === null) this.#schedule();
    else this.#onExcess(excess);
  }
}

/** Whether the sandbox is made: until then its root is the host's, or has no `/proc` of its own. */
export async function isMade(root: string): Promise<boolean> {
  return (await stat(join(root, "proc"))).dev !== (await stat("/proc")).dev;
}

async function excessOf(root: string, ceilings: Ceilings): Promise<Excess | null> {
  if (!(await isMade(root))) return null;
  const folder = join(root, "proc");
  const pids = (await readdir(folder)).filter((name) => /^\d+$/.test(name));
  // Too many already: skip reading them one by one.
  if (pids.length > ceilings.tasks + TASKS_OF_OURS) return "processes";
  const used = await Promise.all(pids.map((pid) => useOf(`${folder}/${pid}`, ceilings.cpuMs !== null)));
  const sum = (read: (use: Use) => number): number => used.reduce((all, use) => all + read(use), 0);
  if (sum(({ tasks }) => tasks) > ceilings.tasks + TASKS_OF_OURS) return "processes";
  if (sum(({ bytes }) => bytes) > ceilings.memoryBytes) return "memory";
  if (ceilings.cpuMs !== null && sum(({ cpuMs }) => cpuMs) > ceilings.cpuMs) return "cpu";
  // The system limits their bytes, but not the memory that each entry takes.
  const systems = await Promise.all(ceilings.folders.map((own) => statfs(join(root, own))));
  return systems.some(({ files, ffree }) => files - ffree > ceilings.folderEntries) ? "files" : null;
}

interface Use {
  readonly tasks: number;
  readonly bytes: number;
  readonly cpuMs: number;
}

/** Resources of a process; zero once it has ended. Shared memory is counted once for each process. */
async function useOf(folder: string, isTimed: boolean): Promise<Use> {
  const status = await read(`${folder}/status`);
  const field = (name: string): number => Number(new RegExp(`^${name}:\\s*(\\d+)`, "m").exec(status)?.[1] ?? 0);
  return {
    tasks: field("Threads"),
    bytes: (field("RssAnon") + field("RssShmem")) * KIB,
    cpuMs: isTimed ? cpuMsIn(await read(`${folder}/stat`)) : 0,
  };
}

function cpuMsIn(stats: string): number {
  const fields = stats.slice(stats.lastIndexOf(")") + 2).split(" ");
  const ticks = [USER_TICKS, SYSTEM_TICKS].map((at) => Number(fields[at] ?? 0));
  return (ticks.reduce((sum, one) => sum + one, 0) * 1_000) / TICKS;
}

function read(file: string): Promise<string> {
  return readFile(file, "utf8").catch(() => "");
}
