import { pointerSegment } from "../../../base/json.ts";
import { faultOf, type GrantKind, type GrantSource, type UncoveredPart } from "../capability.ts";
import { readFolder } from "../fs/mounts.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

/** Limits of one command, one call and all calls. Grants set the time and output within `wallMs` and `outputBytes`. */
interface ExecLimits {
  /** Maximum time of a command, in milliseconds. */
  readonly wallMs: number;
  /** Maximum length of stdout, and of stderr, in bytes. */
  readonly outputBytes: number;
  /** Default of `outputBytes` in a grant. */
  readonly outputBytesUsual: number;
  /** Maximum of output before a command is killed. Output beyond `outputBytes` is read and discarded. */
  readonly drainedBytes: number;
  readonly commandBytes: number;
  readonly stdinBytes: number;
  /** Processes and threads of a command at once. */
  readonly processes: number;
  /** Memory of all processes of a command together, without mapped files. */
  readonly memoryBytes: number;
  /** Address space of one process: the bound on its memory between two looks of the watch. */
  readonly addressBytes: number;
  /** Maximum length of a file. */
  readonly fileBytes: number;
  /** Capacity of each of a command's own folders, in bytes, and in files and folders. */
  readonly folderBytes: number;
  readonly folderEntries: number;
  /** Maximum number of commands of all calls, and of one call, that run at once; more wait. */
  readonly atOnceInAll: number;
  readonly atOnce: number;
  /** Maximum number of the host's folders in a command's sandbox. */
  readonly mounts: number;
}

export const EXEC_LIMITS: ExecLimits = Object.freeze({
  wallMs: 600_000,
  outputBytes: 16 * MIB,
  outputBytesUsual: MIB,
  drainedBytes: 64 * MIB,
  // Linux limits one argument to 128 KiB.
  commandBytes: 100_000,
  stdinBytes: MIB,
  processes: 128,
  memoryBytes: 512 * MIB,
  addressBytes: 4_096 * MIB,
  fileBytes: 64 * MIB,
  folderBytes: 64 * MIB,
  folderEntries: 50_000,
  atOnceInAll: 4,
  atOnce: 2,
  mounts: 32,
});

/** A folder of the host inside the sandbox of commands. */
export interface ExecMount {
  /** Real path on the host. */
  readonly path: string;
  readonly mode: "ro" | "rw";
}

/** A value of `exec` in a request, a policy or a grant. `null`: not specified. */
export interface ExecGrant {
  /** Maximum time of a command, in milliseconds. */
  readonly wallMs: number | null;
  /** Maximum length of stdout, and of stderr, in bytes. */
  readonly outputBytes: number | null;
  /** Mounts by their paths inside; set by the policy only. */
  readonly mounts: ReadonlyMap<string, ExecMount>;
}

const MOUNT = /^\/[A-Za-z0-9_-]{1,64}$/;
const MOUNT_SHOWN = 64;
/** Folders of the sandbox itself. */
const TAKEN: ReadonlySet<string> = new Set(
  ["bin", "dev", "etc", "home", "lib", "lib32", "lib64", "libx32", "proc", "sbin", "sys", "tmp", "usr"].map(
    (name) => `/${name}`,
  ),
);
const NOTHING_SAID: ExecGrant = { wallMs: null, outputBytes: null, mounts: new Map() };

