import { accessSync, constants, existsSync, lstatSync, readFileSync, readlinkSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import type { Readable, Writable } from "node:stream";

const PATH_DEFAULT = "/usr/local/bin:/usr/bin:/bin";
const OUTPUT_MAX = 4_096;

/** Folders of the host with libraries. */
export const LIBRARIES: readonly string[] = [
  "/usr/lib",
  "/usr/lib32",
  "/usr/lib64",
  "/usr/libx32",
  "/lib",
  "/lib32",
  "/lib64",
  "/libx32",
  "/etc/ld.so.cache",
];
/** Folders of the host with programs and their libraries. */
export const PROGRAMS: readonly string[] = [
  "/usr",
  "/bin",
  "/sbin",
  ...LIBRARIES.filter((path) => !path.startsWith("/usr/")),
  "/etc/alternatives",
];
export const DEVICES: readonly string[] = ["--proc", "/proc", "--dev", "/dev"];
/**
 * Devices for a single process. `/dev/zero` is left out, because a mapping of it is memory that belongs to no process;
 * a single process does not need terminals and the folder for shared memory.
 */
export const DEVICES_OF_ONE: readonly string[] = [
  "--proc /proc --size 4096 --tmpfs /dev",
  ...["null", "full", "random", "urandom"].map((name) => `--dev-bind /dev/${name} /dev/${name}`),
  "--symlink /proc/self/fd /dev/fd",
  ...["stdin", "stdout", "stderr"].map((name, at) => `--symlink /proc/self/fd/${at} /dev/${name}`),
].flatMap((one) => one.split(" "));

/** Matches Node's own libraries among the loaded ones: an embedding program loads others too. */
const LOADED = /\s(\/\S+)\/(?:ld|lib(?:c|m|dl|pthread|atomic|gcc_s|stdc\+\+|node))[-.]\S*$/gm;

/**
 * Own namespaces of every kind, and an unknown user without capabilities and without a way to gain any. bubblewrap's
 * init stays the parent of the program, because no signal ends the first process of a PID namespace. `--new-session`: a
 * signal to a process group reaches all its members, also those in other namespaces.
 */
const ISOLATION: readonly string[] =
  "--unshare-all --unshare-user --uid 65534 --gid 65534 --cap-drop ALL --hostname glovebox --die-with-parent --new-session".split(
    " ",
  );

/** Setup of a sandbox besides its view. */
interface SandboxSetup {
  /**
   * Descriptors for bubblewrap: the system call filter, its status reports, and the gate that it waits at before it
   * starts the program.
   */
  readonly filterFd?: number;
  readonly statusFd?: number;
  readonly gateFd?: number;
  /** Shares the machine's network, unfiltered. Default false. */
  readonly sharesNetwork?: boolean;
  /** Forbids further namespaces: inside them, a process has rights that expose more of the kernel. Default false. */
  readonly forbidsNamespaces?: boolean;
}

/** bubblewrap's arguments for a sandbox with the given view, which must end with `closedIn`. */
export function bubblewrapArguments(view: readonly string[], setup: SandboxSetup): readonly string[] {
  const fd = (option: string, value: number | undefined) => (value === undefined ? [] : [option, String(value)]);
  return [
    ...ISOLATION,
    ...(setup.sharesNetwork === true ? ["--share-net"] : []),
    ...view,
    ...(setup.forbidsNamespaces === true ? ["--disable-userns"] : []),
    ...fd("--json-status-fd", setup.statusFd),
    ...fd("--seccomp", setup.filterFd),
    ...fd("--block-fd", setup.gateFd),
  ];
}

/**
 * Mounts existing files and folders of the host read-only. Many systems have `/bin` and the like as links into `/usr`.
 */
export function readOnly(paths: readonly string[]): readonly string[] {
  const show = (path: string) => (isLink(path) ? ["--symlink", readlinkSync(path), path] : ["--ro-bind", path, path]);
  return paths.filter((path) => existsSync(path)).flatMap(show);
}

export function isLink(path: string): boolean {
  return lstatSync(path).isSymbolicLink();
}

/** The folders of the libraries that this Node was started with: not all systems have them in the usual places. */
export function librariesOfNode(): Set<string> {
  return new Set([...readFileSync("/proc/self/maps", "utf8").matchAll(LOADED)].map(([, folder = ""]) => folder));
}

/** A folder in memory, removed with the sandbox. */
export function ownFolder(path: string, maxBytes: number): readonly string[] {
  return ["--size", String(maxBytes), "--tmpfs", path];
}

/**
 * Closes the view: the system folders and the empty root become read-only, because no limit counts memory written
 * there. If the host runs as root, the kernel's settings below `/proc/sys` are also writable without capabilities:
 * `core_pattern` names a program that the kernel runs.
 */
export function closedIn(folder: string, systemFolders: readonly string[] = ["/proc", "/dev"]): readonly string[] {
  return [...[...systemFolders, "/"].flatMap((path) => ["--remount-ro", path]), "--chdir", folder];
}

/** Writes the filter. A process that ends before reading it reports that by its exit. */
export function writeFilter(pipe: unknown, filter: Uint8Array | null): void {
  const writable = pipe as Writable | null | undefined;
  writable?.on("error", () => undefined);
  writable?.end(filter);
}

/** The path of `bwrap` on this process's search path, or the reason why it cannot be used. */
export function findBubblewrap(filter: Uint8Array | null): { readonly command: string } | { readonly reason: string } {
  if (process.platform !== "linux") return { reason: `there is no bubblewrap for ${process.platform}` };
  const folders = (process.env["PATH"] ?? PATH_DEFAULT).split(delimiter).filter(isAbsolute);
  const command = folders.map((folder) => join(folder, "bwrap")).find(isExecutable);
  if (command === undefined) return { reason: "bubblewrap is not installed" };
  if (filter === null) return { reason: `there is no filter of system calls for ${process.arch}` };
  return { command };
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * Caches the results of sandbox probes by command. A failure is not cached, because its cause may have been repaired.
 */
export class SandboxProbes<Result extends object> {
  readonly #results = new Map<string, Promise<Result>>();
  readonly #works: (result: Result) => boolean;

  constructor(works: (result: Result) => boolean) {
    this.#works = works;
  }

  async get(command: string, probe: () => Promise<Result>): Promise<Result> {
    const probed = this.#results.get(command) ?? probe();
    this.#results.set(command, probed);
    const result = await probed;
    if (!this.#works(result)) this.#results.delete(command);
    return result;
  }
}

/** Collects the end of a probe's output. */
export function collectOutput(streams: { readonly stdout: Readable | null; readonly stderr: Readable | null }): {
  readonly stdout: string;
  readonly stderr: string;
} {
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    streams[name]?.setEncoding("utf8").on("data", (text: string) => {
      output[name] = (output[name] + text).slice(-OUTPUT_MAX);
    });
  }
  return output;
}
