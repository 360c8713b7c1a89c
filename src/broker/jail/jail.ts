import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { Duplex } from "node:stream";
import { findBubblewrap, ISOLATION } from "../../base/os/bubblewrap.ts";
import { Descriptors } from "../../base/os/descriptors.ts";
import { systemCallFilter } from "./filter.ts";
import { closedIn, DEVICES, type Inside, PROGRAMS, readOnly } from "./inside.ts";
import { closeOutlets, makeOutlets, type Outlet } from "./outlet.ts";

const PROBE_MS = 10_000;
const SAID_MAX = 4_096;

/** Descriptors of bubblewrap, besides the usual three: where it tells what it does, its arguments, its filter, what it waits for, and its lifeline. */
const STATUS_FD = 3;
const ARGUMENTS_FD = 4;
const FILTER_FD = 5;
const GATE_FD = 6;
const LIFELINE_FD = 7;
/** The other end of the first of them: bubblewrap must not end for having nobody left to tell. */
const HELD_FD = 8;

const PIPES = `--json-status-fd ${STATUS_FD} --seccomp ${FILTER_FD}`.split(" ");
const GATE = ["--block-fd", String(GATE_FD)];
const ENVIRONMENT = { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: "/home", LANG: "C.UTF-8" };

const SHELL = "/bin/sh";
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

/** A sandbox of the operating system that works, or why there is none. */
export type Jail = { readonly start: Start } | { readonly reason: string };

/** What was seen to work in this process: what has failed may be mended, and is tried again. */
const known = new Map<string, Promise<Jail>>();

/** Finds out whether there can be a sandbox here. Never rejects. */
export function findJail(): Promise<Jail> {
  const no = (reason: string): Promise<Jail> => Promise.resolve({ reason });
  if (process.platform !== "linux") return no(`there is no bubblewrap for ${process.platform}`);
  const bubblewrap = findBubblewrap();
  if (bubblewrap === null) return no("bubblewrap is not installed");
  if (systemCallFilter(process.arch, true) === null)
    return no(`there is no filter of system calls for ${process.arch}`);
  const probed = known.get(bubblewrap) ?? probe((inside) => start(bubblewrap, inside));
  known.set(bubblewrap, probed);
  void probed.then((jail) => {
    if ("reason" in jail) known.delete(bubblewrap);
  });
  return probed;
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
    const said = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"] as const) {
      jailed[name].setEncoding("utf8").on("data", (text: string) => {
        said[name] = (said[name] + text).slice(-SAID_MAX);
      });
    }
    jailed.stdin.end();
    jailed.status.resume();
    await jailed.closed.finally(() => clearTimeout(timer));
    if (said.stdout.trim() === "works") return { start: startInside };
    return { reason: said.stderr.trim().split("\n").at(-1) || "a command that was tried said nothing" };
  } catch (error) {
    return { reason: error instanceof Error ? error.message : String(error) };
  }
}

type Pipes = readonly [Duplex, Duplex, Duplex, gate: Duplex | null, lifeline: Duplex];

async function start(bubblewrap: string, inside: Inside): Promise<Jailed> {
  const isGated = inside.kept !== null;
  const walls = [...ISOLATION, ...inside.walls, ...PIPES, ...(isGated ? GATE : [])];
  const filter = systemCallFilter(process.arch, inside.mayFork);
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
