import { constants, createContext, runInContext } from "node:vm";

type Plain = string | number;

/** Stack frames that must be free when the tool calls the host: a stack overflow must not interrupt Node's own code. */
const ROOM = 1_000;
/**
 * Evaluated in the realm, so that all it creates and throws belongs to the realm, also the error for a full stack.
 * Exceptions of the host are caught here and never read.
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
 * A realm in this process, where Node's inspector can see it. Any object of the surrounding realm leads to that realm's
 * `Function`, so none enters: host functions are wrapped in functions of this realm, and `import` fails with an error
 * of this realm.
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
    // A plain global object: the prelude freezes it, and removes the context's own members.
    this.#context = createContext(constants.DONT_CONTEXTIFY, { name, importModuleDynamically });
    refuse = this.evaluate(REFUSE_IMPORT, "glovebox:import") as () => never;
    this.#wrap = this.evaluate(WRAP, "glovebox:wrap") as Wrap;
  }

  evaluate(text: string, filename: string, lineOffset = 0): unknown {
    const importModuleDynamically = this.#importModuleDynamically;
    return runInContext(text, this.#context, { filename, lineOffset, importModuleDynamically });
  }

  /** Realm function that passes strings and numbers to the host's, and returns `failed` if that throws. */
  wrap(host: (...args: never[]) => Plain, failed: Plain): unknown {
    return this.#wrap(host, failed);
  }
}
