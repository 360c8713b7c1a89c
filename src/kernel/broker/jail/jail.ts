import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { Duplex } from "node:stream";
import {
  bubblewrapArguments,
  closedIn,
  collectOutput,
  DEVICES,
  findBubblewrap,
  PROGRAMS,
  readOnly,
  SandboxProbes,
} from "../../base/os/bubblewrap.ts";
import { openGroup, type ControlGroup } from "../../base/os/cgroup.ts";
import { SHELL } from "../../base/os/rlimits.ts";
import { Descriptors } from "../../base/os/descriptors.ts";
import { commandFilter } from "../../base/os/command-filter.ts";
import { closeOutlets, makeOutlets, type Outlet } from "./outlet.ts";

const PROBE_MS = 10_000;

/**
 * Descriptors of bubblewrap, besides the usual three: its status, arguments, filter, the gate it waits for, and its
 * lifeline.
 */
const STATUS_FD = 3;
const ARGUMENTS_FD = 4;
const FILTER_FD = 5;
const GATE_FD = 6;
const LIFELINE_FD = 7;
/** Read end of the status pipe, kept open: bubblewrap would end if its status had no reader. */
const HELD_FD = 8;

/**
 * The kernel's limits above the ceilings: memory of the sandbox's own folders, and the processes that make it. Ceilings
 * are checked every 20 ms, and name the limit that was exceeded.
 */
const GROUP = { restBytes: 320 * 1024 * 1024, restTasks: 16, cpuWeight: 20 } as const;

const ENVIRONMENT = { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: "/home", LANG: "C.UTF-8" };

/**
 * Makes the sandbox the first victim of the out-of-memory killer, and lowers its priority: if processes inside
 * multiply, the process that has to kill them must not wait for its turn among them.
 */
const OUTSIDE = `echo 1000 >/proc/self/oom_score_adj
exec ${HELD_FD}</proc/self/fd/${STATUS_FD}
nice -n 19 "$@" ${LIFELINE_FD}<&- ${HELD_FD}<&-
exit`;
/**
 * Kills the sandbox when the lifeline closes, as it does when the engine ends. `--die-with-parent` is not enough:
 * bubblewrap dies with its parent, but until a sandbox is made, processes in it do not die with bubblewrap. So the
 * parent of bubblewrap is this shell, which outlives the engine, with a background process that waits for the lifeline
 * and then kills the first process inside: a grandchild of the shell. The pid of the shell cannot be reused as long as
 * it is the parent of the background process. If the system does not list children, the shell is killed, and
 * bubblewrap dies with it.
 */
const WAITING = `(
exec </dev/null >/dev/null 2>&1 ${[STATUS_FD, ARGUMENTS_FD, FILTER_FD, GATE_FD].map((fd) => `${fd}>&-`).join(" ")}
read -r _ <&${LIFELINE_FD}
while while read -r name parent; do [ "$name" != PPid: ] || break; done </proc/self/status; [ "$parent" = $$ ]; do
[ -e /proc/$$/task/$$/children ] || kill -9 $$
for each in $(cat /proc/$$/task/$$/children); do kill -9 $(cat /proc/$each/task/$each/children); done
sleep 0.05
done
) &`;

/** A program to run in a sandbox, the files it sees, and its limits. */
export interface Inside {
  /** Path of the program inside, and its arguments. All processes inside can read them. */
  readonly program: readonly [string, ...string[]];
  /** bubblewrap's arguments, one for each mount. */
  readonly walls: readonly string[];
  /** Shell commands run outside that set limits of the system, inherited by all processes inside. */
  readonly limits: string;
  /** Whether the program may start processes, or only threads. */
  readonly mayFork: boolean;
  /** Shares the machine's network, unfiltered. Default false. */
  readonly sharesNetwork?: boolean;
  readonly ceilings: Ceilings;
  readonly wallMs: number;
  /** Path inside of a folder that can still be read after the program has ended; `null` without one. */
  readonly kept: string | null;
}

/** Limits on the sum of all processes inside. */
export interface Ceilings {
  /** Number of processes and their threads. */
  readonly tasks: number;
  /** Memory without mapped files of the host. */
  readonly memoryBytes: number;
  /** Processor time; `null` for no limit. */
  readonly cpuMs: number | null;
  /** Writable folders, by their paths inside; the maximum number of files and folders in each is `folderEntries`. */
  readonly folders: readonly string[];
  readonly folderEntries: number;
}

/** A started sandbox: its process outside, and its pipes. */
export interface Jailed {
  readonly process: ChildProcess;
  readonly stdin: Duplex;
  readonly stdout: Duplex;
  readonly stderr: Duplex;
  readonly status: Duplex;
  /** A program that waits at the gate begins when something is written here; `null` without a gate. */
  readonly gate: Duplex | null;
  /** Closing this ends the sandbox, also while it is being made. */
  readonly lifeline: Duplex;
  /**
   * Resolves when no process holds the pipes any more, with whether the kernel ended the processes because of their
   * memory; rejects if the process could not be started.
   */
  readonly closed: Promise<{ readonly isMemory: boolean }>;
}

/** Starts a program in a sandbox. */
export type Start = (inside: Inside) => Promise<Jailed>;

/** A working sandbox of the operating system, or the reason why none works. */
export type Jail = { readonly start: Start } | { readonly reason: string };

