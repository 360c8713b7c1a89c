import { setFlagsFromString } from "node:v8";
import ivm from "isolated-vm";

/** Shortest text worth a code cache, in characters: V8 compiles a shorter one in less than a millisecond. */
const TEXT_MIN = 4 * 1024;
/** Longest text whose functions are all compiled at once, in characters. */
const TEXT_MAX = 512 * 1024;
/** Maximum size of a code cache in bytes: an isolate has it in its heap from the beginning. */
const CODE_BYTES_MAX = 2 * 1024 * 1024;
/** Maximum size of all texts and their code caches, in bytes. */
const BYTES_MAX = 8 * 1024 * 1024;

/** The origin of a script. */
export interface ScriptFile {
  readonly filename: string;
  readonly lineOffset: number;
}

interface Code {
  readonly copy: ivm.ExternalCopy<ArrayBuffer>;
  readonly bytes: number;
}

/**
 * V8's code caches of the tools' bundles, for further isolates of this thread. They are made in this thread, found by
 * the whole text, and never leave it: V8 trusts what a code cache contains.
 */
export class BundleCode implements Disposable {
  /** By text, least recently used first. */
  readonly #codes = new Map<string, Code>();
  #bytes = 0;

  /** Compiles a text, from its code cache if there is one. */
  compile(isolate: ivm.Isolate, text: string, file: ScriptFile): ivm.Script {
    const code = this.#codes.get(text);
    if (code === undefined) return isolate.compileScriptSync(text, file);
    this.#codes.delete(text);
    this.#codes.set(text, code);
    return isolate.compileScriptSync(text, { ...file, cachedData: code.copy });
  }

  /**
   * Compiles a text with all of its functions and keeps their code. Otherwise V8 would parse each function again on its
   * first call, which takes most of the time of a tool's first call.
   */
  compileWhole(isolate: ivm.Isolate, text: string, file: ScriptFile): ivm.Script {
    const isSuitable = text.length >= TEXT_MIN && text.length <= TEXT_MAX;
    if (!isSuitable || this.#codes.has(text)) return this.compile(isolate, text, file);
    const script = compileEagerly(() => isolate.compileScriptSync(text, file));
    // V8 has the text compiled already, so this only returns its code cache.
    const { cachedData: copy } = isolate.compileScriptSync(text, { ...file, produceCachedData: true }) as WithCode;
    if (copy !== undefined) this.#keep(text, copy);
    return script;
  }

  #keep(text: string, copy: ivm.ExternalCopy<ArrayBuffer>): void {
    const codeBytes = copy.copy().byteLength;
    if (codeBytes > CODE_BYTES_MAX) return copy.release();
    const bytes = codeBytes + text.length;
    this.#codes.set(text, { copy, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#codes.keys()) {
      if (this.#bytes <= BYTES_MAX) return;
      this.#drop(oldest);
    }
  }

  #drop(text: string): void {
    const code = this.#codes.get(text);
    if (code === undefined) return;
    this.#codes.delete(text);
    this.#bytes -= code.bytes;
    code.copy.release();
  }

  [Symbol.dispose](): void {
    for (const text of this.#codes.keys()) this.#drop(text);
  }
}

/** V8's code cache of a script with all of its functions, for isolates that have not compiled it. */
export function wholeCodeOf(text: string, filename: string): ivm.ExternalCopy<ArrayBuffer> | undefined {
  const isolate = new ivm.Isolate();
  try {
    compileEagerly(() => isolate.compileScriptSync(text, { filename }));
    return (isolate.compileScriptSync(text, { filename, produceCachedData: true }) as WithCode).cachedData;
  } finally {
    isolate.dispose();
  }
}

interface WithCode {
  readonly cachedData?: ivm.ExternalCopy<ArrayBuffer>;
}

/** The flag is the process's: other threads that compile now compile more than needed, or without their code cache. */
function compileEagerly(compile: () => ivm.Script): ivm.Script {
  setFlagsFromString("--no-lazy");
  try {
    return compile();
  } finally {
    setFlagsFromString("--lazy");
  }
}
