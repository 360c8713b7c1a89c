import ivm from "isolated-vm";
import {
  type Checks,
  EMIT_ASK,
  type Emit,
  type Factory,
  type Guest,
  type Pure,
  type RuntimeEngine,
} from "../../guest/host.ts";
import { NO_CHECKS, SCRIPT_EXPORTS, type ToolScript } from "../../base/protocol/script.ts";
import type { ScriptFile } from "./bundle-code.ts";
import type { CheckRuntime, CompiledChecks } from "./checks.ts";
import { factoryText, factsOf } from "./factory-text.ts";
import { LineMemory } from "./line-memory.ts";

/** The host functions of every realm of a worker. */
export interface RealmHost {
  readonly emit: ivm.Callback<Emit>;
  readonly pure: ivm.Callback<Pure>;
}

/** One V8 context with the guest's prelude, as the worker sees it: entered synchronously, with strings only. */
export class GuestRealm implements Disposable {
  readonly #context: ivm.Context;
  readonly #engine: ivm.Reference<RuntimeEngine> | null;
  readonly #face: ivm.Reference<Guest>;
  /** `null` if the tool could change the realm, and so the lines. */
  readonly lines: LineMemory | null;
  /** Cached references to the face's functions: getting one takes longer than calling it. */
  readonly #functions: { [Name in keyof Guest]?: ivm.Reference<Guest[Name]> } = {};

  private constructor(
    context: ivm.Context,
    engine: ivm.Reference<RuntimeEngine> | null,
    face: ivm.Reference<Guest>,
    lines: LineMemory | null,
  ) {
    this.#context = context;
    this.#engine = engine;
    this.#face = face;
    this.lines = lines;
  }

  /**
   * Opens a context and runs the prelude in it, with a tool or for a later one. A hardened realm may serve many calls.
   */
  static open(
    isolate: ivm.Isolate,
    { prelude, engine: engineScript }: RealmScripts,
    { emit, pure }: RealmHost,
    hardened: boolean,
    tool?: LoadedTool,
  ): GuestRealm {
    const context = isolate.createContextSync();
    // Must precede the prelude, which removes globals that the engine needs.
    const engine = engineScript === null ? null : (runFor(engineScript, context) as ivm.Reference<RuntimeEngine>);
    using boot = new Held(runFor(prelude, context));
    using factory = tool === undefined ? null : new Held(tool.evaluate(context, engine));
    using checks = tool === undefined ? null : heldChecks(tool, context);
    const loading = tool === undefined || factory === null ? [] : tool.arguments(factory.reference, checks?.reference);
    const lines = hardened ? new LineMemory() : null;
    const means = [emit, pure, lines?.share() ?? null, hardened, engine?.derefInto() ?? null];
    const face = boot.reference.applySync(undefined, [...means, ...loading], {
      result: { reference: true },
    }) as unknown as ivm.Reference<Guest>;
    return new GuestRealm(context, engine, face, lines);
  }

