import { EMIT_MEMORY, type EngineCall, type EngineWorld, type Factory } from "../../kernel/guest/host.ts";
import { parseWithFloats } from "./floats.ts";
import { type ContextPlace, type Described, moduleOf, type Target } from "./module.ts";
import type { Pyodide, PyFunction } from "./pyodide.ts";

/** A response of Python, as JSON. */
type Answer =
  | { readonly ok: true; readonly value: unknown }
  | {
      readonly ok: false;
      /** The exception's class. */
      readonly type: string;
      readonly message: string;
      readonly traceback: string;
      /** Number of the error in `#errors`, if Python re-raised an error from it. */
      readonly error: number | null;
      /** The code with which the call ends, if the tool does not decide it. */
      readonly code: string | null;
    };

interface Instance {
  readonly call: EngineCall | null;
  readonly id: number;
}

/** The functions of `_runner.py`. */
type Runner = Readonly<Record<"connect" | "load" | "instantiate" | "invoke" | "release" | "cancel", PyFunction>>;

const RUNNER = "glovebox._runner";
/** Installs Python's modules. `SOURCES` maps module names to their source text. */
const INSTALL = `
import json, types, sys
SOURCES = json.loads(SOURCES)
finder = types.ModuleType("glovebox._sources")
finder.__file__ = "<glovebox._sources>"
sys.modules["glovebox._sources"] = finder
exec(compile(SOURCES["glovebox._sources"], finder.__file__, "exec"), finder.__dict__)
finder.install(SOURCES)
import ${RUNNER}
`;
const SEED_BYTES = 16;
const FAILED = "the interpreter has failed";
/** Maximum number of errors kept for Python. */
const ERRORS_MAX = 1_000;

/** A running interpreter, from the engine's side: its inputs and outputs are texts. */
export class Interpreter {
  readonly #pyodide: Pyodide;
  readonly #world: EngineWorld;
  readonly #runner: Runner;
  /** Errors delivered to Python as exceptions, by number. */
  readonly #errors = new Map<number, Error>();
  #lastError = 0;
  #instances: Instance[] = [];
  #lastInstance = 0;
  #loaded: string | null = null;
  #bytes = 0;
  /** Calls that run in Python, with the function that rejects each one if Python itself fails. */
  readonly #running = new Map<number, (error: Error) => void>();
  /** Functions that end the pending waits of a call, by call number. */
  readonly #waits = new Map<number, Set<() => void>>();
  #begun = 0;
  /** The call in whose turn Python failed, or 0; the other calls run again in another interpreter. */
  #culprit: number | null = null;

  /** Length of the table of functions that every start makes. */
  readonly #functions: number;

