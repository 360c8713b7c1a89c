import path from "node:path";
import PQueue from "p-queue";
import type { JsonSchema } from "../../../base/json.ts";
import { type Capability, type CapabilityCaller, CapabilityRefusal, type OpenCapability } from "../capability.ts";
import { TemporaryFolders } from "../temporary.ts";
import { WaitingSlots } from "../waiting-slots.ts";
import { type FileHolder, systemFileHolder } from "./file-holder.ts";
import { Budget, FS_LIMITS, type FsLimits, ScratchSpace } from "./limits.ts";
import { isLocal, LocalFileHolder } from "./local-holder.ts";
import { mergeMounts, type Mount, mountGrants, type Mounts } from "./mounts.ts";
import { accessPath, lstat, readdir, readFile, realpath, stat } from "./reading.ts";
import { codeOf, describeFailure, type SystemFailure } from "./system-error.ts";
import { type FsCall, FsRefusals, FsOperation } from "./operation.ts";
import { copyFile, mkdir, removeFolder, rename, rm, truncate, unlink, writeFile } from "./writing.ts";

/** One method: schema of its arguments, name of the system call in errors, and implementation. */
interface FsMethod {
  /** See `MethodShape`. */
  readonly inputBytes?: number;
  readonly input: JsonSchema;
  readonly syscall: string;
  readonly isRead?: true;
  // The broker checks arguments against the schema before the call.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly run: (operation: FsOperation, args: any) => Promise<unknown>;
}

const PATH = { type: "string" };
const FLAG = { type: "boolean" };
const COUNT = { type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER };
const DATA = {
  oneOf: ["text", "base64"].map((form) => ({
    type: "object",
    properties: { [form]: { type: "string" } },
    required: [form],
    additionalProperties: false,
  })),
};

/** Room for the largest write as Base64, and for text of which JSON escapes some. */
const WRITE_LENGTH_MAX = 2 * FS_LIMITS.operationBytes;

/** Methods of the capability. Node's `fs` also makes links and changes owners and modes, which tools may not. */
const METHODS: { readonly [name: string]: FsMethod } = {
  readFile: {
    input: takes({ path: PATH, encoding: { enum: ["utf8"] }, position: COUNT, length: COUNT }, ["path"]),
    syscall: "open",
    isRead: true,
    run: readFile,
  },
  writeFile: {
    input: takes({ path: PATH, data: DATA, flag: { enum: ["w", "wx", "a", "ax"] } }, ["path", "data"]),
    inputBytes: WRITE_LENGTH_MAX,
    syscall: "open",
    run: writeFile,
  },
  copyFile: {
    input: takes({ path: PATH, to: PATH, exclusive: FLAG }, ["path", "to"]),
    syscall: "copyfile",
    run: copyFile,
  },
  truncate: { input: takes({ path: PATH, length: COUNT }, ["path"]), syscall: "open", run: truncate },
  readdir: { input: takes({ path: PATH, recursive: FLAG }, ["path"]), syscall: "scandir", isRead: true, run: readdir },
  stat: { input: takes({ path: PATH }, ["path"]), syscall: "stat", isRead: true, run: stat },
  lstat: { input: takes({ path: PATH }, ["path"]), syscall: "lstat", isRead: true, run: lstat },
  realpath: { input: takes({ path: PATH, missing: FLAG }, ["path"]), syscall: "realpath", isRead: true, run: realpath },
  access: {
    input: takes({ path: PATH, mode: { type: "integer", minimum: 0, maximum: 7 } }, ["path"]),
    syscall: "access",
    isRead: true,
    run: accessPath,
  },
  mkdir: { input: takes({ path: PATH, recursive: FLAG }, ["path"]), syscall: "mkdir", run: mkdir },
  rm: { input: takes({ path: PATH, recursive: FLAG, force: FLAG }, ["path"]), syscall: "rm", run: rm },
  rmdir: { input: takes({ path: PATH }, ["path"]), syscall: "rmdir", run: removeFolder },
  unlink: { input: takes({ path: PATH }, ["path"]), syscall: "unlink", run: unlink },
  rename: { input: takes({ path: PATH, to: PATH }, ["path", "to"]), syscall: "rename", run: rename },
};

function takes(properties: Readonly<Record<string, JsonSchema>>, required: readonly string[]): JsonSchema {
  return { type: "object", properties, required, additionalProperties: false };
}

