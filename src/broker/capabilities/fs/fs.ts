import PQueue from "p-queue";
import { type Capability, type CapabilityCall, CapabilityRefusal, type OpenCapability } from "../capability.ts";
import { Budget, ScratchSpace } from "./budget.ts";
import { type Grip, grip as systemGrip } from "./grip.ts";
import { FS_LIMITS, type FsLimits } from "./limits.ts";
import { METHODS } from "./methods.ts";
import { mergeMounts, type Mount, mountGrants, type Mounts } from "./mounts.ts";
import { Refusals } from "./refusals.ts";
import { TemporaryFolders } from "../temporary.ts";
import { codeOf, describeFailure, type SystemFailure } from "./system-error.ts";
import { type FsCall, Visit } from "./visit.ts";

/** What may be other than usual, for tests. */
export interface FsOptions {
  readonly limits?: Partial<FsLimits>;
  readonly grip?: Grip;
}

/** How an operation went, as it crosses: what the system refuses is data, so that the tool gets an error like Node's. */
export type FsAnswer = { readonly value: unknown } | { readonly failure: SystemFailure };

/** What all calls have in common. */
interface FsHost {
  readonly limits: FsLimits;
  readonly grip: Grip;
  readonly scratches: TemporaryFolders;
  readonly space: ScratchSpace;
  /** Where the operations of all calls wait. */
  readonly queue: PQueue;
}

/** `fs`: folders of the host that the policy mounts, and a scratch folder for each call. */
export function createFs({ limits = {}, grip = systemGrip }: FsOptions = {}): Capability<Mounts> {
  const all = { ...FS_LIMITS, ...limits };
  const scratches = new TemporaryFolders("scratch");
  const queue = new PQueue({ concurrency: all.atOnceInAll });
  const host: FsHost = { limits: all, grip, scratches, space: new ScratchSpace(all), queue };
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
  #scratch: Promise<string> | null = null;

  constructor(host: FsHost, { signal }: CapabilityCall, mounts: Mounts) {
    this.#host = host;
    const { limits, grip, space } = host;
    const folderOf = (mount: Mount) => (mount.path === null ? this.#scratchFolder() : Promise.resolve(mount.path));
    this.#call = { mounts, limits, grip, signal, budget: new Budget(limits, space), folderOf };
    this.#queue = new PQueue({ concurrency: limits.atOnce });
  }

  invoke(method: string, args: unknown): Promise<FsAnswer> {
    return this.#queue.add(() => this.#host.queue.add(() => this.#run(method, args)));
  }

  /** Operations that are under way end at their next step; then the scratch folder goes. */
  async close(): Promise<void> {
    await this.#queue.onIdle();
    if (this.#scratch === null) return;
    await this.#scratch.then((folder) => this.#host.scratches.remove(folder));
    // Where the folder could not be removed, what it holds stays counted.
    this.#call.budget.end();
  }

  async #run(name: string, args: unknown): Promise<FsAnswer> {
    const method = METHODS[name];
    if (method === undefined) throw new Error(`there is no fs.${name}`);
    const { signal, mounts } = this.#call;
    signal.throwIfAborted();
    try {
      return { value: await method.run(new Visit(this.#call, new Refusals(name, mounts)), args) };
    } catch (error) {
      if (error instanceof CapabilityRefusal) throw error;
      const code = codeOf(error);
      // What else goes wrong may name a path of the host.
      if (code === null) throw new Error("the host could not do it", { cause: error });
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
