/** Deep comparison as Node's `util.isDeepStrictEqual` and `assert.deepEqual`. */

const { getPrototypeOf, is, keys, prototype: objects } = Object;

function tagOf(value: object): string {
  return objects.toString.call(value);
}

/** `isStrict`: by `Object.is` and with prototypes; otherwise by `==`. */
export function isDeepEqual(a: unknown, b: unknown, isStrict: boolean, seen: Map<object, object> = new Map()): boolean {
  if (isStrict ? is(a, b) : a === b || (Number.isNaN(a) && Number.isNaN(b))) return true;
  if (typeof a !== "object" || a === null || typeof b !== "object" || b === null) {
    if (isStrict || (typeof a === "object" && a !== null) || (typeof b === "object" && b !== null)) return false;
    // oxlint-disable-next-line eqeqeq
    return typeof a !== "function" && typeof b !== "function" && a == b;
  }
  if (isStrict && getPrototypeOf(a) !== getPrototypeOf(b)) return false;
  if (tagOf(a) !== tagOf(b) || Array.isArray(a) !== Array.isArray(b)) return false;
  if (seen.get(a) === b) return true;
  seen.set(a, b);
  const isEqual = isSameState(a, b, isStrict, seen) && hasSameMembers(a, b, isStrict, seen);
  seen.delete(a);
  return isEqual;
}

/** Compares what is not in properties. */
function isSameState(a: object, b: object, isStrict: boolean, seen: Map<object, object>): boolean {
  if (a instanceof Date) return b instanceof Date && is(a.getTime(), b.getTime());
  if (a instanceof RegExp) return b instanceof RegExp && String(a) === String(b) && a.lastIndex === b.lastIndex;
  if (a instanceof Error) return b instanceof Error && a.message === b.message && a.name === b.name;
  if (ArrayBuffer.isView(a)) return ArrayBuffer.isView(b) && isSameBytes(viewOf(a), viewOf(b));
  if (a instanceof ArrayBuffer) return b instanceof ArrayBuffer && isSameBytes(new Uint8Array(a), new Uint8Array(b));
  if (a instanceof Set) return b instanceof Set && isSameSet(a, b, isStrict, seen);
  if (a instanceof Map) return b instanceof Map && isSameMap(a, b, isStrict, seen);
  if (a instanceof Promise || a instanceof WeakMap || a instanceof WeakSet) return false;
  if (a instanceof Number || a instanceof String || a instanceof Boolean) return is(a.valueOf(), b.valueOf());
  return true;
}

function viewOf(view: ArrayBufferView): Uint8Array {
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
}

function isSameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, at) => byte === b[at]);
}

function isSameSet(
  a: ReadonlySet<unknown>,
  b: ReadonlySet<unknown>,
  isStrict: boolean,
  seen: Map<object, object>,
): boolean {
  if (a.size !== b.size) return false;
  const left = new Set(b);
  for (const item of a) {
    if (left.delete(item)) continue;
    const found = [...left].find((other) => isDeepEqual(item, other, isStrict, seen));
    if (found === undefined || !left.delete(found)) return false;
  }
  return true;
}

function isSameMap(
  a: ReadonlyMap<unknown, unknown>,
  b: ReadonlyMap<unknown, unknown>,
  isStrict: boolean,
  seen: Map<object, object>,
): boolean {
  if (a.size !== b.size) return false;
  const left = new Map(b);
  for (const [key, value] of a) {
    if (left.has(key) && isDeepEqual(value, left.get(key), isStrict, seen)) {
      left.delete(key);
      continue;
    }
    const found = [...left].find(
      ([other, held]) => isDeepEqual(key, other, isStrict, seen) && isDeepEqual(value, held, isStrict, seen),
    );
    if (found === undefined) return false;
    left.delete(found[0]);
  }
  return true;
}

function membersOf(value: object, isStrict: boolean): readonly PropertyKey[] {
  const names =
    ArrayBuffer.isView(value) && !(value instanceof DataView)
      ? keys(value).filter((key) => !/^\d+$/.test(key))
      : keys(value);
  if (!isStrict) return names;
  return [
    ...names,
    ...Object.getOwnPropertySymbols(value).filter((symbol) => objects.propertyIsEnumerable.call(value, symbol)),
  ];
}

function hasSameMembers(a: object, b: object, isStrict: boolean, seen: Map<object, object>): boolean {
  const names = membersOf(a, isStrict);
  if (names.length !== membersOf(b, isStrict).length) return false;
  if (Array.isArray(a) && Array.isArray(b) && a.length !== b.length) return false;
  return names.every(
    (name) => Object.hasOwn(b, name) && isDeepEqual(Reflect.get(a, name), Reflect.get(b, name), isStrict, seen),
  );
}
