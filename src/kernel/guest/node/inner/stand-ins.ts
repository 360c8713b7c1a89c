/** Garbage collection is invisible to tools. */
class FinalizationRegistry {
  register(): void {}

  unregister(): boolean {
    return false;
  }
}

class WeakRef {
  readonly #target: unknown;

  constructor(target: unknown) {
    this.#target = target;
  }

  deref(): unknown {
    return this.#target;
  }
}

/** Classes of the language that a hardened realm lacks, by name. */
export const STAND_INS: ReadonlyMap<string, { prototype: object }> = new Map<string, { prototype: object }>([
  ["FinalizationRegistry", FinalizationRegistry],
  ["WeakRef", WeakRef],
]);
