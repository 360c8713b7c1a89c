import type * as Fs from "./faces/fs.ts";
import { once } from "./lazy-globals.ts";
import type { Pure } from "./host.ts";
import type * as Console from "./web/console.ts";
import type * as Fetch from "./web/fetch-globals.ts";
import type * as Web from "./web/index.ts";
import type * as Streams from "./web/stream-globals.ts";

/** Parts of the prelude that lie in its script as functions: evaluating them costs more than a short call does. */
interface Deferred {
  readonly console: () => typeof Console;
  readonly web: () => typeof Web;
  readonly fs: () => typeof Fs;
}

/** Parts whose text is not even in the prelude's script: few tools need them, and each isolate would hold them. */
interface Absent {
  readonly fetch: typeof Fetch;
  readonly streams: typeof Streams;
}

// As it is before a tool can change it. What it evaluates is the worker's, never a tool's.
// oxlint-disable-next-line no-eval
const evaluate = globalThis.eval;

// The bundle puts it around everything else.
declare const DEFERRED: Deferred;

/** The console's part, evaluated when a tool first asks for its console. */
export const consolePart = once(() => DEFERRED.console());

/** The part with the web's classes, evaluated when a tool first asks for one. */
export const webPart = once(() => DEFERRED.web());

/** The face of the capability `fs`, evaluated when a tool first asks for it. */
export const fsPart = once(() => DEFERRED.fs());
/** Evaluates a part whose text the worker has. */
export function bringIn<Name extends keyof Absent>(pure: Pure, name: Name): Absent[Name] {
  return evaluate(pure("part", name, "", "")) as Absent[Name];
}
