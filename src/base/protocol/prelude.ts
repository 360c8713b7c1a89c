import { hash } from "node:crypto";
/** The guest's prelude, as executors hand it to their workers. */
export interface Prelude {
  /** The script that runs first in every realm. */
  readonly core: string;
  /**
   * Scripts that a realm evaluates when a tool first needs them. They are not in the core because each new isolate
   * would have to read them.
   */
  readonly parts: { readonly [name: string]: string };
  /**
   * Scripts that run before the core in the realms of a runtime, for what the core takes away. The value of each is a
   * `RuntimeEngine`.
   */
  readonly engines: { readonly wasi: string; readonly native: string };
  /** The folder where Python's interpreter lies once it is made ready; `null` where there is none. */
  readonly pythonImage: string | null;
}

const FIXED = "seed:";

/** From what a call's randomness is made: 256 bits in hexadecimal, of the executor's key and the call's number. */
export function seedOf(entropyKey: string, run: string): string {
  if (entropyKey.startsWith(FIXED)) return entropyKey.slice(FIXED.length);
  // Keys are of one length, so no two of them and their numbers are one text; a keyed hash proper takes several times as long.
  return hash("sha256", `${entropyKey}:${run}`);
}

/** A key of which every call is given this seed: a recorded call is run again with its own. */
export function fixedKey(seed: string): string {
  return FIXED + seed;
}
