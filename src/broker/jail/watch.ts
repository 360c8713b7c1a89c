import { readdir, readFile, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import type { Ceilings } from "./jail.ts";

const EVERY_MS = 20;
/** bubblewrap's own process inside, and the program that it starts. */
const TASKS_OF_OURS = 2;
const KIB = 1024;
/** In a second: what the kernel tells programs, whatever it counts in itself. */
const TICKS = 100;
/** Fields of `/proc/PID/stat` behind the name, which may hold anything. */
const [USER_TICKS, SYSTEM_TICKS] = [11, 12];

/** What somebody has too much of. */
export type Excess = "processes" | "memory" | "cpu" | "files";

/**
 * Looks again and again at all that runs in a sandbox, by the first process inside. The system's own limits hold one
 * process each, and none of them holds the number of root's; this holds them together.
 */
export class Watch implements Disposable {
  readonly #root: string;
  readonly #ceilings: Ceilings;
  readonly #onExcess: (excess: Excess) => void;
  #timer: NodeJS.Timeout | null = null;
  #isOver = false;

  /** `root` is the sandbox's, as the host sees it. */
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
    // What cannot be looked at has ended, or has not begun.
    const excess = await excessOf(this.#root, this.#ceilings).catch(() => null);
    if (this.#isOver) return;
    if (excess === null) this.#schedule();
    else this.#onExcess(excess);
  }
}

/** Whether a sandbox is made: until then its root is the host's, or has no processes in it. */
export async function isMade(root: string): Promise<boolean> {
  return (await stat(join(root, "proc"))).dev !== (await stat("/proc")).dev;
}

async function excessOf(root: string, ceilings: Ceilings): Promise<Excess | null> {
  if (!(await isMade(root))) return null;
  const folder = join(root, "proc");
  const pids = (await readdir(folder)).filter((name) => /^\d+$/.test(name));
  // So many need not be looked at one by one.
  if (pids.length > ceilings.tasks + TASKS_OF_OURS) return "processes";
  const used = await Promise.all(pids.map((pid) => useOf(`${folder}/${pid}`, ceilings.cpuMs !== null)));
  const sum = (read: (use: Use) => number): number => used.reduce((all, use) => all + read(use), 0);
  if (sum(({ tasks }) => tasks) > ceilings.tasks + TASKS_OF_OURS) return "processes";
  if (sum(({ bytes }) => bytes) > ceilings.memoryBytes) return "memory";
  if (ceilings.cpuMs !== null && sum(({ cpuMs }) => cpuMs) > ceilings.cpuMs) return "cpu";
  // Their bytes are limited by the system; that each entry takes memory as well is not.
  const systems = await Promise.all(ceilings.folders.map((own) => statfs(join(root, own))));
  return systems.some(({ files, ffree }) => files - ffree > ceilings.folderEntries) ? "files" : null;
}

interface Use {
  readonly tasks: number;
  readonly bytes: number;
  readonly cpuMs: number;
}

/** What a process has; nothing once it has ended. Memory that several have in common is counted for each of them. */
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
