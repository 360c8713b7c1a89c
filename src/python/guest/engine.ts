import type { EngineWorld, Factory, PythonEngine } from "../../kernel/guest/host.ts";
import { PLACEHOLDER_BYTES } from "./assembly.ts";
import { createFacade, type Facade, type Surroundings } from "./facade.ts";
import { Interpreter } from "./interpreter.ts";
import type { Pyodide, PyodideModules } from "./pyodide.ts";

/** The memory without its empty pages. */
export interface MemorySnapshot {
  /** Pyodide's header, then the runs one after the other. */
  readonly bytes: ArrayBuffer;
  readonly headerBytes: number;
  /** Start address and length of each run, in bytes. */
  readonly runs: Int32Array;
}

type Modules = (facade: Facade) => PyodideModules;

/**
 * `modules` evaluates Pyodide's code with the facade as its global, and needs globals that only the prelude defines.
 */
export function createEngine(modules: Modules): PythonEngine {
  let world: EngineWorld | null = null;
  let interpreter: Interpreter | null = null;
  let status = "";
  let boot: Uint8Array | null = null;
  let at = 0;
  const surroundings: Surroundings = {
    setTimeout: (callback, delayMs) => world?.turn.call?.timers.set(callback, delayMs, [], false) ?? soon(callback),
    clearTimeout: (timer) => world?.turn.call?.timers.clear(timer),
    random: (bytes) => {
      const call = world?.turn.call;
      if (call !== null && call !== undefined) return call.entropy.fill(bytes);
      for (let to = 0; to < bytes.length; to++) bytes[to] = boot?.[at++ % boot.length] ?? 0;
    },
  };
  const facade = createFacade(globalThis, surroundings);
  return {
    connect: (connected) => {
      world = connected;
    },
    start: (module, library, lock, entropy, sources, bytes, headerBytes, runs) => {
      boot = new Uint8Array(entropy);
      facade.use(module as WebAssembly.Module);
      const snapshot = bytes === null || runs === null ? null : { bytes, headerBytes, runs };
      const begin = async (): Promise<void> => {
        if (world === null) throw new TypeError("the realm is not there yet");
        const pyodide = await startPyodide(facade, modules(facade), library, lock, snapshot);
        interpreter = new Interpreter(pyodide, world, snapshot === null ? sources : null);
        Reflect.deleteProperty(facade.global, RESTORE);
        facade.seal();
      };
      begin().then(
        () => (status = "ready"),
        (error: unknown) => (status = error instanceof Error ? `${error.message}\n${error.stack}` : String(error)),
      );
    },
    status: () => status,
    snapshot: () => required(interpreter).snapshot(),
    load: (code, ...libraries): Factory =>
      required(interpreter).load(typeof code === "string" ? code : "", libraries, facade.admit),
  };
}

function startPyodide(
  facade: Facade,
  { loadPyodide, createPyodideModule }: PyodideModules,
  library: ArrayBuffer,
  lock: string,
  snapshot: MemorySnapshot | null,
): Promise<Pyodide> {
  facade.files.set("python_stdlib.zip", library);
  facade.files.set("pyodide.asm.wasm", new Uint8Array(PLACEHOLDER_BYTES));
  if (snapshot !== null) Reflect.set(facade.global, RESTORE, (heap: Int8Array) => restore(heap, snapshot));
  const silent = (): void => undefined;
  return loadPyodide({
    indexURL: "/",
    packageBaseUrl: "/",
    createPyodideModule,
    lockFileContents: JSON.parse(lock) as object,
    // Python's module `js` is empty, so that Python reaches no JavaScript object through it.
    jsglobals: Object.create(null) as object,
    env: { HOME: "/tmp", LANG: "C.UTF-8" },
    stdin: () => null,
    stdout: silent,
    stderr: silent,
    ...(snapshot === null ? { _makeSnapshot: true } : { _loadSnapshot: headerOf(snapshot) }),
  });
}

/**
 * A copy of the header, which is all that Pyodide itself reads. Pyodide keeps what it is given where a tool finds it, and
 * all interpreters of the worker begin from the memory that the rest is.
 */
function headerOf({ bytes, headerBytes }: MemorySnapshot): Uint8Array {
  return new Uint8Array(bytes, 0, headerBytes).slice();
}

/** Name under which Pyodide's bundled code finds the function that restores its memory. */
export const RESTORE = "__restore";

/** Fills the memory. Touches only pages that are not empty, so that the rest takes no memory. */
function restore(heap: Int8Array, { bytes, headerBytes, runs }: MemorySnapshot): void {
  let from = headerBytes;
  for (let run = 0; run < runs.length; run += 2) {
    const [to = 0, length = 0] = [runs[run], runs[run + 1]];
    heap.set(new Int8Array(bytes, from, length), to);
    from += length;
  }
}

function soon(callback: () => void): number {
  void Promise.resolve().then(() => callback());
  return 0;
}

function required(interpreter: Interpreter | null): Interpreter {
  if (interpreter === null) throw new TypeError("the interpreter has not started");
  return interpreter;
}
