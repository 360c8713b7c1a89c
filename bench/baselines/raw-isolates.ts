/**
 * isolated-vm without an engine, a thread or a pool around it: what V8 itself takes for the same operation, in this
 * thread, with JSON text both ways.
 */
import ivm from "isolated-vm";
import { ADD_FUNCTION } from "../tools.ts";

const MEMORY_MB = 64;

/** A tool in a context of its own. */
interface RawTool extends Disposable {
  /** Takes and answers JSON. */
  call(json: string): string;
}

/** Text that takes JSON to a function's answer in JSON. */
export function wrap(functionText: string): string {
  return `"use strict"; ((tool) => (json) => JSON.stringify(tool(JSON.parse(json))))(${functionText})`;
}

export function openRawIsolate(): ivm.Isolate {
  return new ivm.Isolate({ memoryLimit: MEMORY_MB });
}

export function openRawTool(isolate: ivm.Isolate, script: ivm.Script): RawTool {
  const context = isolate.createContextSync();
  const tool = script.runSync(context, { reference: true });
  return {
    call: (json) => tool.applySync(undefined, [json]) as string,
    [Symbol.dispose]() {
      tool.release();
      context.release();
    },
  };
}

/** One isolate with the `add` tool compiled in it. */
export class RawAdd implements Disposable {
  readonly #isolate = openRawIsolate();
  readonly #script = this.#isolate.compileScriptSync(wrap(ADD_FUNCTION));
  readonly #warm = openRawTool(this.#isolate, this.#script);

  /** A call into a context that is there already. */
  warm(json: string): string {
    return this.#warm.call(json);
  }

  /** A call into a context that is made for it. */
  inFreshContext(json: string): string {
    using tool = openRawTool(this.#isolate, this.#script);
    return tool.call(json);
  }

  /** A call into an isolate that is made for it. */
  static inFreshIsolate(json: string): string {
    const isolate = openRawIsolate();
    try {
      return openRawTool(isolate, isolate.compileScriptSync(wrap(ADD_FUNCTION))).call(json);
    } finally {
      isolate.dispose();
    }
  }

  [Symbol.dispose](): void {
    this.#isolate.dispose();
  }
}
