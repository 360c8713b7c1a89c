/**
 * The realm's hardening: first what escapes the isolate's limits or carries state between calls is taken away,
 * then every object that a tool could reach is frozen, the global last.
 */

/** Memory that `memoryLimit` does not count, clocks by shared memory, and what observes garbage collection. */
const REMOVED = ["WebAssembly", "SharedArrayBuffer", "Atomics", "WeakRef", "FinalizationRegistry", "console"];

/** Statics in which `RegExp` remembers the last match of anybody. */
const REGEXP_STATICS = /^(?:\$.|input|lastMatch|lastParen|leftContext|rightContext)$/;

export function removeEscapes(realm: typeof globalThis): void {
  for (const name of REMOVED) Reflect.deleteProperty(realm, name);
  for (const name of Reflect.ownKeys(RegExp)) {
    if (typeof name === "string" && REGEXP_STATICS.test(name)) Reflect.deleteProperty(RegExp, name);
  }
  Reflect.deleteProperty(RegExp.prototype, "compile");
  removeResizableBuffers(realm);
}

/** Resizable buffers are reserved outside the heap's account, so only buffers of a fixed length stay. */
function removeResizableBuffers(realm: typeof globalThis): void {
  const RealArrayBuffer = realm.ArrayBuffer;
  const tamed = function ArrayBuffer(length: unknown): unknown {
    if (new.target === undefined) throw new TypeError("Constructor ArrayBuffer requires 'new'");
    return Reflect.construct(RealArrayBuffer, [length], new.target);
  };
  // A bundler renames a function that is called like a global.
  Object.defineProperty(tamed, "name", { value: "ArrayBuffer", configurable: true });
  Object.defineProperty(tamed, "prototype", { value: RealArrayBuffer.prototype, writable: false });
  Object.defineProperty(tamed, "isView", { value: RealArrayBuffer.isView, writable: true, configurable: true });
  Object.defineProperty(
    tamed,
    Symbol.species,
    Object.getOwnPropertyDescriptor(RealArrayBuffer, Symbol.species) ?? { value: undefined },
  );
  const prototype = RealArrayBuffer.prototype;
  Object.defineProperty(prototype, "constructor", { value: tamed, writable: true, configurable: true });
  for (const name of ["resize", "transfer", "transferToFixedLength", "transferToImmutable"]) {
    Reflect.deleteProperty(prototype, name);
  }
  realm.ArrayBuffer = tamed as unknown as ArrayBufferConstructor;
}

/** Freezes everything reachable from the global, from `more`, and from the prototypes that only syntax reaches. */
export function harden(realm: typeof globalThis, more: readonly object[]): void {
  for (const object of reach([realm, ...more, ...syntaxPrototypes()])) {
    // The override mistake: in strict code, assigning a property that an object inherits from a frozen one throws.
    if (object !== realm && Object.hasOwn(object, "constructor")) enableOverrides(object);
    Object.freeze(object);
  }
}

/** Prototypes of generators, async functions and built-in iterators: no property of the global leads to them. */
function syntaxPrototypes(): object[] {
  return [
    function* () {},
    async function () {},
    async function* () {},
    (function* () {})(),
    (async function* () {})(),
    [][Symbol.iterator](),
    new Map()[Symbol.iterator](),
    new Set()[Symbol.iterator](),
    ""[Symbol.iterator](),
    "".matchAll(/./g),
    Iterator.from({ next: () => ({ done: true, value: undefined }) }),
    [].values().map((value) => value),
    new Intl.Segmenter().segment("a"),
    new Intl.Segmenter().segment("a")[Symbol.iterator](),
  ].map((sample) => Object.getPrototypeOf(sample));
}

function reach(roots: readonly unknown[]): Set<object> {
  const seen = new Set<object>();
  const waiting: unknown[] = [...roots];
  while (waiting.length > 0) {
    const value = waiting.pop();
    if (value === null || (typeof value !== "object" && typeof value !== "function") || seen.has(value)) continue;
    seen.add(value);
    waiting.push(Object.getPrototypeOf(value));
    const isFunction = typeof value === "function";
    for (const key of Reflect.ownKeys(value)) {
      // Every function has these two, they lead nowhere, and V8 makes them only when they are looked at.
      if (isFunction && (key === "name" || key === "length")) continue;
      const property = Object.getOwnPropertyDescriptor(value, key);
      if (property === undefined) continue;
      if ("value" in property) waiting.push(property.value);
      else waiting.push(property.get, property.set);
    }
  }
  return seen;
}

/**
 * What npm packages assign on objects that inherit it. Short on purpose: an accessor in place of a method such as
 * `push`, `call` or `Symbol.iterator` of arrays would cost every tool V8's fast paths.
 */
const OVERRIDDEN: ReadonlySet<PropertyKey> = new Set<PropertyKey>([
  "constructor",
  "name",
  "message",
  "cause",
  "toString",
  "toLocaleString",
  "toJSON",
  "valueOf",
  "hasOwnProperty",
  "isPrototypeOf",
  "propertyIsEnumerable",
]);

/** Turns such data properties of a prototype into accessors whose setter defines the property on the object assigned to. */
function enableOverrides(prototype: object): void {
  const all = prototype === Object.prototype;
  for (const key of Reflect.ownKeys(prototype)) {
    const enabled = all || OVERRIDDEN.has(key) || (key === Symbol.iterator && prototype === Iterator.prototype);
    if (!enabled) continue;
    const property = Object.getOwnPropertyDescriptor(prototype, key);
    if (property === undefined || !("value" in property) || property.configurable !== true) continue;
    const accessor = overridable(prototype, key, property);
    Object.freeze(accessor.get);
    Object.freeze(accessor.set);
    Object.defineProperty(prototype, key, accessor);
  }
}

/** An accessor that reads as the value did, and that assigning to an heir turns into the heir's own property. */
export function overridable(holder: object, key: PropertyKey, property: PropertyDescriptor): PropertyDescriptor {
  const { value } = property;
  return {
    get: () => value,
    set(this: unknown, replacement: unknown) {
      if (this === holder || this === null || (typeof this !== "object" && typeof this !== "function")) {
        throw new TypeError(`Cannot assign to read only property '${String(key)}' of a hardened object`);
      }
      Object.defineProperty(this, key, { value: replacement, writable: true, enumerable: true, configurable: true });
    },
    enumerable: property.enumerable ?? false,
    configurable: true,
  };
}
