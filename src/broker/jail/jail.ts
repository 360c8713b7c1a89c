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
import { SHELL } from "../../base/os/rlimits.ts";
import { Descriptors } from "../../base/os/descriptors.ts";
import { commandFilter } from "../../base/os/command-filter.ts";
import { closeOutlets, makeOutlets, type Outlet } from "./outlet.ts";

const PROBE_MS = 10_000;

/** Descriptors of bubblewrap, besides the usual three: where it tells what it does, its arguments, its filter, what it waits for, and its lifeline. */
const STATUS_FD = 3;
const ARGUMENTS_FD = 4;
const FILTER_FD = 5;
const GATE_FD = 6;
const LIFELINE_FD = 7;
/** The other end of the first of them: bubblewrap must not end for having nobody left to tell. */
const HELD_FD = 8;

const ENVIRONMENT = { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: "/home", LANG: "C.UTF-8" };

/**
 * Where the machine runs out of memory, what runs inside is what it can do without; and where that makes more and more
 * processes, whoever has to end it must not wait for its turn among them.
 */
const OUTSIDE = `echo 1000 >/proc/self/oom_score_adj
exec ${HELD_FD}</proc/self/fd/${STATUS_FD}
nice -n 19 "$@" ${LIFELINE_FD}<&- ${HELD_FD}<&-
exit`;
/**
 * bubblewrap dies with its parent, but until a sandbox is made, what is in it does not die with bubblewrap. So its parent is
 * this shell, which outlives the engine, and beside it waits who ends the first process inside when the lifeline ends, as it
 * does with the engine: that is a child of a child of the shell's, and as long as the shell is the parent of who waits, its number
 * is nobody else's. Where the system does not tell of children, bubblewrap dies with its parent.
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

/** What runs in a sandbox, what it sees there, and how much it may do. */
export interface Inside {
  /** The program, by its path inside, and its arguments. All that runs inside can read them. */
  readonly program: readonly [string, ...string[]];
  /** bubblewrap's arguments, one for each thing that it sees. */
  readonly walls: readonly string[];
  /** Commands of a shell outside, for limits of the system's that all inside inherits. */
  readonly limits: string;
  /** Whether it may start processes, or only threads. */
  readonly mayFork: boolean;
  readonly ceilings: Ceilings;
  readonly wallMs: number;
  /** A folder of its own, by its path inside, that is still there to be read once it has ended. */
  readonly kept: string | null;
}

/** How much all that runs inside may have together. */
export interface Ceilings {
  /** Processes and their threads. */
  readonly tasks: number;
  /** Memory without files of the host's. */
  readonly memoryBytes: number;
  /** Processor time; `null` where nobody counts it. */
  readonly cpuMs: number | null;
  /** Its own folders, by their paths inside, and how many files and folders each of them may hold. */
  readonly folders: readonly string[];
  readonly folderEntries: number;
}

/** What was started: its process outside, and what bubblewrap tells of it. */
export interface Jailed {
  readonly process: ChildProcess;
  readonly stdin: Duplex;
  readonly stdout: Duplex;
  readonly stderr: Duplex;
  readonly status: Duplex;
  /** The program begins when something is written to it, where it waits for that. */
  readonly gate: Duplex | null;
  /** What runs is ended when this is, also while the sandbox is being made. */
  readonly lifeline: Duplex;
  /** Resolves when nobody holds its pipes any more; rejects where it was not even started. */
  readonly closed: Promise<void>;
}

/** Starts something in a sandbox. */
export type Start = (inside: Inside) => Promise<Jailed>;

/** A working sandbox of the operating system, or the reason why none works. */
export type Jail = { readonly start: Start } | { readonly reason: string };

/** Commands that were tried in this process. */
const probes = new SandboxProbes<Jail>((jail) => "start" in jail);

/** Finds out whether there can be a sandbox here. Never rejects. */
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

/** Starts a shell that starts another process, which says one word. */
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
    ...(isGated ? { gateFd: GATE_FD } : {}),
  });
  const filter = commandFilter(process.arch, inside.mayFork);
  const outlets = await makeOutlets(3);
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
    // Whoever has its first process above it in view reads where the shell was started.
    const options = { stdio: descriptors.stdio, env: ENVIRONMENT, cwd: "/" };
    const child = spawn(SHELL, argumentsFor(bubblewrap, inside), options);
    // Where there are no descriptors left it has no pipes, and nobody else would hear of it before the process ends by it.
    child.once("error", () => undefined);
    const pipes = [child.stdio[0], ...child.stdio.slice(ARGUMENTS_FD, LIFELINE_FD + 1)];
    const [stdin, told, filtered, gate, lifeline] = pipes as unknown as Pipes;
    // Who ends before all is written, ends.
    for (const pipe of [stdin, out.stream, err.stream, status.stream, told, filtered, gate, lifeline])
      pipe?.on("error", () => undefined);
    told.end(walls.map((argument) => `${argument}\0`).join(""));
    filtered.end(filter);
    child.once("exit", () => lifeline.end());
    // Who waits at its other end has gone when this ends.
    lifeline.resume();
    const closed = closing(child, outlets);
    const [stdout, stderr] = [out.stream, err.stream];
    return { process: child, stdin, stdout, stderr, status: status.stream, gate, lifeline, closed };
  } catch (error) {
    for (const { stream } of outlets) stream.destroy();
    throw error;
  } finally {
    closeOutlets(outlets);
  }
}

/** What runs inside can read the arguments of the process above it, so those that name the host's folders are not among them. */
function argumentsFor(bubblewrap: string, { program, limits }: Inside): string[] {
  const outside = [WAITING, limits, OUTSIDE].join("\n");
  return ["-c", outside, SHELL, bubblewrap, "--args", String(ARGUMENTS_FD), "--", ...program];
}

async function closing(child: ChildProcess, outlets: readonly Outlet[]): Promise<void> {
  const ends = outlets.map(({ stream }) => new Promise<void>((resolve) => stream.once("close", resolve)));
  try {
    await once(child, "close");
  } catch (error) {
    for (const { stream } of outlets) stream.destroy();
    throw error;
  } finally {
    await Promise.all(ends);
  }
}
