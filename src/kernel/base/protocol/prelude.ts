import { hash } from "node:crypto";
import { readFileSync } from "node:fs";

/** The guest's prelude, as executors pass it to their workers. */
export interface Prelude {
  /** The script that runs first in every realm. */
  readonly core: string;
  /**
   * Scripts that a realm evaluates when a tool first needs them. They are not part of the core, which every new isolate
   * has to parse.
   */
  readonly parts: Parts;
  /**
   * Statements that declare `CHECKS_GLOBAL`, the module `kernel/base/schema/check-runtime.ts`: a realm with a tool's checks
   * evaluates them with the code of its schemas.
   */
  readonly checks: string;
  /** Runtimes other than JavaScript. */
  readonly runtimes: readonly RuntimeCode[];
}

/** A runtime other than JavaScript, in the form for workers. */
export interface RuntimeCode {
  readonly name: string;
  readonly isInterpreted: boolean;
  /**
   * Script that runs before the core in its realms, because it uses globals that the core removes. It evaluates to a
   * `RuntimeEngine`. `null` if the runtime's module has one.
   */
  readonly engine: string | null;
  /** URL of a module whose `runtime` is a `WorkerRuntime`: the differences from other runtimes. */
  readonly module: string | null;
  /** `null` if it has none, or is not available on this machine. */
  readonly files: RuntimeFolder | null;
}

/** A folder with the files of a runtime. Workers may read all in `root`, which the folder is in. */
export interface RuntimeFolder {
  readonly root: string;
  readonly folder: string;
}

/**
 * Texts by their names, or the JSON file of a build that has them: a process reads a megabyte from a file in less time
 * than it is sent one.
 */
export type Parts = { readonly texts: Texts } | { readonly file: string };

interface Texts {
  readonly [name: string]: string;
}

export function textsOf(parts: Parts): Texts {
  return "texts" in parts ? parts.texts : (JSON.parse(readFileSync(parts.file, "utf8")) as Texts);
}

/** The variable of the module with which a realm checks values. */
export const CHECKS_GLOBAL = "__checks";

/** Seed of a call's randomness: 256 bits in hexadecimal, from the executor's key and the call's number. */
export function seedOf(entropyKey: string, run: string): string {
  // All keys have the same length, so this concatenation is unambiguous; a true HMAC takes several times as long.
  return hash("sha256", `${entropyKey}:${run}`);
}
