import { existsSync, lstatSync, readlinkSync } from "node:fs";

/** Folders of the host's with programs and their libraries. */
export const PROGRAMS: readonly string[] = [
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
/** The same with libraries alone. */
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
export const DEVICES: readonly string[] = ["--proc", "/proc", "--dev", "/dev"];
/**
 * The same for what is one process, and must have no memory that belongs to none: `/dev/zero` gives it to who maps it, and
 * terminals and the folder for shared memory are of no use to it.
 */
export const DEVICES_OF_ONE: readonly string[] = [
  "--proc /proc --size 4096 --tmpfs /dev",
  ...["null", "full", "random", "urandom"].map((name) => `--dev-bind /dev/${name} /dev/${name}`),
  "--symlink /proc/self/fd /dev/fd",
  ...["stdin", "stdout", "stderr"].map((name, at) => `--symlink /proc/self/fd/${at} /dev/${name}`),
].flatMap((one) => one.split(" "));

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

/** bubblewrap's arguments for folders of the host's, to be read only, as far as they are there. */
export function readOnly(paths: readonly string[]): readonly string[] {
  // Many systems have `/bin` and its like as links into `/usr`.
  const shown = (path: string): string[] =>
    lstatSync(path).isSymbolicLink() ? ["--symlink", readlinkSync(path), path] : ["--ro-bind", path, path];
  return paths.filter((path) => existsSync(path)).flatMap(shown);
}

/** bubblewrap's arguments for a folder in memory, which is gone with the sandbox. */
export function ownFolder(path: string, maxBytes: number): readonly string[] {
  return ["--size", String(maxBytes), "--tmpfs", path];
}

/**
 * bubblewrap's last arguments. What is left of memory that could be written to would be limited by nothing. And where the
 * host runs as root, the kernel's settings below `/proc/sys` are root's to write, also without capabilities: `core_pattern`
 * names a program that it runs. Further namespaces are forbidden: in those, a process would have rights that make more of
 * the kernel reachable.
 */
export function closedIn(folder: string): readonly string[] {
  const readOnlyAgain = ["/proc", "/dev", "/"].flatMap((path) => ["--remount-ro", path]);
  return [...readOnlyAgain, "--chdir", folder, "--disable-userns"];
}