  /** `sources`: the modules to include in a snapshot, if one is to be made. */
  constructor(pyodide: Pyodide, world: EngineWorld, sources: string | null) {
    this.#pyodide = pyodide;
    this.#functions = pyodide._module.wasmTable.length;
    this.#world = world;
    if (sources !== null) pyodide.runPython(INSTALL, { globals: pyodide.toPy({ SOURCES: sources }) });
    const runner = pyodide.pyimport(RUNNER) as Runner;
    // Looked up once: finding a name in Python takes longer than calling its value.
    const { connect, load, instantiate, invoke, release, cancel } = runner;
    this.#runner = { connect, load, instantiate, invoke, release, cancel };
    if (sources === null) connect(this.#host());
    pyodide._api.on_fatal = (error) => this.#crash(error);
  }

  snapshot(): Uint8Array {
    // The table is no part of a snapshot: the address of a function that was added would lead nowhere.
    if (this.#pyodide._module.wasmTable.length !== this.#functions) throw new TypeError("Python holds new functions");
    return this.#pyodide.makeMemorySnapshot();
  }

  /** Loads a tool's code; `admit` registers a library by its path. Throws if it is not valid Python. */
  load(code: string, libraries: readonly ArrayBuffer[], admit: (path: string, bytes: ArrayBuffer) => void): Factory {
    // The isolate of an inspection gets its tool's code again.
    if (this.#loaded !== code) {
      const paths = this.#loadText(code);
      for (const [at, bytes] of libraries.entries()) admit(paths[at] ?? "", bytes);
    }
    this.#loaded = code;
    const { instantiate } = this.#runner;
    // All calls use the same module, so its exports are described once; later instances are created on first use.
    let described: Described | null = null;
    return () => {
      if (!this.#sweep() && described !== null) return moduleOf(described, () => this.#elsewhere());
      const id = ++this.#lastInstance;
      this.#instances.push({ call: this.#world.turn.call, id });
      described ??= this.#read(instantiate(id)) as Described;
      return moduleOf(described, (target, args, context = null) => this.#call(id, target, args, context));
    };
  }

  /** The paths of a tool's libraries, once Python has its code. */
  #loadText(code: string): readonly string[] {
    try {
      return this.#read(this.#runner.load(code)) as readonly string[];
    } catch (error) {
      if (!isOfMemory(error)) throw error;
      throw new RangeError("there is no memory left for its code and its packages: raise limits.memoryMb", {
        cause: error,
      });
    }
  }

  /** Seed of the call's randomness in Python: Python's own source would take longer than the call. */
  #seed(): string {
    const bytes = new Uint8Array(SEED_BYTES);
    this.#world.turn.call?.entropy.fill(bytes);
    return bytes.join(" ");
  }

  /** Releases the instances of ended calls. Returns whether the interpreter is usable. */
  #sweep(): boolean {
    if (this.#culprit !== null) return false;
    try {
      this.#instances = this.#instances.filter(({ call, id }) => {
        if (call?.settled === true) this.#runner.release(id);
        return call?.settled !== true;
      });
      return true;
    } catch {
      return false;
    }
  }

  async #call(instance: number, target: Target, args: readonly unknown[], context: ContextPlace): Promise<unknown> {
    if (this.#culprit !== null) return this.#elsewhere();
    const { call } = this.#world.turn;
    const run = call?.run ?? 0;
    const isFirst = this.#begun++ === 0;
    call?.onCancel(() => {
      if (this.#culprit === null) this.#runner.cancel(run);
      this.#endWaits(run);
    });
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#running.set(run, reject);
    let answer: Answer;
    try {
      const text = JSON.stringify([instance, target, args, context]);
      this.#runner.invoke.callPromising(run, text).then(resolve, reject);
      answer = parseWithFloats(String(await promise)) as Answer;
    } catch (error) {
      if (this.#culprit === run) throw error;
      // Python's own modules were changed, possibly by another call.
      if (this.#culprit !== null || !isFirst) return await this.#elsewhere(run);
      this.#tell(run, FAILED);
      // Pyodide's errors carry Python's exception type: here Python had no memory left to report it itself.
      if (isOfMemory(error)) {
        throw this.#failure("MemoryError", "there is no memory left", "", "memory_limit");
      }
      throw this.#failure("SystemError", "what runs tools in the interpreter was changed", "", null);
    } finally {
      this.#running.delete(run);
      this.#endWaits(run);
    }
    this.#tell(run, "");
    return this.#valueOf(answer);
  }

  /** Python itself has failed; the call of the current turn is to blame. */
  #crash(error: unknown): void {
    const { call } = this.#world.turn;
    const [any] = this.#running.keys();
    this.#culprit ??= call?.run ?? 0;
    this.#tell(call === null || call.settled ? (any ?? 0) : call.run, FAILED);
    this.#running.get(this.#culprit)?.(this.#died(error));
  }

  #died(error: unknown): Error {
    const [message = ""] = messageOf(error).split("\n");
    const told = `the interpreter has failed: ${message}`;
    if (message.includes("allocation failed")) return this.#failure("MemoryError", told, "", "memory_limit");
    return this.#failure(message.includes("stack size") ? "RecursionError" : "SystemError", told, "", null);
  }

  /** Never settles: the interpreter is discarded, and a call that is not to blame starts again in another one. */
  #elsewhere(run = this.#world.turn.call?.run ?? 0): Promise<never> {
    this.#culprit ??= 0;
    this.#tell(run, FAILED);
    return new Promise(() => undefined);
  }

