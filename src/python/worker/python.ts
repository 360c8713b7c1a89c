import ivm from "isolated-vm";
import { limitMemory, PAGE_BYTES } from "../../kernel/base/wasm/wasm-memory.ts";
import type { PreludeCode, RealmHost } from "../../kernel/executor/worker/guest-realm.ts";
import type { InterpreterPrelude, Interpreters, WorkerRuntime } from "../../kernel/executor/worker/worker-runtime.ts";
import type { PreparedIsolate } from "../../kernel/executor/worker/prepared-isolate.ts";
import { PYTHON_HEAP_MB, type PythonImage, type PythonSnapshot, readImage, readModule, readSnapshot } from "./image.ts";
import { compileModule, type InterpreterParts, rehearseEngine, shareModule, startInterpreter } from "./interpreter.ts";
import { readPythonCode } from "./python-code.ts";

const MIB = 1024 * 1024;
/** Maximum number of modules with different memory limits: each keeps compiled code. */
const MODULES_MAX = 4;
/** Heap of the isolate in which modules are compiled, in MiB. */
const KEEPER_MB = 64;

interface LoadedPython {
  readonly folder: string;
  readonly image: PythonImage;
  readonly snapshot: PythonSnapshot;
  readonly keeper: ivm.Isolate;
  readonly context: ivm.Context;
  /** Modules by memory limit in MiB. */
  readonly modules: Map<number, ivm.Reference<WebAssembly.Module>>;
}

/** The Python interpreters of one worker; their common parts are loaded with the first. */
export class Python implements Interpreters {
  readonly #folder: string | null;
  #loaded: LoadedPython | null = null;
  #engineCode: PreludeCode | undefined;
  #isRehearsed = false;

  constructor(folder: string | null) {
    this.#folder = folder;
  }

  /** An isolate with an unused interpreter. Throws if Python is not installed or its image cannot be read. */
  start(memoryMb: number, prelude: InterpreterPrelude, host: RealmHost): Omit<PreparedIsolate, "number"> {
    const started = this.#with(memoryMb, prelude, (parts) => {
      const interpreter = startInterpreter(parts, host);
      this.#engineCode = parts.engineCode;
      return interpreter;
    });
    const open = (): never => {
      throw new Error("an interpreter is an isolate's");
    };
    return { ...started, open };
  }

  /** Whether the code cache of the engine is complete for calls. */
  get isRehearsed(): boolean {
    return this.#isRehearsed;
  }

  /** Fills the code cache of the engine; takes as long as starting an interpreter. Throws as `start` does. */
  rehearse(memoryMb: number, prelude: InterpreterPrelude, host: RealmHost): void {
    this.#isRehearsed = true;
    this.#engineCode = this.#with(memoryMb, prelude, (parts) => rehearseEngine(parts, host));
  }

  #with<T>(memoryMb: number, prelude: InterpreterPrelude, use: (parts: InterpreterParts) => T): T {
    const loaded = (this.#loaded ??= this.#load());
    const { image, snapshot } = loaded;
    const module = shareModule(loaded.context, moduleFor(loaded, memoryMb));
    try {
      const { text, code } = prelude;
      return use({ image, snapshot, prelude: text, preludeCode: code, engineCode: this.#engineCode, module });
    } finally {
      module.release();
    }
  }

  [Symbol.dispose](): void {
    if (this.#loaded === null) return;
    for (const module of this.#loaded.modules.values()) module.release();
    this.#loaded.keeper.dispose();
    this.#loaded = null;
  }

  #load(): LoadedPython {
    const folder = this.#folder;
    if (folder === null) throw new Error("Python is not installed");
    const [image, snapshot] = read(() => [readImage(folder), readSnapshot(folder)]);
    const keeper = new ivm.Isolate({ memoryLimit: KEEPER_MB });
    return {
      folder,
      image,
      snapshot,
      keeper,
      context: keeper.createContextSync(),
      modules: new Map(),
    };
  }
}

/** Replaces Node's error, which contains the file's path. */
function read<Part>(part: () => Part): Part {
  try {
    return part();
  } catch {
    throw new Error("Python's image cannot be read; it is made again when a tool is registered");
  }
}

/** The least recently used module is dropped for a new one; running interpreters keep theirs. */
function moduleFor({ folder, context, modules }: LoadedPython, memoryMb: number): ivm.Reference<WebAssembly.Module> {
  const module = modules.get(memoryMb) ?? compileFor(memoryMb, folder, context);
  modules.delete(memoryMb);
  modules.set(memoryMb, module);
  for (const [oldest, unused] of modules) {
    if (modules.size <= MODULES_MAX) break;
    modules.delete(oldest);
    unused.release();
  }
  return module;
}

function compileFor(memoryMb: number, folder: string, context: ivm.Context): ivm.Reference<WebAssembly.Module> {
  const whole = read(() => readModule(folder));
  const limited = limitMemory(whole, (memoryMb * MIB) / PAGE_BYTES);
  // Frees its bytes at once: for V8 it is a small object, and would stay until garbage is collected.
  whole.buffer.transfer(0);
  return compileModule(context, limited);
}

/** For workers, which import this module: an interpreter has its own memory in addition to V8's heap. */
export const runtime: WorkerRuntime = {
  weightMb: (memoryMb) => memoryMb + PYTHON_HEAP_MB,
  readCode: readPythonCode,
  interpreter: { heapMb: PYTHON_HEAP_MB, open: (folder) => new Python(folder) },
};
