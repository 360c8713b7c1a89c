import ivm from "isolated-vm";
import type { Program } from "./cases.ts";
import { ENDLESS, type Entry, EVALUATOR } from "./evaluator.ts";

/** Time that a program may take, in milliseconds. */
export const DEADLINE_MS = 10_000;

/** Contexts that one isolate has one after the other. */
const CONTEXTS = 200;

/** Takes the program as JSON, a callback for the verdict, and the text of a change. */
type Face = (...args: unknown[]) => void;

/**
 * Contexts as isolated-vm makes them, with nothing of Glovebox: a new one for each program. They tell what V8 itself
 * does, and what comes of it once something is taken away from it.
 */
export class BareContexts implements Disposable {
  #isolate = new ivm.Isolate({ memoryLimit: 256 });
  #used = 0;

  /** Runs a program as a script, as the suite intends. Returns what is wrong, or an empty text. */
  runScript(program: Program): string {
    return this.#run((context, say) => {
      context.evalClosureSync(
        "globalThis.$262 = { detachArrayBuffer: (b) => b.transfer(), global: globalThis }; globalThis.print = $0;",
        [new ivm.Callback((line: string) => say(line === "Test262:AsyncTestComplete" ? "" : line))],
      );
      const { harness, source, negative, isAsync } = program;
      try {
        context.evalSync(harness + source, { timeout: DEADLINE_MS });
      } catch (error) {
        const { name, message } = error as Error;
        return say(name === negative?.type ? "" : `${name}: ${message}`);
      }
      if (negative !== null) say(`no ${negative.type}`);
      else if (!isAsync) say("");
    });
  }

  /**
   * Runs a program as a tool would. `change` takes something away from the context once the test's harness is there.
   * `isHeir`: the tool's global inherits from the context's, as it does in a hardened realm.
   */
  run(program: Program, entry: Entry, { change = "", isHeir = entry !== "eval" } = {}): string {
    return this.#run((context, say) => {
      const own = isHeir ? "Object.create(globalThis)" : "globalThis";
      const text = `return (function (globalThis, self, window, global) { "use strict";
        ${EVALUATOR}
        return (input, say, text) => {
          if (text !== "") change = new Function(text);
          void (async () => say(await evaluate(JSON.parse(input))))();
        };
      })(...Array(4).fill(${own}));`;
      const face = context.evalClosureSync(text, [], { result: { reference: true } }) as ivm.Reference<Face>;
      const input = JSON.stringify({ ...program, entry });
      try {
        face.applySync(undefined, [input, new ivm.Callback(say), change], { timeout: DEADLINE_MS });
      } catch {
        // It was cut off, or a promise was rejected that nobody waits for: what it has said by now counts.
      }
    });
  }

  #run(enter: (context: ivm.Context, say: (verdict: string) => void) => void): string {
    if (++this.#used > CONTEXTS || this.#isolate.isDisposed) {
      this[Symbol.dispose]();
      this.#isolate = new ivm.Isolate({ memoryLimit: 256 });
      this.#used = 0;
    }
    const context = this.#isolate.createContextSync();
    let verdict = ENDLESS;
    let isSaid = false;
    enter(context, (said) => {
      if (!isSaid) verdict = said;
      isSaid = true;
    });
    if (!this.#isolate.isDisposed) context.release();
    return verdict;
  }

  [Symbol.dispose](): void {
    if (!this.#isolate.isDisposed) this.#isolate.dispose();
  }
}
