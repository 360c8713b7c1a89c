import type { Engine } from "./typed-engine.ts";

/** On `globalThis`: a dev server evaluates this module again as well. */
const SHARED = Symbol.for("glovebox.sharedEngines");

/**
 * One engine of a process under a key, even if a dev server evaluates the calling module again: `sharedEngine("tools",
 * () => createEngine({ … }))`. The first call makes the engine; a later one makes another if the first could not be
 * made or has been closed. Rejects as `make` does.
 */
export async function sharedEngine<One extends Engine>(key: string, make: () => Promise<One>): Promise<One> {
  const holder = globalThis as { [SHARED]?: Map<string, Promise<Engine>> };
  const shared = (holder[SHARED] ??= new Map());
  for (;;) {
    const found = shared.get(key);
    if (found === undefined) break;
    const engine = await found.catch(() => null);
    // The user of the key decides on its type, as with any global.
    if (engine?.stats().state === "open") return engine as One;
    // If several callers find it closed, one of them makes the next.
    if (shared.get(key) === found) shared.delete(key);
  }
  const made = make();
  shared.set(key, made);
  return made;
}
