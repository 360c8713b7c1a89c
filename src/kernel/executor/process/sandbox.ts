import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join, relative, sep } from "node:path";
import {
  bubblewrapArguments,
  closedIn,
  collectOutput,
  findBubblewrap,
  isLink,
  librariesOfNode,
  readOnly,
  SandboxProbes,
  writeFilter,
} from "../../base/os/bubblewrap.ts";
import { executorFilter } from "../../base/os/executor-filter.ts";
import { withExecutorLimits } from "../../base/os/rlimits.ts";
import type { Prelude, RuntimeCode } from "../../base/protocol/prelude.ts";
import type { SandboxMode, SandboxState } from "../executor.ts";
import { readablePaths, rootInside } from "./permissions.ts";

const PROBE_MS = 10_000;
const PROBE_FILTER_FD = 3;

/** Folders of the libraries that Node and isolated-vm are linked to. They contain no user files. */
const LIBRARIES = ["/usr/lib", "/usr/lib64", "/lib", "/lib64"];
/** The index of the dynamic linker. */
const LIBRARY_CACHE = "/etc/ld.so.cache";
/** Results by command, for this process. */
const probes = new SandboxProbes<SandboxState>(({ kind }) => kind === "bubblewrap");

/**
 * The operating system's sandbox around executor processes: bubblewrap, if it is installed and works. Node's permission
 * model restricts JavaScript; the sandbox also restricts code that has escaped from V8.
 */
export class Sandbox {
  readonly #mode: SandboxMode;
  #command = "";
  #state: SandboxState;

  constructor(mode: SandboxMode) {
    this.#mode = mode;
    this.#state = { kind: "off", reason: mode === "off" ? "it is turned off" : "it has not been tried yet" };
  }

  get state(): SandboxState {
    return this.#state;
  }

  /** The filter to write to the descriptor given to `wrap`; `null` without a sandbox. */
  get filter(): Uint8Array | null {
    return this.#state.kind === "off" ? null : executorFilter(process.arch);
  }

  /** Detects whether the sandbox works here. Rejects if it is required and does not work. */
  async prepare(): Promise<void> {
    if (this.#mode === "off") return;
    const filter = executorFilter(process.arch);
    const found = findBubblewrap(filter);
    if ("reason" in found) this.#state = { kind: "off", reason: found.reason };
    else {
      const { command } = found;
      this.#command = command;
      this.#state = await probes.get(command, () => probe(command, filter));
    }
    if (this.#mode === "require" && this.#state.kind === "off") {
      throw new Error(`the required sandbox does not work here: ${this.#state.reason}`);
    }
  }

  /** The command, run inside the sandbox with the files of runtimes; unchanged without one. */
  wrap(command: readonly string[], runtimes: readonly RuntimeCode[], filterFd: number): readonly string[] {
    if (this.#state.kind === "off") return command;
    return [this.#command, ...bubblewrapArguments(view(runtimes), { filterFd }), "--", ...command];
  }

  /** The prelude for workers inside: the paths of runtimes' files differ there. */
  preludeInside(prelude: Prelude): Prelude {
    if (this.#state.kind === "off") return prelude;
    return { ...prelude, runtimes: prelude.runtimes.map(inside) };
  }

  /**
   * Runs a command inside with the machine's network, so that a debugger can attach. Without the filter, which forbids
   * that.
   */
  wrapReachable(command: readonly string[]): readonly string[] {
    if (this.#state.kind === "off") return command;
    return [this.#command, ...bubblewrapArguments(view([]), { sharesNetwork: true }), "--", ...command];
  }
}

/** Runs `node --version` inside, with the settings of executors. */
function probe(command: string, filter: Uint8Array | null): Promise<SandboxState> {
  const inside = [
    command,
    ...bubblewrapArguments(view([]), { filterFd: PROBE_FILTER_FD }),
    "--",
    process.execPath,
    "--version",
  ];
  const [file = "", ...args] = withExecutorLimits(inside);
  return new Promise((resolve) => {
    const child = spawn(file, args, {
      stdio: ["ignore", "pipe", "pipe", "pipe"],
      env: {},
      timeout: PROBE_MS,
      killSignal: "SIGKILL",
    });
    const output = collectOutput(child);
    writeFilter(child.stdio[PROBE_FILTER_FD], filter);
    child.once("error", (error) => resolve({ kind: "off", reason: error.message }));
    child.once("close", (code, signal) => {
      if (code === 0 && output.stdout.trim() === process.version) return resolve({ kind: "bubblewrap" });
      const end = signal === null ? `exit code ${code}` : signal;
      resolve({ kind: "off", reason: output.stderr.trim().split("\n").at(-1) || `bubblewrap ended with ${end}` });
    });
  });
}

function inside(runtime: RuntimeCode): RuntimeCode {
  const { files } = runtime;
  if (files === null) return runtime;
  const root = rootInside(runtime);
  return { ...runtime, files: { root, folder: join(root, relative(files.root, files.folder)) } };
}

/** The mounts inside, all read-only: Node, its libraries, and the paths that Node's own permissions let it read. */
function view(runtimes: readonly RuntimeCode[]): readonly string[] {
  const folders = [...LIBRARIES, ...librariesOfNode()].filter((folder) => existsSync(folder));
  const shown: string[] = [];
  const mounts: string[] = [];
  for (const path of [...folders, process.execPath, ...readablePaths(), LIBRARY_CACHE]) {
    const plain = path.endsWith(sep) ? path.slice(0, -1) : path;
    if (shown.some((above) => `${plain}${sep}`.startsWith(`${above}${sep}`))) continue;
    if (LIBRARIES.includes(plain) && isLink(plain)) mounts.push(...readOnly([plain]));
    else {
      mounts.push("--ro-bind-try", plain, plain);
      shown.push(plain);
    }
  }
  for (const runtime of runtimes)
    if (runtime.files !== null) mounts.push("--ro-bind-try", runtime.files.root, rootInside(runtime));
  // Node reads its own memory use in `/proc`.
  return [...mounts, "--proc", "/proc", ...closedIn("/", ["/proc"])];
}
