/**
 * The realm's hardening. It first removes all that escapes the isolate's limits or carries state between calls, then
 * freezes every object that a tool could reach, the global last.
 */

// Captured before a tool can change them: a replaced function would receive V8's own classes and could keep them.
// Constants also because V8 looks a global up each time in code that runs only once.
const { apply, construct, deleteProperty, ownKeys } = Reflect;
const { defineProperties, defineProperty, freeze, getOwnPropertyDescriptor, getPrototypeOf, hasOwn } = Object;

/**
 * Removed: memory that `memoryLimit` does not count, clocks by shared memory, observers of garbage collection, and
 * globals that the prelude implements itself.
 */
const REMOVED = [
  "WebAssembly",
  "SharedArrayBuffer",
  "Atomics",
  "WeakRef",
  "FinalizationRegistry",
  "console",
  "Temporal",
] as const;

/** Statics in which `RegExp` keeps the last match of any code in the realm. */
const REGEXP_STATICS =
  "input lastMatch lastParen leftContext rightContext $_ $& $+ $` $' $1 $2 $3 $4 $5 $6 $7 $8 $9".split(" ");

/** Reading a static fails at once: `undefined` would fail later, in another place. Reading only its name is no read. */
function refuseStatic(): never {
  throw new Error(
    "RegExp.$1, RegExp.lastMatch and the like do not exist inside an isolate: use what match() or exec() returns",
  );
}

const { transfer } = ArrayBuffer.prototype;

/** Detaches a buffer, which loses its bytes. */
export function detachBuffer(buffer: ArrayBuffer): void {
  apply(transfer, buffer, [0]);
}

/** Moves the bytes of a buffer into a new one, and detaches it. */
export function transferBuffer(buffer: ArrayBuffer): ArrayBuffer {
  return apply(transfer, buffer, []) as ArrayBuffer;
}

export function removeEscapes(realm: typeof globalThis): void {
  for (const name of REMOVED) deleteProperty(realm, name);
  const { RegExp } = realm;
  for (const name of REGEXP_STATICS) {
    // V8's own would keep its setter.
    deleteProperty(RegExp, name);
    defineProperty(RegExp, name, { get: refuseStatic, configurable: true });
  }
  deleteProperty(RegExp.prototype, "compile");
  removeResizableBuffers(realm);
}

/** Leaves only fixed-length buffers: V8 reserves resizable ones outside the heap's accounting. */
function removeResizableBuffers(realm: typeof globalThis): void {
  const RealArrayBuffer = realm.ArrayBuffer;
  const { prototype } = RealArrayBuffer;
  const tamed = function ArrayBuffer(length: unknown): unknown {
    if (new.target === undefined) throw new TypeError("Constructor ArrayBuffer requires 'new'");
    return construct(RealArrayBuffer, [length], new.target);
  };
  defineProperties(tamed, {
    // Set explicitly, because a bundler renames a function that is named like a global.
    name: { value: "ArrayBuffer" },
    prototype: { value: prototype, writable: false },
    isView: { value: RealArrayBuffer.isView, writable: true, configurable: true },
    [Symbol.species]: getOwnPropertyDescriptor(RealArrayBuffer, Symbol.species) ?? {},
  });
  prototype.constructor = tamed as unknown as ArrayBufferConstructor;
  for (const name of ["resize", "transferToImmutable"]) deleteProperty(prototype, name);
  Object.assign(prototype, movers(RealArrayBuffer));
  for (const name of ["transfer", "transferToFixedLength"]) defineProperty(prototype, name, { enumerable: false });
  realm.ArrayBuffer = tamed as unknown as ArrayBufferConstructor;
}

/** Functions that move a buffer: V8's own would make a longer one outside the heap's accounting. */
function movers(RealArrayBuffer: ArrayBufferConstructor) {
  const { slice } = RealArrayBuffer.prototype;
  const { get: lengthOf } = getOwnPropertyDescriptor(RealArrayBuffer.prototype, "byteLength") ?? {};
  const { get: isDetached } = getOwnPropertyDescriptor(RealArrayBuffer.prototype, "detached") ?? {};
  function moved(buffer: ArrayBuffer, length: unknown): ArrayBuffer {
    const size = apply(lengthOf as () => number, buffer, []);
    if (length === undefined) return transferBuffer(buffer);
    const target = new RealArrayBuffer(length as number);
    if (apply(isDetached as () => boolean, buffer, [])) return transferBuffer(buffer);
    const kept = apply(slice, buffer, [0, Math.min(size, target.byteLength)]) as ArrayBuffer;
    detachBuffer(buffer);
    if (target.byteLength === kept.byteLength) return kept;
    new Uint8Array(target).set(new Uint8Array(kept));
    return target;
  }
  return {
    transfer(this: ArrayBuffer, ...[length]: [length?: unknown]): ArrayBuffer {
      return moved(this, length);
    },
    transferToFixedLength(this: ArrayBuffer, ...[length]: [length?: unknown]): ArrayBuffer {
      return moved(this, length);
    },
  };
}