  /** Emits the memory size if it has changed, and the reason if the interpreter is unusable. */
  #tell(run: number, spent: string): void {
    const bytes = this.#pyodide._module.HEAPU8.length;
    if (bytes === this.#bytes && spent === "") return;
    this.#bytes = bytes;
    this.#world.emit(EMIT_MEMORY, run, bytes, spent, "", 0);
  }

  /** The value of a response. Throws the error that Python raised. */
  #read(text: unknown): unknown {
    return this.#valueOf(JSON.parse(String(text)) as Answer);
  }

  #valueOf(answer: Answer): unknown {
    if (answer.ok) return answer.value;
    const { type, message, traceback, error, code } = answer;
    const issued = error === null ? undefined : this.#errors.get(error);
    if (issued !== undefined) {
      // Its own stack is that of the engine's reply handler, which is meaningless to a tool.
      issued.stack = traceback;
      throw issued;
    }
    throw this.#failure(type, message, traceback, code);
  }

  #failure(type: string, message: string, traceback: string, code: string | null): Error {
    const error = new Error(message);
    error.name = type;
    error.stack = traceback === "" ? `${type}: ${message}` : traceback;
    if (code !== null) this.#world.issue(error, code);
    return error;
  }

  /** The functions that Python can call. Each acts for the call of the current turn. */
  #host(): object {
    const { turn } = this.#world;
    const call = (): EngineCall => {
      if (turn.call === null) throw new TypeError("there is no call");
      return turn.call;
    };
    return Object.freeze({
      run: () => turn.call?.run ?? 0,
      call_id: () => turn.call?.id ?? "",
      seed: () => this.#seed(),
      log: (level: string, line: string) => turn.call?.log(level, line),
      progress: (progress: number, total: number | null, message: string | null) =>
        call().progress(progress, total, message),
      sleep: (ms: number) =>
        this.#answer(call(), new Promise((resolve) => call().timers.set(() => resolve(null), ms, [], false))),
      next_request: () => call().nextRequest(),
      ask: (capability: string, method: string, args: string, waitMs: number | null) =>
        this.#answer(call(), call().ask(capability, method, parseWithFloats(args)), waitMs),
    });
  }

  /** Ends the waits of a call that has ended, so that none of them remains pending. */
  #endWaits(run: number): void {
    const waits = this.#waits.get(run);
    this.#waits.delete(run);
    for (const end of waits ?? []) end();
  }

  /** A promise of an `Answer`, which also resolves if the call ends or is cancelled, or after `waitMs`. */
  #answer(call: EngineCall, asked: Promise<unknown>, waitMs: number | null = null): Promise<string> {
    const { promise, resolve } = Promise.withResolvers<string>();
    const fail = (error: Error, type: string): void => {
      const number = ++this.#lastError;
      this.#errors.set(number, error);
      this.#errors.delete(number - ERRORS_MAX);
      const [code, details]: readonly unknown[] = ["code", "details"].map((name) => Reflect.get(error, name) ?? null);
      resolve(JSON.stringify({ ok: false, type, message: messageOf(error), code, details, error: number }));
    };
    const late = (): void => fail(new Error("there was no answer in time"), "TimeoutError");
    const timer = waitMs === null ? null : call.timers.set(late, waitMs, [], false);
    const end = (): void => fail(new Error("the call was cancelled"), "CancelledError");
    const waits = this.#waits.get(call.run) ?? new Set();
    if (call.settled) end();
    else this.#waits.set(call.run, waits.add(end));
    asked
      .finally(() => {
        waits.delete(end);
        if (timer !== null) call.timers.clear(timer);
      })
      .then(
        (value) => resolve(JSON.stringify({ ok: true, value: value ?? null })),
        (error: unknown) => fail(error instanceof Error ? error : new Error(String(error)), "CapabilityError"),
      );
    return promise;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message.slice(0, 1_000) : "it cannot be told";
}

/** Whether Python, or Pyodide for it, ran out of memory. */
function isOfMemory(error: unknown): boolean {
  return error instanceof Error && (error.name === "MemoryError" || Reflect.get(error, "type") === "MemoryError");
}
