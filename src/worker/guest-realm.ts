import ivm from "isolated-vm";
import { type Emit, GLOBAL_NAMES, type Guest, OWN_NAMES, type Pure } from "../guest/host.ts";
import { SCRIPT_EXPORTS, type ToolScript } from "../protocol/script.ts";

/** One V8 context with the guest's prelude in it, as the worker reaches it: entered synchronously, by strings only. */
export class GuestRealm implements Disposable {
  readonly #context: ivm.Context;
  readonly #face: ivm.Reference<Guest>;
  readonly #start: ivm.Reference<Guest["start"]>;
  readonly #startMany: ivm.Reference<Guest["startMany"]>;
  readonly #settle: ivm.Reference<Guest["settle"]>;
  readonly #fire: ivm.Reference<Guest["fire"]>;

  private constructor(context: ivm.Context, face: ivm.Reference<Guest>) {
    this.#context = context;
    this.#face = face;
    this.#start = face.getSync("start", { reference: true });
    this.#startMany = face.getSync("startMany", { reference: true });
    this.#settle = face.getSync("settle", { reference: true });
    this.#fire = face.getSync("fire", { reference: true });
  }

  /** Opens a context and boots the prelude in it; a hardened realm may serve many calls. */
  static open(isolate: ivm.Isolate, prelude: ivm.Script, emit: Emit, pure: Pure, hardened: boolean): GuestRealm {
    const context = isolate.createContextSync();
    const boot = prelude.runSync(context, { reference: true }) as unknown as ivm.Reference<
      (...args: unknown[]) => Guest
    >;
    const face = boot.applySync(undefined, [new ivm.Callback(emit), new ivm.Callback(pure), hardened], {
      result: { reference: true },
    }) as unknown as ivm.Reference<Guest>;
    boot.release();
    return new GuestRealm(context, face);
  }

  /** Gives the realm its tool. Nothing of the tool runs yet. */
  load(compiled: ivm.Script, script: ToolScript): void {
    using factory = new Held(compiled.runSync(this.#context, { reference: true }) as unknown as ivm.Reference);
    using load = new Held(this.#face.getSync("load", { reference: true }));
    const facts = JSON.stringify({ name: script.name, version: script.version, config: script.config });
    const shared = script.isolation === "shared";
    load.reference.applySync(undefined, [factory.reference.derefInto(), ownNames(script).join(","), facts, shared]);
  }

  start(run: number, id: string, args: string, nowMs: number, outputMax: number, timeout: number): string {
    return this.#start.applySync(undefined, [run, id, args, nowMs, outputMax], { timeout });
  }

  startMany(batch: string, timeout: number): string {
    return this.#startMany.applySync(undefined, [batch], { timeout });
  }

  settle(run: number, ask: number, ok: boolean, payload: string, nowMs: number, timeout: number): void {
    this.#settle.applySync(undefined, [run, ask, ok, payload, nowMs], { timeout });
  }

  fire(run: number, nowMs: number, timeout: number): void {
    this.#fire.applySync(undefined, [run, nowMs], { timeout });
  }

  cancel(run: number, nowMs: number, timeout: number): void {
    using cancel = new Held(this.#face.getSync("cancel", { reference: true }));
    cancel.reference.applySync(undefined, [run, nowMs], { timeout });
  }

  recover(timeout: number): string {
    using recover = new Held(this.#face.getSync("recover", { reference: true }));
    return recover.reference.applySync(undefined, [], { timeout });
  }

  inspect(run: number, nowMs: number, timeout: number): string {
    using inspect = new Held(this.#face.getSync("inspect", { reference: true }));
    return inspect.reference.applySync(undefined, [run, nowMs], { timeout });
  }

  [Symbol.dispose](): void {
    for (const reference of [this.#start, this.#startMany, this.#settle, this.#fire, this.#face, this.#context])
      reference.release();
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

/** Compiles the prelude; `code` is what an earlier isolate of this thread made of it. */
export function compilePrelude(isolate: ivm.Isolate, text: string, code: ivm.ExternalCopy<ArrayBuffer> | undefined) {
  const options = { filename: "glovebox:prelude" };
  return code === undefined
    ? isolate.compileScriptSync(text, { ...options, produceCachedData: true })
    : isolate.compileScriptSync(text, { ...options, cachedData: code });
}

/** What of the call's own globals the bundle mentions at all: only these are made for each instance. */
function ownNames(script: ToolScript): string[] {
  return OWN_NAMES.filter((name) => script.text.includes(name));
}

/** Compiles a tool's bundle into a factory. The line offset keeps the lines of errors those of the bundle. */
export function compileTool(isolate: ivm.Isolate, script: ToolScript): ivm.Script {
  const parameters = [...GLOBAL_NAMES, ...ownNames(script)].join(", ");
  const text = `(function (${parameters}) { "use strict";\n${script.text}\nreturn ${SCRIPT_EXPORTS};\n})`;
  return isolate.compileScriptSync(text, { filename: `tool:${script.name}`, lineOffset: -1 });
}
