import { accessSync, constants, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { threadId } from "node:worker_threads";

/**
 * Control groups, version 2: the kernel's own limits on the processes that the engine starts. They are used only by a
 * program that owns its process, such as `glovebox serve`, and only in a part of the hierarchy that was delegated to
 * it: this process is in the group `host`, and groups for other processes are its siblings, because the kernel allows
 * no processes in a group whose children have limits.
 */

/** Name of the group of this process within the delegated group, as systemd's `DelegateSubgroup=host` makes it. */
const HOST = "host";
/** Controllers without which groups are not used; `cpu` is also used if it is delegated. */
const NEEDED = ["memory", "pids"] as const;
/** The pid of the process that made a group, its thread, and a number. */
const NAME = /^glovebox\.(\d+)\.\d+\.\d+\.(?:executor|jail|build)$/;
const REMEDY = "run the service with Delegate=yes and DelegateSubgroup=host of systemd 254 or later";
/** Killed processes need a moment to leave their group, which cannot be removed before. */
const REMOVE_EVERY_MS = 50;
const REMOVE_TRIES = 100;

export type GroupKind = "executor" | "jail" | "build";

export interface GroupLimits {
  readonly memoryBytes: number;
  /** Number of processes and threads. */
  readonly tasks: number;
  /** Share of the processor relative to other groups; the kernel's default is 100. */
  readonly cpuWeight: number;
}

/** Whether groups are used, and the reason if they are not. The reason names no path of the host. */
export type Delegation =
  { readonly kind: "delegated"; readonly directory: string } | { readonly kind: "off"; readonly reason: string };

let state: Delegation | null = null;
let problem: string | null = null;
let made = 0;
/** Directories of groups in use. */
const inUse = new Set<string>();

/** The state of this process's groups; `null` if no program has claimed them, such as in an embedder. */
export function delegation(): Delegation | null {
  return problem === null ? state : { kind: "off", reason: problem };
}

/**
 * Uses groups in this process from now on, if a part of the hierarchy is delegated to it; otherwise writes nothing.
 * Groups that a killed process left behind are removed. `root`: the folder that holds `/proc` and the hierarchy.
 */
export function claimGroups(root = "/"): Delegation {
  const found = findDelegation(root);
  state = found.kind === "off" ? found : enable(found.directory);
  problem = null;
  if (state.kind === "delegated") sweep(state.directory);
  return state;
}

/** Uses the groups that the main thread has claimed; `null` for none. For threads: each has its own modules. */
export function shareGroups(directory: string | null): void {
  state = directory === null ? null : { kind: "delegated", directory };
}

/** Uses no groups from now on. */
export function releaseGroups(): void {
  state = null;
  problem = null;
}

/** Makes a group with these limits; `null` if groups are not used. Never throws. */
export function openGroup(kind: GroupKind, limits: GroupLimits): ControlGroup | null {
  if (state?.kind !== "delegated") return null;
  const directory = path.join(state.directory, `glovebox.${process.pid}.${threadId}.${++made}.${kind}`);
  try {
    mkdirSync(directory);
    const set = (name: string, value: string | number) => writeFileSync(path.join(directory, name), `${value}\n`);
    set("memory.max", limits.memoryBytes);
    set("memory.oom.group", 1);
    set("pids.max", limits.tasks);
    // Not every kernel has swap, and the processor's controller may not be delegated.
    attempt(() => set("memory.swap.max", 0));
    attempt(() => set("cpu.weight", limits.cpuWeight));
    problem = null;
    inUse.add(directory);
    return new ControlGroup(directory);
  } catch (error) {
    problem = `a control group could not be made: ${codeOf(error)}`;
    remove(directory);
    return null;
  }
}

/** A group for one process and all that it starts. */
export class ControlGroup {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /**
   * A shell command by which a shell joins the group before it starts anything. If that fails, the shell continues
   * without these limits.
   */
  get joinCommand(): string {
    const file = path.join(this.#directory, "cgroup.procs").replaceAll("'", `'\\''`);
    return `{ echo $$ >'${file}'; } 2>/dev/null`;
  }

  /** Removes the group of an ended process. Returns whether the kernel ended it, because of its memory. */
  end(): boolean {
    const isMemory = hasKilled(this.#directory);
    inUse.delete(this.#directory);
    remove(this.#directory);
    return isMemory;
  }
}

/** Finds the delegated group of this process. Reads only. */
export function findDelegation(root = "/"): Delegation {
  const off = (why: string): Delegation => ({ kind: "off", reason: `cgroup v2 is not delegated: ${why}` });
  let own: string | null;
  try {
    own = ownDirectory(root);
  } catch (error) {
    return off(`this system does not tell its control groups (${codeOf(error)})`);
  }
  if (own === null) return off("this system has no hierarchy of version 2 that shows this process's group");
  if (path.basename(own) !== HOST) return off(`the group of this process is not named ${HOST}; ${REMEDY}`);
  const directory = path.dirname(own);
  try {
    for (const name of ["", "cgroup.procs", "cgroup.subtree_control"]) {
      accessSync(path.join(directory, name), constants.W_OK);
    }
    // The kernel refuses limits for the children of a group that itself has processes.
    if (read(directory, "cgroup.procs") !== "") return off(`other processes are in the group above; ${REMEDY}`);
    const missing = NEEDED.filter((name) => !words(directory, "cgroup.controllers").includes(name));
    if (missing.length > 0) return off(`the group has no controller for ${missing.join(" and ")}; ${REMEDY}`);
  } catch (error) {
    return off(`this process may not write to the group above its own (${codeOf(error)}); ${REMEDY}`);
  }
  return { kind: "delegated", directory };
}

/** Directory of this process's group; `null` if none is visible. */
function ownDirectory(root: string): string | null {
  const [, own] = /^0::(\/.*)$/m.exec(readFileSync(path.join(root, "proc/self/cgroup"), "utf8")) ?? [];
  if (own === undefined || own.split("/").includes("..")) return null;
  for (const line of readFileSync(path.join(root, "proc/self/mountinfo"), "utf8").split("\n")) {
    const [place = "", source = ""] = line.split(" - ");
    const [, , , above, mount] = place.split(" ").map(unescaped);
    if (!source.startsWith("cgroup2 ") || above === undefined || mount === undefined) continue;
    const inside = path.posix.relative(above, own);
    if (inside === "" || inside.split("/").includes("..")) continue;
    return path.join(root, mount, inside);
  }
  return null;
}

/** The kernel writes spaces and other characters of paths in octal. */
function unescaped(text: string): string {
  return text.replaceAll(/\\(\d{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}

/** Enables limits for the children of the group. */
function enable(directory: string): Delegation {
  try {
    for (const name of NEEDED) {
      if (words(directory, "cgroup.subtree_control").includes(name)) continue;
      writeFileSync(path.join(directory, "cgroup.subtree_control"), `+${name}\n`);
    }
  } catch (error) {
    return {
      kind: "off",
      reason: `cgroup v2 is not delegated: the kernel refused limits (${codeOf(error)}); ${REMEDY}`,
    };
  }
  if (
    words(directory, "cgroup.controllers").includes("cpu") &&
    !words(directory, "cgroup.subtree_control").includes("cpu")
  )
    attempt(() => writeFileSync(path.join(directory, "cgroup.subtree_control"), "+cpu\n"));
  return { kind: "delegated", directory };
}

/** Removes the groups of hosts that have ended, of which an earlier one may have had this pid. */
function sweep(directory: string): void {
  for (const name of readdirSync(directory)) {
    const pid = Number(NAME.exec(name)?.[1] ?? Number.NaN);
    const group = path.join(directory, name);
    if (pid === process.pid ? !inUse.has(group) : !Number.isNaN(pid) && !isAlive(pid)) remove(group);
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return codeOf(error) === "EPERM";
  }
}

/** Removes a group. Processes that are left in it are killed first. */
function remove(directory: string, tries = REMOVE_TRIES): void {
  try {
    rmdirSync(directory);
  } catch (error) {
    if (codeOf(error) === "ENOENT" || tries === 0) return;
    attempt(() => writeFileSync(path.join(directory, "cgroup.kill"), "1\n", { flag: "r+" }));
    setTimeout(() => remove(directory, tries - 1), REMOVE_EVERY_MS).unref();
  }
}

function hasKilled(directory: string): boolean {
  try {
    return /^oom_(?:group_)?kill [1-9]/m.test(read(directory, "memory.events"));
  } catch {
    return false;
  }
}

function words(directory: string, name: string): readonly string[] {
  return read(directory, name).split(/\s+/);
}

function read(directory: string, name: string): string {
  return readFileSync(path.join(directory, name), "utf8").trim();
}

function attempt(action: () => void): void {
  try {
    action();
  } catch {
    // The attempt only improves a valid state.
  }
}

function codeOf(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  return code ?? "an unknown error";
}