/** Results of probes, by command. Each command is tried once in this process. */
const probes = new SandboxProbes<Jail>((jail) => "start" in jail);

/** Finds out whether a sandbox works here. Never rejects. */
export async function findJail(): Promise<Jail> {
  const found = findBubblewrap(commandFilter(process.arch, true));
  if ("reason" in found) return found;
  return await probes.get(found.command, () => probe((inside) => start(found.command, inside)));
}

const PROBE: Inside = {
  program: [SHELL, "-c", `${SHELL} -c 'echo works'`],
  walls: [...readOnly(PROGRAMS), ...DEVICES, ...closedIn("/")],
  limits: "",
  mayFork: true,
  ceilings: { tasks: 8, memoryBytes: 2 ** 26, cpuMs: null, folders: [], folderEntries: 0 },
  wallMs: PROBE_MS,
  kept: null,
};

/** Starts a shell in a sandbox that starts another process, which prints one word. */
async function probe(startInside: Start): Promise<Jail> {
  try {
    const jailed = await startInside(PROBE);
    const timer = setTimeout(() => jailed.process.kill("SIGKILL"), PROBE_MS);
    const output = collectOutput(jailed);
    jailed.stdin.end();
    jailed.status.resume();
    await jailed.closed.finally(() => clearTimeout(timer));
    if (output.stdout.trim() === "works") return { start: startInside };
    return { reason: output.stderr.trim().split("\n").at(-1) || "a command that was tried said nothing" };
  } catch (error) {
    return { reason: error instanceof Error ? error.message : String(error) };
  }
}

type Pipes = readonly [Duplex, Duplex, Duplex, gate: Duplex | null, lifeline: Duplex];

async function start(bubblewrap: string, inside: Inside): Promise<Jailed> {
  const isGated = inside.kept !== null;
  const walls = bubblewrapArguments(inside.walls, {
    statusFd: STATUS_FD,
    filterFd: FILTER_FD,
    forbidsNamespaces: true,
    sharesNetwork: inside.sharesNetwork ?? false,
    ...(isGated ? { gateFd: GATE_FD } : {}),
  });
  const filter = commandFilter(process.arch, inside.mayFork);
  const outlets = await makeOutlets(3);
  const { memoryBytes, tasks } = inside.ceilings;
  const group = openGroup("jail", {
    memoryBytes: memoryBytes + GROUP.restBytes,
    tasks: tasks + GROUP.restTasks,
    cpuWeight: GROUP.cpuWeight,
  });
  const [out, err, status] = outlets as [Outlet, Outlet, Outlet];
  try {
    using descriptors = new Descriptors([
      "pipe",
      out.fd,
      err.fd,
      status.fd,
      "pipe",
      "pipe",
      isGated ? "pipe" : "ignore",
      "pipe",
    ]);
    // The working directory is `/`, because a process that sees the first process above it can read that one's
    // directory.
    const options = { stdio: descriptors.stdio, env: ENVIRONMENT, cwd: "/" };
    const child = spawn(SHELL, argumentsFor(bubblewrap, inside, group), options);
    // Without free descriptors the child has no pipes, and its unhandled error would end the engine's process.
    child.once("error", () => undefined);
    const pipes = [child.stdio[0], ...child.stdio.slice(ARGUMENTS_FD, LIFELINE_FD + 1)];
    const [stdin, told, filtered, gate, lifeline] = pipes as unknown as Pipes;
    // A process that ends before it has read everything breaks its pipes: ignore the errors.
    for (const pipe of [stdin, out.stream, err.stream, status.stream, told, filtered, gate, lifeline])
      pipe?.on("error", () => undefined);
    told.end(walls.map((argument) => `${argument}\0`).join(""));
    filtered.end(filter);
    child.once("exit", () => lifeline.end());
    // Read the lifeline, so that its end is noticed when the process at its other end has ended.
    lifeline.resume();
    const closed = closing(child, outlets, group);
    const [stdout, stderr] = [out.stream, err.stream];
    return { process: child, stdin, stdout, stderr, status: status.stream, gate, lifeline, closed };
  } catch (error) {
    for (const { stream } of outlets) stream.destroy();
    group?.end();
    throw error;
  } finally {
    closeOutlets(outlets);
  }
}

/**
 * Passes arguments that name the host's folders over a pipe: processes inside can read the command line of the process
 * above them.
 */
function argumentsFor(bubblewrap: string, { program, limits }: Inside, group: ControlGroup | null): string[] {
  const outside = [group?.joinCommand ?? "", WAITING, limits, OUTSIDE].join("\n");
  return ["-c", outside, SHELL, bubblewrap, "--args", String(ARGUMENTS_FD), "--", ...program];
}

async function closing(
  child: ChildProcess,
  outlets: readonly Outlet[],
  group: ControlGroup | null,
): Promise<{ readonly isMemory: boolean }> {
  let isMemory = false;
  const ends = outlets.map(({ stream }) => new Promise<void>((resolve) => stream.once("close", resolve)));
  try {
    await once(child, "close");
  } catch (error) {
    for (const { stream } of outlets) stream.destroy();
    throw error;
  } finally {
    await Promise.all(ends);
    isMemory = group?.end() ?? false;
  }
  return { isMemory };
}
