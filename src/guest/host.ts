/** What crosses from an isolate to its worker: numbers and strings only. */

/** Longest name of a capability or of a method, in characters: what people may choose, and what belongs to its progress. */
export const NAME_MAX = 80;

/** What a guest says to its worker while it is in a turn. */
export const EMIT_DONE = 0;
export const EMIT_LOG = 1;
export const EMIT_ASK = 2;
export const EMIT_TIMER = 3;
export const EMIT_PROGRESS = 4;
/** How many bytes an interpreter holds outside of V8's heap, and whether it can go on. */
export const EMIT_MEMORY = 5;

/** Longest message with which a tool says how far it has come, in characters. */
export const PROGRESS_MESSAGE_MAX = 1_000;

/**
 * What `a`, `b` and `c` are depends on the kind: an outcome; a level and a message; a capability, a method and its
 * arguments; a time; how far the call has come, of how much, and a message, each of which may be missing as empty text;
 * bytes, and why the isolate is of no more use, where that is so. `nowMs` is the call's clock. The answer is the number of an ask, 0 where it is refused; to progress 1, and 0 where
 * nobody listens.
 */
export type Emit = (kind: number, run: number, a: string | number, b: string, c: string, nowMs: number) => number;

/** Pure functions that the worker computes for the guest. */
export type Pure = (operation: string, a: string, b: string, c: string) => string;

/** Why a call failed, as the guest tells it: the shape of the protocol's `Failure`, whose codes the host checks. */
export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly type?: string;
  readonly stack?: string;
}

/** What an engine knows of the realm: the call whose turn it is, and how to speak to the worker. */
export interface EngineWorld {
  readonly turn: { readonly nowMs: number; readonly call: EngineCall | null };
  readonly emit: Emit;
  /** Has an error end its call with this code, where nobody catches it. */
  readonly issue: (error: object, code: string) => void;
}

/** What an engine needs of a call. */
export interface EngineCall {
  readonly run: number;
  readonly id: string;
  readonly settled: boolean;
  readonly timers: {
    set(callback: unknown, delayMs: unknown, args: readonly unknown[], repeat: boolean): number;
    clear(timer: unknown): void;
  };
  /** Its randomness: the same again where it is run again. */
  readonly entropy: { fill(bytes: Uint8Array): void };
  /** Tells a function when the call is cancelled. */
  onCancel(tell: () => void): void;
  /** When it began, by its clock. */
  readonly originMs: number;
  /** What its output may have, in bytes. */
  readonly outputMax: number;
  log(level: string, message: string): void;
  progress(progress: unknown, total: unknown, message: unknown): void;
  /** The number of the call's next request, from 1: of those that `fetch` is asked for. */
  nextRequest(): number;
  /** Asks the host. Rejects with a `CapabilityError`. */
  ask(capability: string, method: string, args: unknown): Promise<unknown>;
}

/** What runs tools of a runtime in a realm, made before the realm lost what that takes. */
export interface RuntimeEngine {
  /** The prelude is there. */
  connect(world: EngineWorld): void;
  /** Makes a factory of a tool's code. What it exports are the names that a module of JavaScript would. */
  load(code: string | ArrayBuffer): Factory;
}

/** The engine of Python: CPython, as Pyodide compiles it. */
export interface PythonEngine extends RuntimeEngine {
  /**
   * Starts the interpreter; `status` tells what came of it. `module` is compiled; `library` a zip; `lock` JSON; `entropy` the randomness
   * of what is made before there is a call. With `snapshot` it goes on where another one was; without, `modules`, as JSON, are put
   * into it, so that a snapshot can be taken. A snapshot's header is what Pyodide says of it; then come the runs, one
   * after the other, for which `runs` says where each begins, and how long it is.
   */
  start(
    module: object,
    library: ArrayBuffer,
    lock: string,
    entropy: ArrayBuffer,
    modules: string,
    snapshot: ArrayBuffer | null,
    headerBytes: number,
    runs: Int32Array | null,
  ): void;
  /** `ready`, nothing where it is under way, or what went wrong. */
  status(): string;
  /** Its memory, where it was started without a snapshot. */
  snapshot(): Uint8Array;
}

/** A module as the worker compiled it: evaluating it again makes a fresh instance. */
export type Factory = (...globals: unknown[]) => unknown;

/** What a worker can ask of a realm. Arguments and answers are numbers and strings. */
export interface Guest {
  /** Takes the tool's factory. `shared` keeps one instance for all calls. */
  load(factory: Factory, ownNames: string, facts: string, shared: boolean): void;
  /**
   * Starts calls one after the other, `[run, id, nowMs, outputMax, arguments, command?, seed?][]` as JSON, up to and with the first that
   * does not end at once. Answers for each that it started its outcome, or nothing, and a tab; then a line feed where
   * some are left. The outcome of a call that goes on comes with an `EMIT_DONE`.
   */
  start(calls: string): string;
  /** Starts those that are left, in a turn of their own. */
  startNext(): string;
  settle(run: number, ask: number, ok: boolean, payload: string, nowMs: number): void;
  fire(run: number, nowMs: number): void;
  /** Tells the call's signal; the call is over whatever its listeners do. */
  cancel(run: number, nowMs: number): void;
  /**
   * What the last start answered, where that was lost to an exception that came after it; or the last inspection, where
   * it answered nothing.
   */
  recover(): string;
  /** Evaluates the module and describes what it exports, as JSON: nothing where it has to be waited for. */
  inspect(run: number, nowMs: number): string;
}

/** What a bundle may name freely and finds in its own instance instead of in the realm. */
export const OWN_NAMES = [
  "console",
  "setTimeout",
  "setInterval",
  "clearTimeout",
  "clearInterval",
  "queueMicrotask",
] as const;

/** Names by which modules know their global. */
export const GLOBAL_NAMES = ["globalThis", "self", "window", "global"] as const;

/** The prelude, as its script's value: `engine` is what ran before it, and a tool may be loaded at once. */
export type Boot = (
  emit: Emit,
  pure: Pure,
  hardened: boolean,
  engine: RuntimeEngine | null,
  ...tool: Partial<Parameters<Guest["load"]>>
) => Guest;
