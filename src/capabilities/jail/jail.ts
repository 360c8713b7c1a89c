import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { Duplex } from "node:stream";
import { findBubblewrap, ISOLATION } from "../../bubblewrap.ts";
import { Descriptors } from "../../descriptors.ts";
import { systemCallFilter } from "./filter.ts";
import { closedIn, DEVICES, type Inside, PROGRAMS, readOnly } from "./inside.ts";
import { closeOutlets, makeOutlets, type Outlet } from "./outlet.ts";

const PROBE_MS = 10_000;
const SAID_MAX = 4_096;

/** Descriptors of bubblewrap, besides the usual three: where it tells what it does, its arguments, its filter, and what it waits for. */
const STATUS_FD = 3;
const ARGUMENTS_FD = 4;
const FILTER_FD = 5;
const GATE_FD = 6;

const PIPES = `--json-status-fd ${STATUS_FD} --seccomp ${FILTER_FD}`.split(" ");
const GATE = ["--block-fd", String(GATE_FD)];
const ENVIRONMENT = { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: "/home", LANG: "C.UTF-8" };

const SHELL = "/bin/sh";
/**
 * Where the machine runs out of memory, what runs inside is what it can do without; and where that makes more and more
 * processes, whoever has to end it must not wait for its turn among them.
 */
const OUTSIDE = `echo 1000 >/proc/self/oom_score_adj; exec nice -n 19 "$@"`;

/** What was started: its process outside, and what bubblewrap tells of it. */
export interface Jailed {
  readonly process: ChildProcess;
  readonly stdin: Duplex;
  readonly stdout: Duplex;
  readonly stderr: Duplex;
  readonly status: Duplex;
  /** The program begins when something is written to it, where it waits for that. */
  readonly gate: Duplex | null;
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

async function start(bubblewrap: string, inside: Inside): Promise<Jailed> {
  const isGated = inside.kept !== null;
  const walls = [...ISOLATION, ...inside.walls, ...PIPES, ...(isGated ? GATE : [])];
  const filter = systemCallFilter(process.arch, inside.mayFork);
  const outlets = await makeOutlets(2);
  const [out, err] = outlets as [Outlet, Outlet];
  try {
    using descriptors = new Descriptors(["pipe", out.fd, err.fd, "pipe", "pipe", "pipe", isGated ? "pipe" : "ignore"]);
    const child = spawn(SHELL, argumentsFor(bubblewrap, inside), { stdio: descriptors.stdio, env: ENVIRONMENT });
    const pipes = [child.stdio[0], ...child.stdio.slice(STATUS_FD, GATE_FD + 1)];
    const [stdin, status, told, filtered, gate] = pipes as unknown as [Duplex, Duplex, Duplex, Duplex, Duplex | null];
    // Who ends before all is written, ends.
    for (const pipe of [stdin, out.stream, err.stream, status, told, filtered, gate])
      pipe?.on("error", () => undefined);
    told.end(walls.map((argument) => `${argument}\0`).join(""));
    filtered.end(filter);
    const closed = closing(child, [out, err]);
    return { process: child, stdin, stdout: out.stream, stderr: err.stream, status, gate, closed };
  } catch (error) {
    for (const { stream } of outlets) stream.destroy();
    throw error;
  } finally {
    closeOutlets(outlets);
  }
}

/** What runs inside can read the arguments of the process above it, so those that name the host's folders are not among them. */
function argumentsFor(bubblewrap: string, { program, limits }: Inside): string[] {
  const outside = [limits, OUTSIDE].join("\n");
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
