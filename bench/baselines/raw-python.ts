/** Python without an engine around it: an isolate, the same image, and one call, in this thread. */
import ivm from "isolated-vm";
import { NO_CHECKS, type ToolScript } from "../../src/kernel/base/protocol/script.ts";
import { preparePython } from "../../src/python/runtime/image.ts";
import { readPythonCode } from "../../src/python/worker/python-code.ts";
import { loadPrelude } from "../../src/kernel/tool/runtimes/prelude.ts";
import { pythonPlace } from "../../src/python/runtime/place.ts";
import { compileTool } from "../../src/kernel/executor/worker/guest-realm.ts";
import { Python } from "../../src/python/worker/python.ts";

const MEMORY_MB = 64;
const CALL_MS = 5_000;
const OUTPUT_MAX = 1_000;

export class RawPython implements Disposable {
  readonly #python: Python;
  readonly #prelude: string;
  #outcome = "";

  private constructor(folder: string | null, prelude: string) {
    this.#python = new Python(folder);
    this.#prelude = prelude;
  }

  static async open(): Promise<RawPython> {
    await preparePython();
    const { core } = await loadPrelude();
    return new RawPython(pythonPlace()?.image ?? null, core);
  }

  /** The outcome of the first call of a tool, in an interpreter that is restored for it. */
  callOnce(source: string, args: object): unknown {
    const emit = new ivm.Callback((kind: number, _run: number, outcome: string | number) => {
      if (kind === 0) this.#outcome = String(outcome);
      return 0;
    });
    const host = { emit, pure: new ivm.Callback(() => "0".repeat(MEMORY_MB)) };
    const { isolate, realm } = this.#python.start(MEMORY_MB, { text: this.#prelude, code: undefined }, host);
    try {
      const script = scriptOf(source);
      realm.load(compileTool(isolate, script, { code: readPythonCode(script) }));
      realm.start(JSON.stringify([[1, "", 0, OUTPUT_MAX, args]]), CALL_MS);
      return JSON.parse(this.#outcome.slice(1));
    } finally {
      isolate.dispose();
    }
  }

  [Symbol.dispose](): void {
    this.#python[Symbol.dispose]();
  }
}

function scriptOf(source: string): ToolScript {
  return {
    key: "",
    name: "raw",
    version: "",
    runtime: "python",
    isolation: "instance",
    memoryMb: MEMORY_MB,
    config: "null",
    checks: NO_CHECKS,
    contract: null,
    text: JSON.stringify({ entry: "tool.py", files: { "tool.py": source }, packages: {} }),
  };
}
