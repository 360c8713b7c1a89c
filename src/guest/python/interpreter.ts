import { EMIT_MEMORY, type EngineCall, type EngineWorld, type Factory } from "../host.ts";
import { type Described, moduleOf, type Target } from "./module.ts";
import type { Pyodide, PyFunction } from "./pyodide.ts";

/** What Python answers, as JSON. */
type Answer =
  | { readonly ok: true; readonly value: unknown }
  | {
      readonly ok: false;
      /** The exception's class. */
      readonly type: string;
      readonly message: string;
      readonly traceback: string;
      /** Which of the errors that were given to it this is, where it is one. */
      readonly error: number | null;
    };

interface Instance {
  readonly call: EngineCall | null;
  readonly id: number;
}

/** The functions of `_runner.py`. */
type Runner = Readonly<Record<"connect" | "load" | "instantiate" | "invoke" | "release" | "cancel", PyFunction>>;

const RUNNER = "glovebox._runner";
/** Puts the modules that Python is to have into it. `SOURCES` are their texts by name. */
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
/** Errors that Python may still hold. */
const ERRORS_MAX = 1_000;

/** An interpreter that runs, as the engine sees it: texts go in, and texts come out. */
export class Interpreter {
  readonly #pyodide: Pyodide;
  readonly #world: EngineWorld;
  readonly #runner: Runner;
  /** What was told to Python as an exception, by number. */
  readonly #errors = new Map<number, Error>();
  #lastError = 0;
  #instances: Instance[] = [];
  #lastInstance = 0;
  #loaded: string | null = null;
  #bytes = 0;

  /** `sources`: where a snapshot is to be made, the modules that are to be in it. */
  constructor(pyodide: Pyodide, world: EngineWorld, sources: string | null) {
    this.#pyodide = pyodide;
    this.#world = world;
    if (sources !== null) pyodide.runPython(INSTALL, { globals: pyodide.toPy({ SOURCES: sources }) });
    const runner = pyodide.pyimport(RUNNER) as Runner;
    // Each of them is looked up once: to find a name in Python takes longer than to call what it leads to.
    const { connect, load, instantiate, invoke, release, cancel } = runner;
    this.#runner = { connect, load, instantiate, invoke, release, cancel };
    if (sources === null) connect(this.#host());
  }

  snapshot(): Uint8Array {
    return this.#pyodide.makeMemorySnapshot();
  }

  /** Reads a tool's code. Throws where it is none of Python's. */
  load(code: string): Factory {
    // The isolate of an inspection gets its tool's code again.
    if (this.#loaded !== code) this.#read(this.#runner.load(code));
    this.#loaded = code;
    const { instantiate } = this.#runner;
    // Every call's module is the same one: what it exports is asked once. Later ones are made by what is first called in them.
    let described: Described | null = null;
    return () => {
      this.#sweep();
      const id = ++this.#lastInstance;
      this.#instances.push({ call: this.#world.turn.call, id });
      described ??= this.#read(instantiate(id)) as Described;
      return moduleOf(described, (target, args, takesContext = false) => this.#call(id, target, args, takesContext));
    };
  }

  /** Of what the call's randomness is made in Python: its own source would take longer than the call. */
  #seed(): string {
    const bytes = new Uint8Array(SEED_BYTES);
    this.#world.turn.call?.entropy.fill(bytes);
    return bytes.join(" ");
  }

  /** Lets go of what calls that have ended were made of. */
  #sweep(): void {
    this.#instances = this.#instances.filter(({ call, id }) => {
      if (call?.settled === true) this.#runner.release(id);
      return call?.settled !== true;
    });
  }

  async #call(instance: number, target: Target, args: readonly unknown[], takesContext: boolean): Promise<unknown> {
    const { call } = this.#world.turn;
    const run = call?.run ?? 0;
    call?.onCancel(() => this.#runner.cancel(run));
    let answer: unknown;
    try {
      answer = await this.#runner.invoke.callPromising(run, JSON.stringify([instance, target, args, takesContext]));
    } catch (error) {
      // Python itself has ended: whatever comes next needs another.
      this.#tell(run, "the interpreter has failed");
      throw this.#failure("SystemError", `the interpreter has failed: ${messageOf(error)}`, "", "memory_limit");
    }
    this.#tell(run, "");
    return this.#read(answer);
  }

  /** Says how much memory there is, where that has changed, and whether the interpreter is of no more use. */
  #tell(run: number, spent: string): void {
    const bytes = this.#pyodide._module.HEAPU8.length;
    if (bytes === this.#bytes && spent === "") return;
    this.#bytes = bytes;
    this.#world.emit(EMIT_MEMORY, run, bytes, spent, "", 0);
  }

  /** What was answered. Throws what Python did. */
  #read(text: unknown): unknown {
    const answer = JSON.parse(String(text)) as Answer;
    if (answer.ok) return answer.value;
    const { type, message, traceback, error } = answer;
    const issued = error === null ? undefined : this.#errors.get(error);
    if (issued !== undefined) throw issued;
    throw this.#failure(type, message, traceback, type === "MemoryError" ? "memory_limit" : null);
  }

  #failure(type: string, message: string, traceback: string, code: string | null): Error {
    const error = new Error(message);
    error.name = type;
    error.stack = traceback === "" ? `${type}: ${message}` : traceback;
    if (code !== null) this.#world.issue(error, code);
    return error;
  }

  /** What Python can ask for. Everything is for the call whose turn it is. */
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
      ask: (capability: string, method: string, args: string) =>
        this.#answer(call(), call().ask(capability, method, JSON.parse(args))),
    });
  }

  /** A promise of an `Answer`, also where the call is cancelled. */
  #answer(call: EngineCall, asked: Promise<unknown>): Promise<string> {
    const { promise, resolve } = Promise.withResolvers<string>();
    const fail = (error: Error, type: string): void => {
      const number = ++this.#lastError;
      this.#errors.set(number, error);
      this.#errors.delete(number - ERRORS_MAX);
      const code: unknown = Reflect.get(error, "code");
      resolve(JSON.stringify({ ok: false, type, message: messageOf(error), code: code ?? null, error: number }));
    };
    call.onCancel(() => fail(new Error("the call was cancelled"), "CancelledError"));
    asked.then(
      (value) => resolve(JSON.stringify({ ok: true, value: value ?? null })),
      (error: unknown) => fail(error instanceof Error ? error : new Error(String(error)), "CapabilityError"),
    );
    return promise;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message.slice(0, 1_000) : "it cannot be told";
}
