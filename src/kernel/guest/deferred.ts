import type * as Fs from "./faces/fs.ts";
import { once } from "./lazy-globals.ts";
import type { Pure } from "./host.ts";
import type * as Console from "./web/console.ts";
import type * as Fetch from "./web/fetch-globals.ts";
import type * as Node from "./node/node.ts";
import type * as Web from "./web/index.ts";
import type * as Streams from "./web/stream-globals.ts";

/** Parts of the prelude stored in its script as unevaluated functions: evaluating them costs more than a short call. */
interface Deferred {
  readonly console: () => typeof Console;
  readonly web: () => typeof Web;
  readonly fs: () => typeof Fs;
}

/** Parts that are not even in the prelude's script: few tools need them, and each isolate would hold their text. */
interface Absent {
  readonly fetch: typeof Fetch;
  readonly streams: typeof Streams;
  readonly node: typeof Node;
}

// Captured before a tool can change it. It evaluates only text of the worker, never of a tool.
// oxlint-disable-next-line no-eval
const evaluate = globalThis.eval;

// Defined by the bundle, which wraps all other code in it.
declare const DEFERRED: Deferred;

/** The console, evaluated on a tool's first access to `console`. */
export const consolePart = once(() => DEFERRED.console());

/** The web classes, evaluated on a tool's first access to one. */
export const webPart = once(() => DEFERRED.web());

/** The face of the capability `fs`, evaluated on first access. */
export const fsPart = once(() => DEFERRED.fs());

/** Evaluates a module of Node's library, which the worker sends as text: a function of the library. */
export function evaluateModule(pure: Pure, name: string): unknown {
  return evaluate(pure("part", name, "", ""));
}

/** Evaluates a part that the worker sends as text. */
export function evaluatePart<Name extends keyof Absent>(pure: Pure, name: Name): Absent[Name] {
  return evaluate(pure("part", name, "", "")) as Absent[Name];
}
