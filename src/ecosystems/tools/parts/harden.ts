/** What objects are often given of their own although what they inherit from has it too. */
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
 * Makes everything that can be reached from these values unchangeable, with what the language itself leads to. Code that
 * could put functions of its own in the place of built-in ones would see what others do with them.
 */
export function harden(roots: readonly unknown[]): void {
  const found = new Set<object>([...roots, ...LITERALS].filter(isObject));
  // What is added on the way is visited as well.
  for (const object of found) {
    for (const next of neighboursOf(object)) if (isObject(next)) found.add(next);
  }
  for (const object of found) {
    if (typeof object !== "function") letInherit(object, found);
    Object.freeze(object);
  }
}

/** Prototypes that have no names. */
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

/** Its prototype, and what its properties are, or are read and written by. */
function neighboursOf(object: object): unknown[] {
  const properties = Object.values(Object.getOwnPropertyDescriptors(object));
  const symbols = Object.getOwnPropertySymbols(object).map((key) => Object.getOwnPropertyDescriptor(object, key) ?? {});
  return [
    Object.getPrototypeOf(object),
    ...[...properties, ...symbols].flatMap((one): unknown[] => Object.values(one)),
  ];
}

/** A property that cannot be written could not be assigned to whatever inherits it either. */
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