/** Freezes everything reachable from the global, from `more`, and from the prototypes that only syntax reaches. */
export function harden(realm: typeof globalThis, more: readonly object[]): void {
  // All errors share the two accessor functions of `stack`.
  const error = new Error("a sample");
  freezeAll(reach([realm, ...more, ...syntaxPrototypes(), error], []), realm);
  quickenPrimitives();
}

/** Number of reads after which V8 surely optimises the code that reads. */
const READS = 16;

/**
 * V8 searches a changed prototype like a dictionary until code that it optimises has read a property of an object that
 * inherits from it. Strings, numbers and booleans are no objects: each use of their methods would always be a search,
 * and a loop over characters would take 25 times as long.
 */
function quickenPrimitives(): void {
  const objects: readonly object[] = ["", 0, false, Symbol.iterator, 0n].map(Object);
  for (let read = 0; read < READS; read++) for (const object of objects) readLength(object);
}

function readLength(object: { readonly length?: unknown }): unknown {
  return object.length;
}

/** Room on the stack for all that is made and frozen at once, in frames of `requireRoom`: several times what it takes. */
const ROOM = 400;

/**
 * Throws where the stack is nearly full, before anything of what follows is done: a part of the realm that is made, and not
 * frozen, would carry what a call leaves in it to the next.
 */
export function requireRoom(frames = ROOM): number {
  return frames === 0 ? 0 : requireRoom(frames - 1) + 1;
}

/** Freezes an object made after its realm was hardened, before a tool can see it. */
export function hardenLater<T extends object>(made: T): T {
  // Stops the walk at objects that were frozen with the realm.
  freezeAll(reach([made], [Object.prototype, Function.prototype, Error, Iterator.prototype]), null);
  return made;
}

/**
 * Freezes the modules of a library that is evaluated in a hardened realm, before a tool can see them. Instances of its
 * classes may override every method that they inherit, as they may in Node.
 */
export function hardenLibrary(realm: object): <T>(made: T) => T {
  const known = new WeakSet<object>();
  for (const key of ownKeys(realm)) {
    // The accessors of later objects are unchanged.
    const value: unknown = getOwnPropertyDescriptor(realm, key)?.value;
    if (value === null || (typeof value !== "object" && typeof value !== "function")) continue;
    known.add(value);
    const prototype: unknown = getOwnPropertyDescriptor(value, "prototype")?.value;
    if (typeof prototype === "object" && prototype !== null) known.add(prototype);
  }
  for (const object of [...syntaxPrototypes(), TYPED_ARRAY, getPrototypeOf(Uint8Array), FUNCTION])
    known.add(object as object);
  return (made) => {
    if (made === null || (typeof made !== "object" && typeof made !== "function")) return made;
    // A known object counts as frozen.
    requireRoom();
    const found = new Set<object>([made]);
    const add = (value: unknown): void => {
      if (value === null || (typeof value !== "object" && typeof value !== "function") || known.has(value)) return;
      known.add(value);
      found.add(value);
    };
    found.forEach((object) => {
      add(getPrototypeOf(object));
      for (const key of ownKeys(object)) {
        const property = getOwnPropertyDescriptor(object, key);
        add(property?.value);
        add(property?.get);
        add(property?.set);
      }
    });
    found.forEach((object) => {
      if (hasOwn(object, "constructor") && object !== made) overrideAll(object);
    });
    found.forEach((object) => {
      // V8 cannot freeze an array of bytes: those of samples have no users.
      if (!ArrayBuffer.isView(object)) freeze(object);
    });
    return made;
  };
}

/** Lets objects that inherit from a prototype, and classes that extend its class, have properties of the same name. */
function overrideAll(prototype: object): void {
  const { constructor } = prototype;
  for (const holder of typeof constructor === "function" ? [prototype, constructor] : [prototype]) {
    for (const key of ownKeys(holder)) {
      const property = getOwnPropertyDescriptor(holder, key);
      if (property === undefined || !("value" in property) || property.configurable !== true) continue;
      if (holder === constructor && key === "name") continue;
      const accessor = overridable(holder, key, property);
      freeze(accessor.get);
      freeze(accessor.set);
      defineProperty(holder, key, accessor);
    }
  }
}

