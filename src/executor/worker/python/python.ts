import ivm from "isolated-vm";
import { limitMemory, PAGE_BYTES } from "../../../base/wasm/wasm-memory.ts";
import type { PreludeCode, RealmHost } from "../guest-realm.ts";
import type { PreparedIsolate } from "../tool-isolate.ts";
import { type PythonImage, type PythonSnapshot, readImage, readSnapshot } from "./image.ts";
import {
  compileModule,
  type InterpreterParts,
  shareModule,
  type StartedInterpreter,
  startInterpreter,
} from "./interpreter.ts";

const MIB = 1024 * 1024;
/** Maximum number of modules with different memory limits: each holds compiled code. */
const MODULES_MAX = 4;
/** Heap of the isolate in which modules are compiled, in MiB. */
const KEEPER_MB = 64;

interface LoadedPython {
  readonly image: PythonImage;
  readonly snapshot: PythonSnapshot;
  readonly keeper: ivm.Isolate;
  readonly context: ivm.Context;
  /** Modules by memory limit in MiB. */
  readonly modules: Map<number, ivm.Reference<WebAssembly.Module>>;
}

/** The Python interpreters of one worker; their common parts are loaded with the first. */
export class Python implements Disposable {
  readonly #folder: string | null;
  #loaded: LoadedPython | null = null;
  #engineCode: PreludeCode | undefined;

  constructor(folder: string | null) {
    this.#folder = folder;
  }

  /** An isolate with an unused interpreter. Throws where Python is not installed or its image cannot be read. */
  createBlank(
    memoryMb: number,
    prelude: string,
    preludeCode: PreludeCode | undefined,
    host: RealmHost,
  ): Omit<PreparedIsolate, "number"> {
    const loaded = (this.#loaded ??= this.#load());
    const { image, snapshot } = loaded;
    const engineCode = this.#engineCode;
    const module = shareModule(loaded.context, moduleFor(loaded, memoryMb));
    const parts: InterpreterParts = { image, snapshot, prelude, preludeCode, engineCode, module };
    const started = startAndRelease(parts, host);
    this.#engineCode = parts.engineCode;
    const open = (): never => {
      throw new Error("an interpreter is an isolate's");
    };
    return { ...started, open };
  }

  [Symbol.dispose](): void {
    if (this.#loaded === null) return;
    for (const module of this.#loaded.modules.values()) module.release();
    this.#loaded.keeper.dispose();
    this.#loaded = null;
  }

  #load(): LoadedPython {
    if (this.#folder === null) throw new Error("Python is not installed");
    const [image, snapshot] = readBoth(this.#folder);
    const keeper = new ivm.Isolate({ memoryLimit: KEEPER_MB });
    return {
      image,
      snapshot,
      keeper,
      context: keeper.createContextSync(),
      modules: new Map(),
    };
  }
}

function startAndRelease(parts: InterpreterParts, host: RealmHost): StartedInterpreter {
  try {
    return startInterpreter(parts, host);
  } finally {
    parts.module.release();
  }
}

/** Replaces Node's error, which contains the file's path. */
function readBoth(folder: string): readonly [PythonImage, PythonSnapshot] {
  try {
    return [readImage(folder), readSnapshot(folder)];
  } catch {
    throw new Error("Python's image cannot be read; it is made again when a tool is registered");
  }
}

/** The least recently used module is dropped for a new one; running interpreters keep theirs. */
function moduleFor({ image, context, modules }: LoadedPython, memoryMb: number): ivm.Reference<WebAssembly.Module> {
  const module =
    modules.get(memoryMb) ?? compileModule(context, limitMemory(image.wasm, (memoryMb * MIB) / PAGE_BYTES));
  modules.delete(memoryMb);
  modules.set(memoryMb, module);
  for (const [oldest, unused] of modules) {
    if (modules.size <= MODULES_MAX) break;
    modules.delete(oldest);
    unused.release();
  }
  return module;
}