const LOCAL_HOLDER = new LocalFileHolder();

/** Replacements for tests. */
export interface FsOptions {
  readonly limits?: Partial<FsLimits>;
  /** For all files. Default: the system's, and `LocalFileHolder` for walks in local folders. */
  readonly holder?: FileHolder;
}

/** Result of an operation. Errors of the system are data, so that the tool gets an error like Node's. */
type FsResult = { readonly value: unknown } | { readonly failure: SystemFailure };

/** State shared by all calls. */
interface FsHost {
  readonly limits: FsLimits;
  readonly holder: FileHolder | undefined;
  readonly scratches: TemporaryFolders;
  readonly space: ScratchSpace;
  /** Slots of the operations of all calls. */
  readonly slots: WaitingSlots;
}

/** `fs`: folders of the host that the policy mounts, and a scratch folder for each call. */
export function createFs({ limits = {}, holder }: FsOptions = {}): Capability<Mounts> {
  const all = { ...FS_LIMITS, ...limits };
  const scratches = new TemporaryFolders("scratch");
  // An operation that waits ends with its call, so the wait needs no limit of its own.
  const late = () => new Error("no operation ended in time");
  const reserved = Math.floor(all.atOnceInAll / 4);
  const slots = new WaitingSlots({ max: all.atOnceInAll, reserved, waitMs: null, late });
  const host: FsHost = { limits: all, holder, scratches, space: new ScratchSpace(all), slots };
  return {
    name: "fs",
    grants: mountGrants,
    methods: METHODS,
    open: (call, grants) => new FsSession(host, call, mergeMounts(grants)),
    close: () => scratches.close(),
  };
}

/** The capability as it serves one call. */
class FsSession implements OpenCapability {
  readonly #host: FsHost;
  readonly #call: FsCall;
  readonly #queue: PQueue;
  readonly #tenant: string | undefined;
  #scratch: Promise<string> | null = null;

  constructor(host: FsHost, { signal, tenant }: CapabilityCaller, mounts: Mounts) {
    this.#host = host;
    this.#tenant = tenant;
    const { limits, holder, space } = host;
    const folderOf = (mount: Mount) => (mount.path === null ? this.#scratchFolder() : Promise.resolve(mount.path));
    const holderOf = (mount: Mount, root: string): FileHolder => {
      if (holder !== undefined) return holder;
      // Scratch folders are many, and all in one folder.
      return isLocal(mount.path ?? path.dirname(root)) ? LOCAL_HOLDER : systemFileHolder;
    };
    const budget = new Budget(limits, space);
    this.#call = { mounts, limits, holder: holder ?? systemFileHolder, holderOf, signal, budget, folderOf };
    this.#queue = new PQueue({ concurrency: limits.atOnce });
  }

  invoke(method: string, args: unknown): Promise<FsResult> {
    const { signal } = this.#call;
    return this.#queue.add(() => this.#host.slots.run(signal, this.#tenant, () => this.#run(method, args)));
  }

  get held(): string | null {
    return this.#scratch === null ? null : "files in its scratch folder";
  }

  /** Waits until running operations have stopped at their next step, and then removes the scratch folder. */
  async close(): Promise<void> {
    await this.#queue.onIdle();
    if (this.#scratch === null) return;
    await this.#scratch.then((folder) => this.#host.scratches.remove(folder));
    // If the folder could not be removed, its bytes stay counted.
    this.#call.budget.end();
  }

  async #run(name: string, args: unknown): Promise<FsResult> {
    const method = METHODS[name];
    if (method === undefined) throw new Error(`fs.${name} does not exist`);
    const { mounts } = this.#call;
    try {
      return { value: await method.run(new FsOperation(this.#call, new FsRefusals(name, mounts)), args) };
    } catch (error) {
      if (error instanceof CapabilityRefusal) throw error;
      const code = codeOf(error);
      // Other errors may name a path of the host.
      if (code === null) throw new Error("the operation failed on the host", { cause: error });
      const { path, to } = args as { readonly path: string; readonly to?: string };
      const subject = { syscall: method.syscall, path, ...(to === undefined ? {} : { dest: to }) };
      return { failure: describeFailure(code, subject) };
    }
  }

  #scratchFolder(): Promise<string> {
    this.#scratch ??= this.#host.scratches.make();
    return this.#scratch;
  }
}