/** Grants of `exec`: tools request it with or without limits, and the policy sets the folders that commands see. */
export const execGrants: GrantKind<ExecGrant> = {
  read(value, side) {
    if (value === true) return NOTHING_SAID;
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw new TypeError(": is true, or an object with wallMs and outputBytes");
    }
    const { wallMs, outputBytes, mounts, network, ...rest } = value as { readonly [key: string]: unknown };
    const [odd] = Object.keys(rest);
    if (odd !== undefined)
      throw new TypeError(`/${odd.slice(0, MOUNT_SHOWN)}: is not one of wallMs, outputBytes, mounts, network`);
    if (network !== undefined && network !== false) throw new TypeError("/network: is false; commands have no network");
    return {
      wallMs: readLimit(wallMs, "wallMs"),
      outputBytes: readLimit(outputBytes, "outputBytes"),
      mounts: readMounts(mounts, side),
    };
  },

  meet: (asked, allowed) => ({
    wallMs: least(asked.wallMs, allowed.wallMs),
    outputBytes: least(asked.outputBytes, allowed.outputBytes),
    mounts: allowed.mounts,
  }),

  uncovered(asked, granted) {
    const [first, ...others] = granted;
    if (first === undefined) return [{ pointer: "", asked: "the capability" }];
    const given = mergeExecGrants([first, ...others]);
    const parts: UncoveredPart[] = [];
    if (asked.wallMs !== null && asked.wallMs > (given.wallMs ?? EXEC_LIMITS.wallMs)) {
      parts.push({ pointer: "/wallMs", asked: `commands of ${asked.wallMs} ms` });
    }
    if (asked.outputBytes !== null && asked.outputBytes > (given.outputBytes ?? EXEC_LIMITS.outputBytes)) {
      parts.push({ pointer: "/outputBytes", asked: `${asked.outputBytes} bytes of a command's output` });
    }
    return parts;
  },

  describe({ wallMs, outputBytes, mounts }) {
    const parts = ["commands"];
    if (wallMs !== null) parts.push(`of at most ${wallMs} ms`);
    if (outputBytes !== null) parts.push(`with at most ${outputBytes} bytes of output`);
    if (mounts.size > 0)
      parts.push(`that see ${[...mounts].map(([name, { mode }]) => `${name} (${mode})`).join(", ")}`);
    return parts.join(" ");
  },
};

/**
 * Union of several grants: the maximum of their times and outputs, and all of their mounts. If two mounts have the
 * same path inside but different folders, the first one wins; the same folder is writable if one of them is.
 */
export function mergeExecGrants(grants: readonly ExecGrant[]): ExecGrant {
  const mounts = new Map<string, ExecMount>();
  for (const [name, mount] of grants.flatMap((grant) => [...grant.mounts])) {
    const known = mounts.get(name);
    if (known === undefined || (known.path === mount.path && mount.mode === "rw")) mounts.set(name, mount);
  }
  return {
    wallMs: most(grants.map(({ wallMs }) => wallMs)),
    outputBytes: most(grants.map(({ outputBytes }) => outputBytes)),
    mounts,
  };
}

function least(one: number | null, other: number | null): number | null {
  if (one === null || other === null) return one ?? other;
  return Math.min(one, other);
}

/** Maximum of the values; `null`, no limit, if one of them is `null`. */
function most(values: readonly (number | null)[]): number | null {
  return values.reduce((one, other) => (one === null || other === null ? null : Math.max(one, other)), 0);
}

function readLimit(value: unknown, name: "wallMs" | "outputBytes"): number | null {
  if (value === undefined) return null;
  const max = EXEC_LIMITS[name];
  if (typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= max) return value;
  throw new TypeError(`/${name}: is a whole number from 1 to ${max}`);
}

function readMounts(value: unknown, side: GrantSource): ReadonlyMap<string, ExecMount> {
  if (value === undefined) return new Map();
  if (side !== "policy") throw new TypeError("/mounts: is allowed only in a policy rule");
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new TypeError('/mounts: is an object such as { "/data": { path, mode } }');
  }
  const entries = Object.entries(value);
  if (entries.length > EXEC_LIMITS.mounts) throw new TypeError(`/mounts: has at most ${EXEC_LIMITS.mounts} mounts`);
  return new Map(entries.map(([name, mount]) => [name, readMount(name, mount)]));
}

function readMount(name: string, value: unknown): ExecMount {
  const pointer = `/mounts${pointerSegment(name.slice(0, MOUNT_SHOWN))}`;
  if (!MOUNT.test(name)) {
    throw new TypeError(`${pointer}: a mount is a slash and 1 to 64 letters, digits, hyphens and underscores`);
  }
  if (TAKEN.has(name)) throw new TypeError(`${pointer}: is reserved by the sandbox`);
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new TypeError(`${pointer}: is a mount, an object with a path and a mode`);
  }
  const { mode, path: folder } = value as { readonly mode?: unknown; readonly path?: unknown };
  if (mode !== "ro" && mode !== "rw") throw new TypeError(`${pointer}/mode: ${faultOf(mode, 'is "ro" or "rw"')}`);
  return { mode, path: readFolder(folder, `${pointer}/path`) };
}
