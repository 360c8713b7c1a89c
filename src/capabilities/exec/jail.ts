import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, lstatSync, readlinkSync } from "node:fs";
import type { Duplex } from "node:stream";
import { findBubblewrap, ISOLATION } from "../../bubblewrap.ts";
import { Descriptors } from "../../descriptors.ts";
import { commandFilter } from "./filter.ts";
import type { ExecMount } from "./grants.ts";
import { EXEC_LIMITS } from "./limits.ts";

const PROBE_MS = 10_000;
const SAID_MAX = 4_096;

/** Descriptors of bubblewrap, besides the usual three: where it tells what it does, its arguments, and its filter. */
const STATUS_FD = 3;
const ARGUMENTS_FD = 4;
const FILTER_FD = 5;
const STDIO = Array.from({ length: 6 }, () => "pipe" as const);

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
}

/** Where commands run: a sandbox of the operating system that works, or why there is none. */
export type Jail = { readonly start: (inside: Inside) => Jailed } | { readonly reason: string };

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
function probe(startInside: (inside: Inside) => Jailed): Promise<Jail> {
  return new Promise((resolve) => {
    const jailed = startInside({ command: `${SHELL} -c 'echo works'`, wallMs: PROBE_MS, mounts: new Map() });
    const said = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"] as const) {
      jailed[name].setEncoding("utf8").on("data", (text: string) => {
        said[name] = (said[name] + text).slice(-SAID_MAX);
      });
    }
    jailed.stdin.end();
    jailed.status.resume();
    const timer = setTimeout(() => jailed.process.kill("SIGKILL"), PROBE_MS);
    jailed.process.once("error", (error) => {
      clearTimeout(timer);
      resolve({ reason: error.message });
    });
    jailed.process.once("close", (code) => {
      clearTimeout(timer);
      if (code === 0 && said.stdout.trim() === "works") return resolve({ start: startInside });
      resolve({ reason: said.stderr.trim().split("\n").at(-1) || `bubblewrap ended with exit code ${code}` });
    });
  });
}

function start(bubblewrap: string, filter: Uint8Array, { command, wallMs, mounts }: Inside): Jailed {
  const seconds = String(Math.ceil(wallMs / 1000));
  // A command can read the arguments of the process above it, so those that name the host's folders are not among them.
  const inside = [SHELL, "-c", INSIDE, SHELL, command, seconds];
  const args = ["-c", OUTSIDE, SHELL, bubblewrap, "--args", String(ARGUMENTS_FD), "--", ...inside];
  using descriptors = new Descriptors(STDIO);
  const process = spawn(SHELL, args, { stdio: descriptors.stdio, env: ENVIRONMENT });
  // Of the pipes each is a socket, whatever its type says; who ends before all is written, ends.
  const pipes = process.stdio.slice(0, STDIO.length).map((pipe) => (pipe as Duplex).on("error", () => undefined));
  const [stdin, stdout, stderr, status, told, filtered] = pipes as [Duplex, Duplex, Duplex, Duplex, Duplex, Duplex];
  told.end(
    walls(mounts)
      .map((argument) => `${argument}\0`)
      .join(""),
  );
  filtered.end(filter);
  return { process, stdin, stdout, stderr, status };
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
