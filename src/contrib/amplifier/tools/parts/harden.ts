/** Inherited properties that code often overrides in its own objects. */
const OVERRIDDEN: ReadonlySet<PropertyKey> = new Set([
  "constructor",
  "hasOwnProperty",
  "isPrototypeOf",
  "message",
  "name",
  "propertyIsEnumerable",
  "toJSON",
  "toLocaleString",
  "toString",
  "valueOf",
]);

/**
 * Freezes everything reachable from these values and from the language's literals. Code that replaced built-in
 * functions could observe what others pass to them.
 */
export function harden(roots: readonly unknown[]): void {
  const found = new Set<object>([...roots, ...LITERALS].filter(isObject));
  // The set grows during iteration: added objects are visited as well.
  for (const object of found) {
    for (const next of neighboursOf(object)) if (isObject(next)) found.add(next);
  }
  for (const object of found) {
    if (typeof object !== "function") letInherit(object, found);
    Object.freeze(object);
  }
}

/** Prototypes that no global names. */
const LITERALS: readonly unknown[] = [
  [].values(),
  "".matchAll(/./g),
  ""[Symbol.iterator](),
  new Map().values(),
  new Set().values(),
  (function* () {})(),
  (async function* () {})(),
  async () => {},
  Iterator.from({ next: () => ({ done: true, value: undefined }) }),
  [].values().map((item) => item),
].map((one) => Object.getPrototypeOf(one) as unknown);

/** An object's prototype, and the values, getters and setters of its properties. */
function neighboursOf(object: object): unknown[] {
  const properties = Object.values(Object.getOwnPropertyDescriptors(object));
  const symbols = Object.getOwnPropertySymbols(object).map((key) => Object.getOwnPropertyDescriptor(object, key) ?? {});
  return [
    Object.getPrototypeOf(object),
    ...[...properties, ...symbols].flatMap((one): unknown[] => Object.values(one)),
  ];
}

/** Replaces properties by accessors: a read-only property could not be assigned in inheriting objects either. */
function letInherit(object: object, fixed: ReadonlySet<object>): void {
  for (const key of Reflect.ownKeys(object)) {
    const property = Object.getOwnPropertyDescriptor(object, key);
    if (property === undefined || !("value" in property) || property.configurable !== true) continue;
    if (!OVERRIDDEN.has(key)) continue;
    const value: unknown = property.value;
    const set = function (this: object, own: unknown): void {
      if (fixed.has(this)) throw new TypeError(`Cannot assign to read only property '${String(key)}'`);
      Object.defineProperty(this, key, { value: own, writable: true, enumerable: true, configurable: true });
    };
    Object.defineProperty(object, key, { get: () => value, set, enumerable: property.enumerable === true });
  }
}

function isObject(value: unknown): value is object {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}
