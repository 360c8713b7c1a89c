/** Objects that `JSON.stringify` writes by their members, which do not describe them, such as `{}` for a `Map`. */

// Captured before a tool can change them.
const { defineProperty, getPrototypeOf } = Object;

/** Whether `JSON.stringify` has met such an object since this was last set. */
export const odd = { isMet: false };

/** `JSON.stringify` looks it up in each object. An object may have its own, also by assignment. */
const NOTE = {
  get(): undefined {
    odd.isMet = true;
  },
  set(this: object, value: unknown): void {
    defineProperty(this, "toJSON", { value, writable: true, enumerable: true, configurable: true });
  },
};

/** Makes `JSON.stringify` note the objects of these classes. A class with a `toJSON` describes its own. */
export function noteClasses(classes: readonly unknown[]): void {
  for (const each of classes) if (typeof each === "function") notePrototype(each.prototype);
}

function notePrototype(prototype: unknown): void {
  if (typeof prototype !== "object" || prototype === null || "toJSON" in prototype) return;
  defineProperty(prototype, "toJSON", { get: NOTE.get, set: NOTE.set, configurable: true });
}

/** Makes `JSON.stringify` note the objects of a realm's own classes. */
export function noteRealm(realm: typeof globalThis): void {
  const { Error, Map, Set, WeakMap, WeakSet, Promise, RegExp, ArrayBuffer, SharedArrayBuffer, DataView } = realm;
  noteClasses([Error, Map, Set, WeakMap, WeakSet, Promise, RegExp, ArrayBuffer, SharedArrayBuffer, DataView]);
  noteClasses([realm.Iterator, getPrototypeOf(realm.Uint8Array)]);
  notePrototype(getPrototypeOf(getPrototypeOf(async function* () {}.prototype)));
}
