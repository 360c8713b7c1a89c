import ivm from "isolated-vm";
import { limitMemory, PAGE_BYTES } from "../../wasm-memory.ts";
import type { PreludeCode, RealmHost } from "../guest-realm.ts";
import type { Blank } from "../tool-isolate.ts";
import { type PythonImage, type PythonSnapshot, readImage, readSnapshot } from "./image.ts";
import { compileModule, type InterpreterParts, startInterpreter } from "./interpreter.ts";

const MIB = 1024 * 1024;
/** Modules that differ in how far their memory may grow: each holds what V8 compiled. */
const MODULES_MAX = 4;
/** The isolate in which modules are compiled, in MiB. */
const KEEPER_MB = 64;

interface Loaded {
  readonly image: PythonImage;
  readonly snapshot: PythonSnapshot;
  readonly keeper: ivm.Isolate;
  readonly context: ivm.Context;
  /** By how many MiB an interpreter may have. */
  readonly modules: Map<number, ivm.ExternalCopy<WebAssembly.Module>>;
}

/** Python's interpreters of one worker: what they have in common, loaded when the first is made. */
export class Python implements Disposable {
  readonly #folder: string | null;
  #loaded: Loaded | null = null;
  #engineCode: PreludeCode | undefined;

  constructor(folder: string | null) {
    this.#folder = folder;
  }

  /** An isolate with an interpreter that no tool has used yet. Throws where there is none. */
  createBlank(memoryMb: number, prelude: string, preludeCode: PreludeCode | undefined, host: RealmHost): Blank {
    const loaded = (this.#loaded ??= this.#load());
    const { image, snapshot } = loaded;
    const engineCode = this.#engineCode;
    const parts: InterpreterParts = {
      image,
      snapshot,
      prelude,
      preludeCode,
      engineCode,
      module: moduleFor(loaded, memoryMb),
    };
    const started = startInterpreter(parts, host);
    this.#engineCode = parts.engineCode;
    const open = (): never => {
      throw new Error("an interpreter is an isolate's");
    };
    return { ...started, open };
  }

  /** Modules that are shared have to be given back: the process could not end by itself otherwise. */
  [Symbol.dispose](): void {
    if (this.#loaded === null) return;
    for (const module of this.#loaded.modules.values()) module.release();
    this.#loaded.keeper.dispose();
    this.#loaded = null;
  }

  #load(): Loaded {
    if (this.#folder === null) throw new Error("Python is not installed");
    const files = readFiles(this.#folder);
    const keeper = new ivm.Isolate({ memoryLimit: KEEPER_MB });
    return {
      ...files,
      keeper,
      context: keeper.createContextSync(),
      modules: new Map(),
    };
  }
}

/** What the system says of a file holds the host's paths, so of that only the code is told. */
function readFiles(folder: string): Pick<Loaded, "image" | "snapshot"> {
  try {
    return { image: readImage(folder), snapshot: readSnapshot(folder) };
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "they are damaged";
    throw new Error(`Python's files cannot be read (${code}); where the cache was cleared, start the engine again`);
  }
}

/** The least recently used is given up for another; interpreters that run keep theirs. */
function moduleFor({ image, context, modules }: Loaded, memoryMb: number): ivm.ExternalCopy<WebAssembly.Module> {
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
