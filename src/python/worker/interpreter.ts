import { randomBytes } from "node:crypto";
import ivm from "isolated-vm";
import type { PythonEngine } from "../../kernel/guest/host.ts";
import { NO_CHECKS, type ToolScript } from "../../kernel/base/protocol/script.ts";
import type { PythonScript } from "../runtime/python-file.ts";
import {
  compileScript,
  compileTool,
  GuestRealm,
  type PreludeCode,
  type RealmHost,
} from "../../kernel/executor/worker/guest-realm.ts";
import { PYTHON_HEAP_MB, type PythonImage, type PythonSnapshot } from "./image.ts";
import { readPythonCode } from "./python-code.ts";

const START_MS = 20_000;
/** Start without a snapshot, on a busy machine. */
const FIRST_START_MS = 100_000;
const ENTROPY_BYTES = 4_096;

/** The common parts of a worker's interpreters. */
export interface InterpreterParts {
  readonly image: PythonImage;
  /** Compiled elsewhere, with a limit on its memory. */
  readonly module: ivm.ExternalCopy<WebAssembly.Module>;
  /** `null` to create one. */
  readonly snapshot: PythonSnapshot | null;
  readonly prelude: string;
  readonly preludeCode: PreludeCode | undefined;
  /** V8's code cache of the engine's script. */
  engineCode: PreludeCode | undefined;
}

/** An isolate with a started interpreter. */
export interface StartedInterpreter {
  readonly isolate: ivm.Isolate;
  readonly realm: GuestRealm;
}

/** Starts an interpreter in a separate isolate. Throws if that fails. */
export function startInterpreter(parts: InterpreterParts, host: RealmHost): StartedInterpreter {
  const { image, snapshot } = parts;
  const startMs = snapshot === null ? FIRST_START_MS : START_MS;
  const isolate = new ivm.Isolate({ memoryLimit: PYTHON_HEAP_MB });
  try {
    const prelude = compileScript(isolate, "prelude", parts.prelude, parts.preludeCode);
    const engine = compileScript(isolate, "python", image.engine, parts.engineCode);
    const realm = GuestRealm.open(isolate, { prelude, engine }, host, false);
    realm.callEngine<PythonEngine, "start">(
      "start",
      [
        parts.module.copyInto(),
        shared(image.library),
        image.lock,
        new ivm.ExternalCopy(Uint8Array.from(randomBytes(ENTROPY_BYTES)).buffer).copyInto({ release: true }),
        image.modules,
        snapshot === null ? null : shared(snapshot.bytes),
        snapshot?.headerBytes ?? 0,
        snapshot === null ? null : new ivm.ExternalCopy(snapshot.runs).copyInto({ release: true }),
      ],
      startMs,
    );
    const status = realm.callEngine<PythonEngine, "status">("status", [], startMs);
    if (status !== "ready") throw new Error(`Python does not start: ${String(status) || "it waits for something"}`);
    parts.engineCode ??= engineCodeOf(isolate, parts);
    return { isolate, realm };
  } catch (error) {
    if (!isolate.isDisposed) isolate.dispose();
    throw error;
  }
}

/** V8 has the text compiled already, so this only returns its code cache. */
function engineCodeOf(isolate: ivm.Isolate, { image }: InterpreterParts): PreludeCode | undefined {
  const again = isolate.compileScriptSync(image.engine, { filename: "glovebox:python", produceCachedData: true });
  return (again as { cachedData?: PreludeCode }).cachedData;
}

/** Runs a call in an interpreter to fill the code cache of its engine with the functions that a call needs. */
export function rehearseEngine(parts: InterpreterParts, { pure }: RealmHost): PreludeCode | undefined {
  const { isolate, realm } = startInterpreter(parts, { emit: new ivm.Callback(() => 0), pure });
  try {
    realm.load(compileTool(isolate, REHEARSED, { code: readPythonCode(REHEARSED) }));
    realm.start('[[1,"",0,9,{}]]', START_MS);
    return engineCodeOf(isolate, parts);
  } finally {
    isolate.dispose();
  }
}

const REHEARSED: ToolScript = {
  key: "",
  name: "rehearsal",
  version: "",
  runtime: "python",
  isolation: "instance",
  memoryMb: 0,
  config: "null",
  contract: "glovebox",
  checks: NO_CHECKS,
  text: JSON.stringify({
    entry: "function.py",
    files: { "function.py": "def execute(input):\n    return input\n" },
    packages: {},
  } satisfies PythonScript),
};

/** The memory of an interpreter that was started without a snapshot. */
export function takeSnapshot({ realm }: StartedInterpreter): Uint8Array {
  return realm.callEngine<PythonEngine, "snapshot">("snapshot", [], START_MS, { copy: true }) as Uint8Array;
}

/** Compiles the interpreter's module, which stays in the keeper's heap; its bytes are taken from the caller. */
export function compileModule(keeper: ivm.Context, wasm: Uint8Array<ArrayBuffer>): ivm.Reference<WebAssembly.Module> {
  const bytes = new ivm.ExternalCopy(wasm.buffer, { transferOut: true }).copyInto({ release: true, transferIn: true });
  return keeper.evalClosureSync("return new WebAssembly.Module($0)", [bytes], {
    result: { reference: true },
  }) as ivm.Reference<WebAssembly.Module>;
}

/**
 * A copy of the module for another isolate. The receiver must release it at once: a process cannot exit if one of its
 * threads ended while holding one.
 */
export function shareModule(
  keeper: ivm.Context,
  module: ivm.Reference<WebAssembly.Module>,
): ivm.ExternalCopy<WebAssembly.Module> {
  return keeper.evalClosureSync("return $0", [module.derefInto()], {
    result: { externalCopy: true },
  }) as ivm.ExternalCopy<WebAssembly.Module>;
}

function shared(buffer: SharedArrayBuffer): ivm.Copy<SharedArrayBuffer> {
  return new ivm.ExternalCopy(buffer).copyInto({ release: true });
}
