/**
 * The ways in which a tool can evaluate text. `eval` is an indirect one and sees the realm's global; `module` is a direct
 * one, in strict code, and sees what the tool's module sees; `function` is the body of a `Function`, which gets the
 * module's `globalThis`.
 */
export type Entry = "eval" | "module" | "function";

/** What is wrong with a test that a limit ends, or that is asynchronous and has said nothing though none of its work is left. */
export const ENDLESS = "it never ends";

/**
 * Statements of a module that declare `evaluate`, which runs a program and returns what is wrong, or an empty text. A
 * tool and a bare context have the same ones. `change` runs between the harness and the test.
 */
export const EVALUATOR = `
const { transfer } = ArrayBuffer.prototype;
const later = globalThis.setTimeout;

function detachArrayBuffer(buffer) {
  if (transfer === undefined) structuredClone(buffer, { transfer: [buffer] });
  else transfer.call(buffer);
}

const ENTRIES = {
  eval(text, print, $262) {
    for (const [name, value] of Object.entries({ print, $262 })) {
      Object.defineProperty(globalThis, name, { value, writable: true, enumerable: false, configurable: true });
    }
    (0, eval)(text);
  },
  module(text, print, $262) {
    eval(text);
  },
  function(text, print, $262) {
    new Function("globalThis", "print", "$262", text)(globalThis, print, $262);
  },
};

function describe(error) {
  if (error === null || typeof error !== "object") return String(error);
  return (error.constructor?.name ?? "an object") + ": " + error.message;
}

let change = null;

function evaluate({ harness, source, entry, negative, isAsync }) {
  let settle;
  const printed = new Promise((resolve) => (settle = resolve));
  const print = (line) => settle(line === "Test262:AsyncTestComplete" ? "" : line);
  const changes = change === null ? "" : "$262.change();\\n";
  try {
    ENTRIES[entry](harness + changes + source, print, { detachArrayBuffer, change, global: globalThis });
  } catch (error) {
    return negative !== null && error?.constructor?.name === negative.type ? "" : describe(error);
  }
  if (negative !== null) return "no " + negative.type;
  if (!isAsync) return "";
  // Tests have no timers: what they do, they do before this.
  later?.(() => settle("${ENDLESS}"), 1);
  return printed;
}
`;
