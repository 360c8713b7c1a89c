/** The machine's work for one test file: of its process meanwhile, and of all that ended below it. */
import { subscribe } from "node:diagnostics_channel";
import { readFileSync } from "node:fs";

export interface Usage {
  /** Processor time of the file's process and of ended processes below it. */
  readonly cpuMs: number;
  /** Child processes and worker threads that the file's process started. */
  readonly processes: number;
  readonly threads: number;
}

const TICK_MS = 10;
let processes = 0;
let threads = 0;
subscribe("child_process", () => (processes += 1));
subscribe("worker_threads", () => (threads += 1));

/** Linux counts ended children with the process that has waited for them; other systems tell of the process alone. */
function cpuMs(): number {
  try {
    const stat = readFileSync("/proc/self/stat", "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) * TICK_MS, 0);
  } catch {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000;
  }
}

let taken: Usage = { cpuMs: 0, processes: 0, threads: 0 };

/** What was used since this was asked last: the first file of a process has what its start took. */
export function takeUsage(): Usage {
  const last = taken;
  taken = { cpuMs: cpuMs(), processes, threads };
  return {
    cpuMs: taken.cpuMs - last.cpuMs,
    processes: taken.processes - last.processes,
    threads: taken.threads - last.threads,
  };
}

declare module "vitest" {
  interface TaskMeta {
    usage?: Usage;
  }
}
