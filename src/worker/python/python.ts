import type { PreludeCode, RealmHost } from "../guest-realm.ts";
import type { Blank } from "../tool-isolate.ts";

/** V8's heap beside an interpreter's own memory, in MiB. */
export const PYTHON_HEAP_MB = 96;

/** Python's interpreters of one worker. */
export class Python implements Disposable {
  readonly #folder: string | null;

  constructor(folder: string | null) {
    this.#folder = folder;
  }

  /** An isolate with an interpreter that no tool has used yet. Throws where there is none. */
  createBlank(_memoryMb: number, _prelude: string, _code: PreludeCode | undefined, _host: RealmHost): Blank {
    throw new Error(`Python is not available here ${this.#folder ?? ""}`);
  }

  [Symbol.dispose](): void {}
}