  /** Loads a tool into the realm. No tool code runs yet. */
  load(tool: LoadedTool): void {
    using factory = new Held(tool.evaluate(this.#context, this.#engine));
    using checks = heldChecks(tool, this.#context);
    this.#get("load").applySync(undefined, tool.arguments(factory.reference, checks?.reference));
  }

  /** Sets whether the lines of the next turn are streamed while their call runs. */
  hearLines(isHeard: boolean): void {
    if (this.lines !== null) this.lines.isHeard = isHeard;
  }

  start(calls: string, timeout: number, hasLongIntegers = true): string {
    return this.#get("start").applySync(undefined, [calls, hasLongIntegers], { timeout });
  }

  startNext(timeout: number): string {
    return this.#get("startNext").applySync(undefined, [], { timeout });
  }

  settle(callNumber: number, asks: string, payloads: string, nowMs: number, timeout: number): void {
    this.#get("settle").applySync(undefined, [callNumber, asks, payloads, nowMs], { timeout });
  }

  fire(callNumber: number, nowMs: number, timeout: number): void {
    this.#get("fire").applySync(undefined, [callNumber, nowMs], { timeout });
  }

  cancel(callNumber: number, nowMs: number, timeout: number): void {
    this.#get("cancel").applySync(undefined, [callNumber, nowMs], { timeout });
  }

  recover(timeout: number): string {
    return this.#get("recover").applySync(undefined, [], { timeout });
  }

  inspect(callNumber: number, nowMs: number, timeout: number): string {
    return this.#get("inspect").applySync(undefined, [callNumber, nowMs], { timeout });
  }

  /** Calls a function of the runtime's engine. */
  callEngine<Engine extends RuntimeEngine, Name extends keyof Engine & string>(
    name: Name,
    args: unknown[],
    timeout: number,
    result?: { readonly copy: true },
  ): unknown {
    if (this.#engine === null) throw new Error("the realm has no engine");
    using called = new Held(
      this.#engine.getSync(name as never, { reference: true }) as unknown as ivm.Reference<() => unknown>,
    );
    return called.reference.applySync(undefined, args as never, {
      timeout,
      ...(result === undefined ? {} : { result }),
    });
  }

  #get<Name extends keyof Guest>(name: Name): ivm.Reference<Guest[Name]> {
    const known: ivm.Reference<Guest[Name]> | undefined = this.#functions[name];
    if (known !== undefined) return known;
    const found: ivm.Reference<Guest[Name]> = this.#face.getSync(name, { reference: true });
    Object.assign(this.#functions, { [name]: found });
    return found;
  }

  [Symbol.dispose](): void {
    for (const reference of Object.values(this.#functions)) reference.release();
    this.#face.release();
    this.#engine?.release();
    this.#context.release();
  }
}

/** Scripts that run in a realm first: the engine, if a runtime needs one, then the prelude. */
export interface RealmScripts {
  readonly prelude: ivm.Script;
  readonly engine: ivm.Script | null;
}

/** Runs a script in a context and returns a reference to its value. */
function runFor(script: ivm.Script, context: ivm.Context): ivm.Reference {
  return script.runSync(context, { reference: true }) as unknown as ivm.Reference;
}

/** A reference that is released at the end of its block. */
class Held<T> implements Disposable {
  readonly reference: ivm.Reference<T>;

  constructor(reference: ivm.Reference<T>) {
    this.reference = reference;
  }

  [Symbol.dispose](): void {
    this.reference.release();
  }
}

function heldChecks({ checks }: LoadedTool, context: ivm.Context): Held<Checks> | null {
  const opened = checks?.open(context) ?? null;
  return opened === null ? null : new Held(opened);
}

/** V8's code cache of a script, for further isolates of this thread. */
export type PreludeCode = ivm.ExternalCopy<ArrayBuffer>;

/** Compiles a script of Glovebox. */
export function compileScript(isolate: ivm.Isolate, name: string, text: string, code?: PreludeCode): ivm.Script {
  const file = { filename: `glovebox:${name}` };
  return isolate.compileScriptSync(text, code === undefined ? file : { ...file, cachedData: code });
}

/**
 * Runs a call in a new realm, with a capability call, to fill V8's code cache: V8 compiles a function on its first
 * call, which in a new isolate would take longer than all else.
 */
export function rehearsePrelude(text: string, hardened: boolean): PreludeCode | undefined {
  const isolate = new ivm.Isolate();
  try {
    const prelude = compileScript(isolate, "prelude", text);
    const emit = (kind: number): number => (kind === EMIT_ASK ? 1 : 0);
    const host = { emit: new ivm.Callback(emit), pure: new ivm.Callback(() => "") };
    const realm = GuestRealm.open(isolate, { prelude, engine: null }, host, hardened);
    realm.load(compileTool(isolate, REHEARSED, { code: null }));
    realm.start('[[1,"",0,9,null]]', REHEARSAL_MS);
    realm.settle(1, "1", "0", 0, REHEARSAL_MS);
    // V8 has the text compiled already, so this only returns its code cache.
    const again = isolate.compileScriptSync(text, { filename: "glovebox:prelude", produceCachedData: true });
    return (again as { cachedData?: PreludeCode }).cachedData;
  } finally {
    isolate.dispose();
  }
}

const REHEARSAL_MS = 1_000;
const REHEARSED: ToolScript = {
  key: "",
  name: "rehearsal",
  version: "",
  runtime: "javascript",
  isolation: "instance",
  memoryMb: 0,
  config: "null",
  contract: "glovebox",
  checks: NO_CHECKS,
  text: `const ${SCRIPT_EXPORTS} = { default: (_input, { host }) => host.rehearsal.ask(0) };`,
};

/** A tool's compiled code in an isolate, ready for its realms. */
export interface LoadedTool {
  /** The factory in a realm, which the caller releases. No tool code runs yet. */
  evaluate(context: ivm.Context, engine: ivm.Reference<RuntimeEngine> | null): ivm.Reference<Factory>;
  /** `null` if the tool has none. */
  readonly checks: CompiledChecks | null;
  /** The arguments of a realm's `load`. */
  arguments(
    factory: ivm.Reference,
    checks: ivm.Reference<Checks> | undefined,
  ): [
    factory: ivm.Dereference<Factory>,
    ownNames: string,
    facts: string,
    shared: boolean,
    checks: ivm.Dereference<Checks> | null,
  ];
}

/** Maximum time for an engine to read a tool's code, in milliseconds. */
const LOAD_MS = 5_000;

type CompileBundle = (isolate: ivm.Isolate, text: string, file: ScriptFile) => ivm.Script;

const compileAnew: CompileBundle = (isolate, text, file) => isolate.compileScriptSync(text, file);

/** Arguments of an engine's `load`, made for each realm. */
export type EngineCode = () => readonly (string | ivm.Copy<ArrayBuffer>)[];

/** Inputs of a tool's compilation besides its script. */
export interface CompileOptions {
  /** Code of a tool whose realms have an engine; `null` for JavaScript. */
  readonly code: EngineCode | null;
  readonly compileBundle?: CompileBundle;
  readonly checks?: CheckRuntime;
}

/** Compiles a tool's code into a factory. The line offset makes line numbers in errors those of the bundle. */
export function compileTool(
  isolate: ivm.Isolate,
  script: ToolScript,
  { code, compileBundle = compileAnew, checks: runtime }: CompileOptions,
): LoadedTool {
  const checks = runtime?.compile(isolate, script) ?? null;
  const shared = script.isolation === "shared";
  if (code !== null) return loadedBy(code, script, shared, checks);
  const { text, ownNames, facts } = factoryText(script);
  const compiled = compileBundle(isolate, text, { filename: `tool:${script.name}`, lineOffset: -1 });
  return {
    evaluate: (context) => runFor(compiled, context) as ivm.Reference<Factory>,
    checks,
    arguments: (factory, own) => [factory.derefInto(), ownNames, facts, shared, own?.derefInto() ?? null],
  };
}

/** Code that the realm's engine loads. */
function loadedBy(code: EngineCode, script: ToolScript, shared: boolean, checks: CompiledChecks | null): LoadedTool {
  return {
    evaluate: (_context, engine) => {
      if (engine === null) throw new Error(`the realm has no engine for ${script.runtime}`);
      using load = new Held(engine.getSync("load", { reference: true }) as ivm.Reference);
      const options = { result: { reference: true }, timeout: LOAD_MS } as const;
      return load.reference.applySync(undefined, [...code()], options) as unknown as ivm.Reference<Factory>;
    },
    checks,
    arguments: (factory, own) => [factory.derefInto(), "", factsOf(script), shared, own?.derefInto() ?? null],
  };
}
