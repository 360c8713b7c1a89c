import type { RuntimeCode } from "../../base/protocol/prelude.ts";
import type { ToolScript } from "../../base/protocol/script.ts";
import type { EngineCode, PreludeCode, RealmHost } from "./guest-realm.ts";
import type { PreparedIsolate } from "./prepared-isolate.ts";

/** The parts of a worker for the tools of a runtime beside JavaScript. Its module exports it as `runtime`. */
export interface WorkerRuntime {
  /** Maximum memory of an isolate, in MiB, including memory outside of V8's heap. Default: the tool's. */
  readonly weightMb?: (memoryMb: number) => number;
  /** Reads a tool's code for its engine. Default: `ToolScript.text`. */
  readonly readCode?: ReadCode;
  /** For an engine with a start of its own: an interpreter. */
  readonly interpreter?: {
    /** Maximum of V8's heap, in MiB: the interpreter's own memory has the tool's limit instead. */
    readonly heapMb: number;
    /** `folder`: that of its files, if it has any. */
    readonly open: (folder: string | null) => Interpreters;
  };
}

export type ReadCode = (script: ToolScript) => EngineCode;

/** Prelude of an interpreter's realm, with V8's code cache of it. */
export interface InterpreterPrelude {
  readonly text: string;
  readonly code: PreludeCode | undefined;
}

/** The interpreters of one worker. Their common parts are loaded with the first. */
export interface Interpreters extends Disposable {
  /** An isolate with an unused interpreter. Throws if it cannot start. */
  start(memoryMb: number, prelude: InterpreterPrelude, host: RealmHost): Omit<PreparedIsolate, "number">;
  /** Whether V8's code cache of the engine has all that a call needs. */
  readonly isRehearsed: boolean;
  /** Fills that code cache; takes as long as a start. Throws as `start` does. */
  rehearse(memoryMb: number, prelude: InterpreterPrelude, host: RealmHost): void;
}

interface Known {
  readonly code: RuntimeCode;
  readonly own: WorkerRuntime;
}

/** The runtimes of one worker beside JavaScript. */
export class WorkerRuntimes implements Disposable {
  readonly #known: ReadonlyMap<string, Known>;
  readonly #opened = new Map<string, Interpreters>();

  private constructor(known: ReadonlyMap<string, Known>) {
    this.#known = known;
  }

  /** Imports their modules. */
  static async import(codes: readonly RuntimeCode[]): Promise<WorkerRuntimes> {
    const known = codes.map(async (code) => [code.name, { code, own: await importRuntime(code) }] as const);
    return new WorkerRuntimes(new Map(await Promise.all(known)));
  }

  /** The script that runs before the prelude in a realm. Throws if there is no such runtime. */
  engineOf(runtime: string): string {
    const { engine } = this.#of(runtime).code;
    if (engine === null) throw new Error(`the runtime ${runtime} has no engine`);
    return engine;
  }

  /** The reader of the tool's code for its engine; `null` for JavaScript. */
  codeOf(script: ToolScript): EngineCode | null {
    if (script.runtime === "javascript") return null;
    const { readCode } = this.#of(script.runtime).own;
    return readCode === undefined ? () => [script.text] : readCode(script);
  }

  /** `null` if the runtime uses isolates of JavaScript, with an engine. */
  interpretersOf(runtime: string): Interpreters | null {
    const opened = this.#opened.get(runtime);
    if (opened !== undefined) return opened;
    const known = this.#known.get(runtime);
    const interpreters = known?.own.interpreter?.open(known.code.files?.folder ?? null) ?? null;
    if (interpreters !== null) this.#opened.set(runtime, interpreters);
    return interpreters;
  }

  /** Maximum of V8's heap, in MiB. */
  heapMbOf({ runtime, memoryMb }: ToolScript): number {
    return this.#known.get(runtime)?.own.interpreter?.heapMb ?? memoryMb;
  }

  /** Maximum memory of an isolate, in MiB. */
  weightMbOf({ runtime, memoryMb }: ToolScript): number {
    return this.#known.get(runtime)?.own.weightMb?.(memoryMb) ?? memoryMb;
  }

  #of(runtime: string): Known {
    const known = this.#known.get(runtime);
    if (known === undefined) throw new Error(`no plugin of this worker brings the runtime ${runtime}`);
    return known;
  }

  [Symbol.dispose](): void {
    for (const interpreters of this.#opened.values()) interpreters[Symbol.dispose]();
    this.#opened.clear();
  }
}

async function importRuntime({ module }: RuntimeCode): Promise<WorkerRuntime> {
  if (module === null) return {};
  return ((await import(module)) as { readonly runtime: WorkerRuntime }).runtime;
}
