import { constants, createContext, runInContext } from "node:vm";

type Plain = string | number;

/** Frames that have to be left on the stack when the tool calls the host: what Node does must not end in its midst. */
const ROOM = 1_000;
/**
 * Evaluated in the realm, so what it makes and what it throws is the realm's own: also the error where the stack has no
 * room left. What the host throws is caught here and never looked at.
 */
const WRAP = `(function (host, failed) {
  "use strict";
  const plain = (value) => (typeof value === "string" || typeof value === "number" ? value : "");
  const findRoom = (frames) => frames === 0 ? 0 : findRoom(frames - 1) + 1;
  return (a, b, c, d, e, f) => {
    findRoom(${ROOM});
    try {
      return host(plain(a), plain(b), plain(c), plain(d), plain(e), plain(f));
    } catch {
      return failed;
    }
  };
})`;
const REFUSE_IMPORT = `(function () {
  "use strict";
  throw new TypeError("a tool imports nothing while it runs: what it needs is in its bundle");
})`;

type Wrap = (host: (...args: never[]) => Plain, failed: Plain) => unknown;

/**
 * A realm in this very process, where Node's inspector sees it. Whoever holds one object of the realm around it holds
 * that realm's `Function`, so none goes in: functions of the host are wrapped in the realm's own, and `import` is
 * refused with an error of its own.
 */
export class DebuggedRealm {
  readonly #context: object;
  readonly #wrap: Wrap;
  readonly #importModuleDynamically: () => never;

  constructor(name: string) {
    let refuse = (): never => {
      throw new Error("nothing runs in the realm yet");
    };
    this.#importModuleDynamically = () => refuse();
    const importModuleDynamically = this.#importModuleDynamically;
    // An ordinary global: the prelude freezes it, and takes away what is on it, which is the context's own.
    this.#context = createContext(constants.DONT_CONTEXTIFY, { name, importModuleDynamically });
    refuse = this.evaluate(REFUSE_IMPORT, "glovebox:import") as () => never;
    this.#wrap = this.evaluate(WRAP, "glovebox:wrap") as Wrap;
  }

  evaluate(text: string, filename: string, lineOffset = 0): unknown {
    const importModuleDynamically = this.#importModuleDynamically;
    return runInContext(text, this.#context, { filename, lineOffset, importModuleDynamically });
  }

  /** A function of the realm's own that passes strings and numbers to the host's, and gives `failed` where that throws. */
  wrap(host: (...args: never[]) => Plain, failed: Plain): unknown {
    return this.#wrap(host, failed);
  }
}
