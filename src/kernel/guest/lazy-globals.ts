import { overrider } from "./harden.ts";

// Captured before a tool can change it.
const { defineProperty } = Object;

/** Defines a global that is created on first access. `isFrozen`: the realm is going to be frozen. */
export function defineLazily(realm: object, name: string, make: () => unknown, isFrozen: boolean): void {
  // A frozen realm cannot replace the accessor with the value.
  if (isFrozen) {
    defineProperty(realm, name, { get: make, set: overrider(realm, name), enumerable: false, configurable: true });
  } else {
    const get = () => {
      const value = make();
      replace(realm, name, value);
      return value;
    };
    defineReplaceable(realm, name, get);
  }
}

/** Defines a global that a tool may replace by assigning to it. */
export function defineReplaceable(realm: object, name: string, get: () => unknown): void {
  const set = (value: unknown) => replace(realm, name, value);
  defineProperty(realm, name, { get, set, enumerable: false, configurable: true });
}

function replace(realm: object, name: string, value: unknown): void {
  defineProperty(realm, name, { value, writable: true, enumerable: false, configurable: true });
}

/** Creates the value on first use; retries if an exception, such as a full stack, interrupted it. */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | null = null;
  return () => (made ??= { value: make() }).value;
}
