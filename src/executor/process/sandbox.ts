import { spawn } from "node:child_process";
import { existsSync, lstatSync, readFileSync, readlinkSync } from "node:fs";
import { basename, sep } from "node:path";
import type { Writable } from "node:stream";
import { findBubblewrap, ISOLATION } from "../../base/os/bubblewrap.ts";
import type { Prelude } from "../../base/protocol/prelude.ts";
import type { SandboxMode, SandboxState } from "../executor.ts";
import { pythonPlace } from "../../tool/runtimes/python/place.ts";
import { PYTHON_INSIDE, readablePaths } from "./permissions.ts";
import { withLimits } from "./rlimits.ts";
import { seccompFilter } from "./seccomp.ts";

const PROBE_MS = 10_000;
const PROBE_FILTER_FD = 3;
const OUTPUT_MAX = 4_096;

/** Where systems keep the libraries that Node and isolated-vm are linked to. Nobody's own files are there. */
const LIBRARIES = ["/usr/lib", "/usr/lib64", "/lib", "/lib64"];
/** Which library lies where. */
const LIBRARY_CACHE = "/etc/ld.so.cache";
/** What Node itself is made of, in the names of the libraries it has loaded: whoever embeds this has others too. */
const LOADED = /\s(\/\S+)\/(?:ld|lib(?:c|m|dl|pthread|atomic|gcc_s|stdc\+\+|node))[-.]\S*$/gm;

/** Node reads its own memory use there. Nothing inside can be written to, also not the empty root around it all. */
const CLOSED = "--proc /proc --remount-ro /proc --remount-ro / --chdir /";

/** The commands that were seen to work in this process: what has failed may be mended, and is tried again. */
const known = new Map<string, Promise<SandboxState>>();

/**
 * The operating system's walls around executor processes: bubblewrap, where it is installed and works. Node's own
 * permission model holds JavaScript; this holds whoever has broken out of that too.
 */
export class Sandbox {
  readonly #mode: SandboxMode;
  readonly #command: string | null;
  #state: SandboxState;

  constructor(mode: SandboxMode) {
    this.#mode = mode;
    this.#command = mode === "off" ? null : findBubblewrap();
    this.#state = { kind: "off", reason: mode === "off" ? "it is turned off" : "it has not been tried yet" };
  }

  get state(): SandboxState {
    return this.#state;
  }

  /** The filter that has to be written to the descriptor named in `wrap`; `null` where there is no sandbox. */
  get filter(): Uint8Array | null {
    return this.#state.kind === "off" ? null : seccompFilter(process.arch);
  }

  /** Finds out whether it works here. Rejects where it is required and does not. */
  async prepare(): Promise<void> {
    if (this.#mode === "off") return;
    this.#state = await tryOnce(this.#command);
    if (this.#mode === "require" && this.#state.kind === "off") {
      throw new Error(`the sandbox that is required does not work here: ${this.#state.reason}`);
    }
  }

  /** A command that runs inside; as it is where there is no sandbox. */
  wrap(command: readonly string[], filterFd: number): readonly string[] {
    if (this.#state.kind === "off" || this.#command === null) return command;
    return [this.#command, ...bubblewrapArguments(filterFd), "--", ...command];
  }

  /** What workers inside are told: they see Python elsewhere. */
  preludeInside(prelude: Prelude): Prelude {
    const { pythonImage } = prelude;
    if (this.#state.kind === "off" || pythonImage === null) return prelude;
    return { ...prelude, pythonImage: `${PYTHON_INSIDE}/${basename(pythonImage)}` };
  }

  /** A command inside that shares the machine's network, so that a debugger can attach: the filter would forbid that. */
  wrapReachable(command: readonly string[]): readonly string[] {
    if (this.#state.kind === "off" || this.#command === null) return command;
    return [this.#command, ...ISOLATION, "--share-net", ...mounts(), ...CLOSED.split(" "), "--", ...command];
  }
}

function tryOnce(command: string | null): Promise<SandboxState> {
  const off = (reason: string) => Promise.resolve<SandboxState>({ kind: "off", reason });
  if (process.platform !== "linux") return off(`there is none for ${process.platform}`);
  if (command === null) return off("bubblewrap is not installed");
  const filter = seccompFilter(process.arch);
  if (filter === null) return off(`there is no filter of system calls for ${process.arch}`);
  const probed = known.get(command) ?? probe(command, filter);
  known.set(command, probed);
  void probed.then(({ kind }) => {
    if (kind === "off") known.delete(command);
  });
  return probed;
}

/** Starts Node as executors are started, to ask nothing but its version. */
function probe(command: string, filter: Uint8Array): Promise<SandboxState> {
  const inside = [command, ...bubblewrapArguments(PROBE_FILTER_FD), "--", process.execPath, "--version"];
  const [file = "", ...args] = withLimits(inside);
  return new Promise((resolve) => {
    const child = spawn(file, args, {
      stdio: ["ignore", "pipe", "pipe", "pipe"],
      env: {},
      timeout: PROBE_MS,
      killSignal: "SIGKILL",
    });
    const said = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"] as const) {
      child[name]
        ?.setEncoding("utf8")
        .on("data", (text: string) => (said[name] = (said[name] + text).slice(-OUTPUT_MAX)));
    }
    writeFilter(child.stdio[PROBE_FILTER_FD], filter);
    child.once("error", (error) => resolve({ kind: "off", reason: error.message }));
    child.once("close", (code, signal) => {
      if (code === 0 && said.stdout.trim() === process.version) return resolve({ kind: "bubblewrap" });
      const end = signal === null ? `exit code ${code}` : signal;
      resolve({ kind: "off", reason: said.stderr.trim().split("\n").at(-1) || `bubblewrap ended with ${end}` });
    });
  });
}

/** Hands the filter over; who ends before reading it says so by ending. */
export function writeFilter(pipe: unknown, filter: Uint8Array): void {
  const writable = pipe as Writable | null | undefined;
  writable?.on("error", () => undefined);
  writable?.end(filter);
}

function bubblewrapArguments(filterFd: number): string[] {
  return [...ISOLATION, ...mounts(), ...CLOSED.split(" "), "--seccomp", String(filterFd)];
}

/** Everything that is there to be seen, and to be read only: Node, its libraries, and what Node itself lets be read. */
function mounts(): string[] {
  const folders = [...LIBRARIES, ...loadedFrom()].filter((folder) => existsSync(folder));
  const shown: string[] = [];
  const mount: string[] = [];
  for (const path of [...folders, process.execPath, ...readablePaths(), LIBRARY_CACHE]) {
    const plain = path.endsWith(sep) ? path.slice(0, -1) : path;
    if (shown.some((above) => `${plain}${sep}`.startsWith(`${above}${sep}`))) continue;
    if (LIBRARIES.includes(plain) && lstatSync(plain).isSymbolicLink()) {
      mount.push("--symlink", readlinkSync(plain), plain);
    } else {
      mount.push("--ro-bind-try", plain, plain);
      shown.push(plain);
    }
  }
  const python = pythonPlace();
  if (python !== null) mount.push("--ro-bind-try", python.cache, PYTHON_INSIDE);
  return mount;
}

/** The folders of the libraries that this very Node was started with: not all systems keep them where most do. */
function loadedFrom(): Set<string> {
  return new Set([...readFileSync("/proc/self/maps", "utf8").matchAll(LOADED)].map(([, folder = ""]) => folder));
}
