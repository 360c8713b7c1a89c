/**
 * V8 keeps each name of `Symbol.for` as long as its isolate lives, also after the end of the realm: memory that one
 * call would take from the next.
 */

// Captured before a tool can change them.
const { apply } = Reflect;
const { has, add } = Set.prototype;

/** Usual code uses a few names again and again: they count once. */
const USUAL = { names: 500, characters: 100 } as const;
/** Length of all other names after which the isolate has served enough, in characters. A name is at least as long as its place. */
const LENGTH_MAX = 256 * 1024;
const PLACE = 64;

/** Counts the names that a realm registers. `onMany` is called once there are too many, and then for each further one. */
export function countSymbolNames(realm: typeof globalThis, onMany: () => void): void {
  const { Symbol } = realm;
  const register = Symbol.for;
  const usual = new Set<string>();
  let [count, length] = [0, 0];
  const { for: counted } = {
    for(key: unknown): symbol {
      const name = `${key as string}`;
      if (!(apply(has, usual, [name]) as boolean)) {
        if (count < USUAL.names && name.length <= USUAL.characters) {
          apply(add, usual, [name]);
          count++;
        } else if ((length += name.length + PLACE) > LENGTH_MAX) onMany();
      }
      return register(name);
    },
  };
  Object.defineProperty(Symbol, "for", { value: counted, writable: true, configurable: true });
}
