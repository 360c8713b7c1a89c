import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, lstatSync, readlinkSync } from "node:fs";
import type { Duplex } from "node:stream";
import { findBubblewrap, ISOLATION } from "../../bubblewrap.ts";
import { Descriptors } from "../../descriptors.ts";
import { commandFilter } from "./filter.ts";
import type { ExecMount } from "./grants.ts";
import { EXEC_LIMITS } from "./limits.ts";
import { closeOutlets, makeOutlets, type Outlet } from "./outlet.ts";

const PROBE_MS = 10_000;
const SAID_MAX = 4_096;

/** Descriptors of bubblewrap, besides the usual three: where it tells what it does, its arguments, and its filter. */
const STATUS_FD = 3;
const ARGUMENTS_FD = 4;
const FILTER_FD = 5;

/** All that commands see of the host, and only to read: its programs and their libraries. */
const SYSTEM = [
  "/usr",
  "/bin",
  "/sbin",
  "/lib",
  "/lib32",
  "/lib64",
  "/libx32",
  "/etc/alternatives",
  "/etc/ld.so.cache",
];
/** Folders of the command's own, in memory, which are gone with it. */
export const OWN: readonly string[] = ["/home", "/tmp", "/dev/shm"];
const DEVICES = "--proc /proc --dev /dev".split(" ");
/**
 * What is left of memory that could be written to would be limited by nothing. And where the host runs as root, the kernel's
 * settings below `/proc/sys` are root's to write, also without capabilities: `core_pattern` names a program that it runs.
 */
const CLOSED = "--remount-ro /proc --remount-ro /dev --remount-ro / --chdir /home --disable-userns".split(" ");
const PIPES = `--json-status-fd ${STATUS_FD} --seccomp ${FILTER_FD}`.split(" ");
const ENVIRONMENT = { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: "/home", LANG: "C.UTF-8" };

const { addressBytes, fileBytes, folderBytes, processes } = EXEC_LIMITS;
const SHELL = "/bin/sh";
/**
 * Where the machine runs out of memory, a command is what it can do without; and where a command makes more and more
 * processes, whoever has to end it must not wait for its turn among them.
 */
const OUTSIDE = `echo 1000 >/proc/self/oom_score_adj; exec nice -n 19 "$@"`;
/**
 * Shells disagree on the letter that limits processes, and on the length of the blocks that limit files, 512 or 1024 bytes.
 * What cannot be set is done without: the number of processes, where the host runs as root, is for `watch.ts` alone.
 */
const INSIDE = `{ ulimit -c 0; ulimit -t "$2"; ulimit -f ${fileBytes / 1024}; ulimit -v ${addressBytes / 1024}
ulimit -u ${processes} || ulimit -p ${processes}; } 2>/dev/null
exec ${SHELL} -c -- "$1"`;

/** What runs inside, for how long at most, and the host's folders that it sees. */
export interface Inside {
  readonly command: string;
  readonly wallMs: number;
  readonly mounts: ReadonlyMap<string, ExecMount>;
}

/** A command that was started: its process outside, and what bubblewrap tells of it. */
export interface Jailed {
  readonly process: ChildProcess;
  readonly stdin: Duplex;
  readonly stdout: Duplex;
  readonly stderr: Duplex;
  readonly status: Duplex;
  /** Resolves when nobody holds its pipes any more; rejects where it was not even started. */
  readonly closed: Promise<void>;
}

type Start = (inside: Inside) => Promise<Jailed>;

/** Where commands run: a sandbox of the operating system that works, or why there is none. */
export type Jail = { readonly start: Start } | { readonly reason: string };

/** What was seen to work in this process: what has failed may be mended, and is tried again. */
const known = new Map<string, Promise<Jail>>();

/** Finds out whether commands can be run here. Never rejects. */
export function findJail(): Promise<Jail> {
  const no = (reason: string): Promise<Jail> => Promise.resolve({ reason });
  if (process.platform !== "linux") return no(`there is no bubblewrap for ${process.platform}`);
  const bubblewrap = findBubblewrap();
  if (bubblewrap === null) return no("bubblewrap is not installed");
  const filter = commandFilter(process.arch);
  if (filter === null) return no(`there is no filter of system calls for ${process.arch}`);
  const probed = known.get(bubblewrap) ?? probe((inside) => start(bubblewrap, filter, inside));
  known.set(bubblewrap, probed);
  void probed.then((jail) => {
    if ("reason" in jail) known.delete(bubblewrap);
  });
  return probed;
}

/** Runs a command as all are run: it starts another process, and says one word. */
async function probe(startInside: Start): Promise<Jail> {
  try {
    const jailed = await startInside({ command: `${SHELL} -c 'echo works'`, wallMs: PROBE_MS, mounts: new Map() });
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

async function start(bubblewrap: string, filter: Uint8Array, inside: Inside): Promise<Jailed> {
  const options = walls(inside.mounts).map((argument) => `${argument}\0`);
  const outlets = await makeOutlets(2);
  const [out, err] = outlets as [Outlet, Outlet];
  try {
    using descriptors = new Descriptors(["pipe", out.fd, err.fd, "pipe", "pipe", "pipe"]);
    const process = spawn(SHELL, argumentsFor(bubblewrap, inside), { stdio: descriptors.stdio, env: ENVIRONMENT });
    const pipes = [process.stdio[0], ...process.stdio.slice(STATUS_FD, FILTER_FD + 1)];
    const [stdin, status, told, filtered] = pipes as unknown as [Duplex, Duplex, Duplex, Duplex];
    // Who ends before all is written, ends.
    for (const pipe of [stdin, out.stream, err.stream, status, told, filtered]) pipe.on("error", () => undefined);
    told.end(options.join(""));
    filtered.end(filter);
    const closed = closing(process, [out, err]);
    return { process, stdin, stdout: out.stream, stderr: err.stream, status, closed };
  } catch (error) {
    for (const { stream } of outlets) stream.destroy();
    throw error;
  } finally {
    closeOutlets(outlets);
  }
}

/** A command can read the arguments of the process above it, so those that name the host's folders are not among them. */
function argumentsFor(bubblewrap: string, { command, wallMs }: Inside): string[] {
  const inside = [SHELL, "-c", INSIDE, SHELL, command, String(Math.ceil(wallMs / 1000))];
  return ["-c", OUTSIDE, SHELL, bubblewrap, "--args", String(ARGUMENTS_FD), "--", ...inside];
}

async function closing(process: ChildProcess, outlets: readonly Outlet[]): Promise<void> {
  const ends = outlets.map(({ stream }) => new Promise<void>((resolve) => stream.once("close", resolve)));
  try {
    await once(process, "close");
  } catch (error) {
    for (const { stream } of outlets) stream.destroy();
    throw error;
  } finally {
    await Promise.all(ends);
  }
}

/** Further namespaces are forbidden: in those, a process would have rights that make more of the kernel reachable. */
function walls(mounts: Inside["mounts"]): string[] {
  const system = SYSTEM.filter((path) => existsSync(path)).flatMap(shown);
  const own = OWN.flatMap((path) => ["--size", String(folderBytes), "--tmpfs", path]);
  const given = [...mounts].flatMap(([name, { path, mode }]) => [mode === "rw" ? "--bind" : "--ro-bind", path, name]);
  return [...ISOLATION, ...system, ...DEVICES, ...own, ...given, ...CLOSED, ...PIPES];
}

/** Many systems have `/bin` and its like as links into `/usr`. */
function shown(path: string): string[] {
  return lstatSync(path).isSymbolicLink() ? ["--symlink", readlinkSync(path), path] : ["--ro-bind", path, path];
}
