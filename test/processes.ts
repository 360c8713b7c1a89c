/** What the system knows of processes. Linux only: elsewhere there is nothing to see. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";

const ENDING_MS = 120_000;
const LOOK_EVERY_MS = 50;

/** Process ids of this process's children. */
export function children(): number[] {
  return childrenOf("self");
}

/** All processes below one, the nearest first. */
export function descendants(pid: number | "self"): number[] {
  const below = childrenOf(pid);
  return [...below, ...below.flatMap(descendants)];
}

/** Those below a process that run calls: inside a sandbox's own processes, where there is one. */
export function executors(above: number | "self" = "self"): number[] {
  return descendants(above).filter((pid) => {
    const [program = "", ...args] = read(`/proc/${pid}/cmdline`).split("\0");
    return program === process.execPath && args.some((arg) => arg.includes("executor/process/child."));
  });
}

/** The command lines of the children, once those that are ending have had time to. */
export async function childrenLeft(): Promise<string[]> {
  const untilMs = performance.now() + ENDING_MS;
  while (children().length > 0 && performance.now() < untilMs) await delay(LOOK_EVERY_MS);
  return children().map(commandOf);
}

/** The command lines of processes that work in a folder or name it, once those that are ending have had time to. */
export async function processesLeftIn(folder: string): Promise<string[]> {
  const found = () =>
    list("/proc").filter((pid) => {
      if (!/^\d+$/.test(pid) || !isAlive(Number(pid))) return false;
      return workingFolder(pid).startsWith(folder) || commandOf(Number(pid)).includes(folder);
    });
  const untilMs = performance.now() + ENDING_MS;
  while (found().length > 0 && performance.now() < untilMs) await delay(LOOK_EVERY_MS);
  return found().map((pid) => commandOf(Number(pid)));
}

/** Processes of this machine whose command line holds the text. */
export async function processesWith(text: string): Promise<number> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")));
  return lines.filter((line) => line.includes(text)).length;
}

function workingFolder(pid: string): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return "";
  }
}

/** Whether a process is there; one that has ended, and only waits to be asked about it, is not. */
export function isAlive(pid: number): boolean {
  const status = read(`/proc/${pid}/status`);
  return status !== "" && !/^State:\s+[ZX]/m.test(status);
}

/** Resident memory in MiB. */
export function residentMb(pid: number | "self"): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(read(`/proc/${pid}/status`))?.[1] ?? 0) / 1_024;
}

function childrenOf(pid: number | "self"): number[] {
  const tasks = `/proc/${pid}/task`;
  return list(tasks).flatMap((task) => read(`${tasks}/${task}/children`).split(" ").filter(Boolean).map(Number));
}

function commandOf(pid: number): string {
  return read(`/proc/${pid}/cmdline`).replaceAll("\0", " ");
}

export function threadsOf(pid: number | "self"): number {
  return Number(/^Threads:\t(\d+)/m.exec(read(`/proc/${pid}/status`))?.[1] ?? 0);
}

/** How long this process's first thread has waited for a processor that others had, in milliseconds. */
export function waitedMs(): number {
  return Number(read(`/proc/self/task/${process.pid}/schedstat`).split(" ")[1] ?? 0) / 1e6;
}

/** Open file descriptors. */
export function filesOf(pid: number | "self"): number {
  return list(`/proc/${pid}/fd`).length;
}

function list(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
