import ivm from "isolated-vm";
import type { Emit, Factory, Guest, Pure } from "../guest/host.ts";
import { SCRIPT_EXPORTS, type ToolScript } from "../protocol/script.ts";
import { factoryText } from "./factory-text.ts";

/** What every realm of a worker says and asks. */
export interface RealmHost {
  readonly emit: ivm.Callback<Emit>;
  readonly pure: ivm.Callback<Pure>;
}

/** One V8 context with the guest's prelude in it, as the worker reaches it: entered synchronously, by strings only. */
export class GuestRealm implements Disposable {
  readonly #context: ivm.Context;
  readonly #face: ivm.Reference<Guest>;
  /** The functions of the face that were asked for: to get one takes longer than to call it. */
  readonly #functions: { [Name in keyof Guest]?: ivm.Reference<Guest[Name]> } = {};

  private constructor(context: ivm.Context, face: ivm.Reference<Guest>) {
    this.#context = context;
    this.#face = face;
  }

  /** Opens a context and boots the prelude in it, at once with a tool or for one to come. A hardened realm may serve many calls. */
  static open(
    isolate: ivm.Isolate,
    prelude: ivm.Script,
    { emit, pure }: RealmHost,
    hardened: boolean,
    tool?: LoadedTool,
  ): GuestRealm {
    const context = isolate.createContextSync();
    using boot = new Held(prelude.runSync(context, { reference: true }) as unknown as ivm.Reference);
    using factory = tool === undefined ? null : evaluate(tool, context);
    const loading = tool === undefined || factory === null ? [] : tool.arguments(factory.reference);
    const face = boot.reference.applySync(undefined, [emit, pure, hardened, ...loading], {
      result: { reference: true },
    }) as unknown as ivm.Reference<Guest>;
    return new GuestRealm(context, face);
  }

  /** Gives the realm its tool. Nothing of the tool runs yet. */
  load(tool: LoadedTool): void {
    using factory = evaluate(tool, this.#context);
    this.#get("load").applySync(undefined, tool.arguments(factory.reference));
  }

  start(calls: string, timeout: number): string {
    return this.#get("start").applySync(undefined, [calls], { timeout });
  }

  startNext(timeout: number): string {
    return this.#get("startNext").applySync(undefined, [], { timeout });
  }

  settle(run: number, ask: number, ok: boolean, payload: string, nowMs: number, timeout: number): void {
    this.#get("settle").applySync(undefined, [run, ask, ok, payload, nowMs], { timeout });
  }

  fire(run: number, nowMs: number, timeout: number): void {
    this.#get("fire").applySync(undefined, [run, nowMs], { timeout });
  }

  cancel(run: number, nowMs: number, timeout: number): void {
    this.#get("cancel").applySync(undefined, [run, nowMs], { timeout });
  }

  recover(timeout: number): string {
    return this.#get("recover").applySync(undefined, [], { timeout });
  }

  inspect(run: number, nowMs: number, timeout: number): string {
    return this.#get("inspect").applySync(undefined, [run, nowMs], { timeout });
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
    this.#context.release();
  }
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

/** What V8 made of the prelude, for further isolates of this thread. */
export type PreludeCode = ivm.ExternalCopy<ArrayBuffer>;

const PRELUDE_FILE = { filename: "glovebox:prelude" };

export function compilePrelude(isolate: ivm.Isolate, text: string, code?: PreludeCode): ivm.Script {
  return isolate.compileScriptSync(text, code === undefined ? PRELUDE_FILE : { ...PRELUDE_FILE, cachedData: code });
}

/**
 * Opens a realm and makes a call in it for what V8 then has compiled: V8 compiles a function when it is first called,
 * and in a new isolate that would take longer than all else.
 */
export function rehearsePrelude(text: string, hardened: boolean): PreludeCode | undefined {
  const isolate = new ivm.Isolate();
  try {
    const prelude = compilePrelude(isolate, text);
    const host = { emit: new ivm.Callback(() => 0), pure: new ivm.Callback(() => "") };
    const realm = GuestRealm.open(isolate, prelude, host, hardened);
    realm.load(compileTool(isolate, REHEARSED));
    realm.start('[[1,"",0,9,null]]', REHEARSAL_MS);
    // V8 knows the text, and so gives what it has of it by now.
    const again = isolate.compileScriptSync(text, { ...PRELUDE_FILE, produceCachedData: true });
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
  isolation: "instance",
  memoryMb: 0,
  config: "null",
  contract: "glovebox",
  text: `const ${SCRIPT_EXPORTS} = { default: () => 0 };`,
};

/** A tool's bundle as an isolate compiled it, ready to be given to realms. */
export interface LoadedTool {
  readonly compiled: ivm.Script;
  /** What a realm's `load` takes. */
  arguments(
    factory: ivm.Reference,
  ): [factory: ivm.Dereference<Factory>, ownNames: string, facts: string, shared: boolean];
}

/** Compiles a tool's bundle into a factory. The line offset keeps the lines of errors those of the bundle. */
export function compileTool(isolate: ivm.Isolate, script: ToolScript): LoadedTool {
  const { text, ownNames, facts } = factoryText(script);
  const shared = script.isolation === "shared";
  return {
    compiled: isolate.compileScriptSync(text, { filename: `tool:${script.name}`, lineOffset: -1 }),
    arguments: (factory) => [factory.derefInto(), ownNames, facts, shared],
  };
}

function evaluate({ compiled }: LoadedTool, context: ivm.Context): Held<Factory> {
  return new Held(compiled.runSync(context, { reference: true }) as unknown as ivm.Reference<Factory>);
}