function freezeAll(objects: ReadonlySet<object>, realm: object | null): void {
  objects.forEach((object) => {
    // The override mistake: in strict code, assigning a property that an object inherits from a frozen one throws.
    if (object !== realm && hasOwn(object, "constructor")) enableOverrides(object);
    freeze(object);
  });
}

/** Prototypes of generators, async functions and built-in iterators: no property of the global leads to them. */
function syntaxPrototypes(): object[] {
  const segments = new Intl.Segmenter().segment("");
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
    segments,
    segments[Symbol.iterator](),
  ].map((sample) => Object.getPrototypeOf(sample));
}

const FUNCTION: object = Function.prototype;
const ASYNC_GENERATOR: unknown = getPrototypeOf(async function* () {}.prototype);
const TYPED_ARRAY: unknown = getPrototypeOf(Uint8Array.prototype);

/** All objects reachable without going through `known`. */
function reach(roots: readonly object[], known: readonly object[]): Set<object> {
  const found = new Set(roots);
  const add = (value: unknown): void => {
    if (value === null || (typeof value !== "object" && typeof value !== "function")) return;
    if (!known.includes(value)) found.add(value);
  };
  // `forEach` of a set also visits objects added during the walk. V8 stops optimising an explicit loop of this length.
  found.forEach((object) => {
    if (isPlainFunction(object)) return;
    add(getPrototypeOf(object));
    for (const key of ownKeys(object)) {
      const property = getOwnPropertyDescriptor(object, key);
      if (property === undefined) continue;
      if ("value" in property) add(property.value);
      else {
        add(property.get);
        add(property.set);
      }
    }
  });
  return found;
}

/**
 * Built-in functions that are not constructors have only a name and a length (ECMA-262, 18), and so have the methods
 * and arrows of this prelude. They are most of a realm, and listing their properties is most of the work.
 */
function isPlainFunction(object: object): boolean {
  // The prototype of async functions inherits from `Function.prototype`, but is not a function.
  if (typeof object !== "function" || getPrototypeOf(object) !== FUNCTION) return false;
  return !hasOwn(object, "prototype") && object !== Proxy;
}

/**
 * Keys that npm packages assign on objects that inherit them. Short on purpose: an accessor instead of a method such as
 * `push`, `call` or `Symbol.iterator` of arrays would cost every tool V8's fast paths.
 */
const OVERRIDDEN: readonly PropertyKey[] = [
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
];

/** Turns these data properties into accessors; the setter defines the property on the object that is assigned to. */
function enableOverrides(prototype: object): void {
  for (const key of overriddenKeys(prototype)) {
    if (!hasOwn(prototype, key)) continue;
    const property = getOwnPropertyDescriptor(prototype, key);
    if (property === undefined || !("value" in property) || property.configurable !== true) continue;
    const accessor = overridable(prototype, key, property);
    freeze(accessor.get);
    freeze(accessor.set);
    defineProperty(prototype, key, accessor);
  }
}

function overriddenKeys(prototype: object): readonly PropertyKey[] {
  switch (prototype) {
    case Object.prototype:
      return ownKeys(prototype);
    case FUNCTION:
      // lodash has a static method of that name.
      return [...OVERRIDDEN, "bind"];
    case Promise.prototype:
      // mongoose gives a promise of its own to `catch`.
      return [...OVERRIDDEN, "catch", "finally"];
    case Iterator.prototype:
      return [...OVERRIDDEN, Symbol.iterator];
    case ASYNC_GENERATOR:
      // graphql-ws ends its subscriptions by its own methods of these names.
      return [...OVERRIDDEN, "return", "throw"];
    case TYPED_ARRAY:
      // Polyfills of Node's `Buffer` inherit from `Uint8Array` and override these.
      return [...OVERRIDDEN, "fill", "includes", "indexOf", "lastIndexOf", "slice"];
    default:
      return OVERRIDDEN;
  }
}

/** An accessor that reads as `value`; assigning to an inheriting object defines an own property on it. */
export function overridable(holder: object, key: PropertyKey, property: PropertyDescriptor): PropertyDescriptor {
  const { value } = property;
  return {
    get: () => value,
    set: overrider(holder, key),
    enumerable: property.enumerable ?? false,
    configurable: true,
  };
}

/** A setter that defines the property on the inheriting object that is assigned to. */
export function overrider(holder: object, key: PropertyKey): (this: unknown, replacement: unknown) => void {
  return {
    set(this: unknown, replacement: unknown) {
      if (this === holder || this === null || (typeof this !== "object" && typeof this !== "function")) {
        throw new TypeError(`Cannot assign to read only property '${String(key)}' of a hardened object`);
      }
      defineProperty(this, key, { value: replacement, writable: true, enumerable: true, configurable: true });
    },
  }.set;
}
