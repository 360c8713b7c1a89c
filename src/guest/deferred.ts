import type * as Fs from "./faces/fs.ts";
import { once } from "./lazy-globals.ts";
import type * as Console from "./web/console.ts";
import type * as Web from "./web/index.ts";

/** Parts of the prelude that lie in its script as functions: evaluating them costs more than a short call does. */
interface Deferred {
  readonly console: () => typeof Console;
  readonly web: () => typeof Web;
  readonly fs: () => typeof Fs;
}

// The bundle puts it around everything else.
declare const DEFERRED: Deferred;

/** The console's part, evaluated when a tool first asks for its console. */
export const consolePart = once(() => DEFERRED.console());

/** The part with the web's classes, evaluated when a tool first asks for one. */
export const webPart = once(() => DEFERRED.web());

/** The face of the capability `fs`, evaluated when a tool first asks for it. */
export const fsPart = once(() => DEFERRED.fs());
