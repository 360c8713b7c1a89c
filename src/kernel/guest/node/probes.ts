import { library, type NodeModule } from "./inner/library.ts";

/** Modules that answer what is asked of a process: `node:cluster`, `node:tty`, `node:v8`, `node:vm`, `node:worker_threads`. */

/** There is no terminal. */
function ReadStream(): never {
  throw library.refusal("tty", "ReadStream");
}
function WriteStream(): never {
  throw library.refusal("tty", "WriteStream");
}

/** Sizes are hidden. */
const noSizes = (): object => ({
  total_heap_size: 0,
  used_heap_size: 0,
  heap_size_limit: 0,
  total_available_size: 0,
  malloced_memory: 0,
  peak_malloced_memory: 0,
});

/** Code of this realm. Other realms do not exist. */
// oxlint-disable-next-line no-eval
const evaluate = globalThis.eval;

/** Code as `node:vm` keeps it, for this realm. */
class Script {
  readonly #code: string;

  constructor(code: unknown) {
    this.#code = String(code as string);
  }

  runInThisContext(): unknown {
    return evaluate(this.#code);
  }

  runInContext(): never {
    throw library.refusal("vm", "Script.runInContext");
  }

  runInNewContext(): never {
    throw library.refusal("vm", "Script.runInNewContext");
  }
}

export const modules: { readonly [name: string]: NodeModule } = {
  cluster: {
    isPrimary: true,
    isMaster: true,
    isWorker: false,
    workers: Object.freeze({}),
    settings: Object.freeze({}),
  },
  tty: { isatty: () => false, ReadStream, WriteStream },
  v8: {
    getHeapStatistics: noSizes,
    getHeapSpaceStatistics: () => [],
    getHeapCodeStatistics: noSizes,
    cachedDataVersionTag: () => 0,
    setFlagsFromString: () => undefined,
  },
  vm: {
    Script,
    constants: Object.freeze({}),
    runInThisContext: (code: unknown) => evaluate(String(code as string)) as unknown,
    isContext: () => false,
  },
  worker_threads: {
    ...(library.load("ports").shared as NodeModule),
    isMainThread: true,
    isInternalThread: false,
    parentPort: null,
    workerData: null,
    threadId: 0,
    threadName: "",
    resourceLimits: Object.freeze({}),
    SHARE_ENV: Symbol.for("nodejs.worker_threads.SHARE_ENV"),
    markAsUncloneable: () => undefined,
    markAsUntransferable: () => undefined,
    isMarkedAsUntransferable: () => false,
    getEnvironmentData: () => undefined,
    setEnvironmentData: () => undefined,
  },
};
