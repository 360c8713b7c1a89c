import { types } from "./util-types.ts";

/**
 * Deep comparison as Node has it. `loose`: by `==`, without prototypes and symbols. `members`: as `strict`, without
 * prototypes. `partial`: the first value may have more than the second.
 */
export type Mode = "loose" | "strict" | "members" | "partial";

/** Pairs whose comparison is in progress. */
type Open = Map<object, object>;

const { getPrototypeOf, is, keys, hasOwn, prototype: objects } = Object;
const { getTime } = Date.prototype;

function isEnumerable(value: object, key: PropertyKey): boolean {
  return objects.propertyIsEnumerable.call(value, key);
}

export function isDeepEqual(a: unknown, b: unknown, mode: Mode, open: Open = new Map()): boolean {
  if (a === b) return a !== 0 || mode === "loose" || is(a, b);
  if (typeof a !== "object" || a === null || typeof b !== "object" || b === null) {
    if (mode !== "loose") return Number.isNaN(a) && Number.isNaN(b);
    if ((typeof a === "object" && a !== null) || (typeof b === "object" && b !== null)) return false;
    // oxlint-disable-next-line eqeqeq
    return a == b || (Number.isNaN(a) && Number.isNaN(b));
  }
  if (mode === "strict" && !hasSameClass(a, b)) return false;
  const known = open.get(a);
  if (known !== undefined) return known === b;
  open.set(a, b);
  const isEqual = isSameState(a, b, mode, open) && hasSameMembers(a, b, mode, open);
  open.delete(a);
  return isEqual;
}

function hasSameClass(a: object, b: object): boolean {
  const { constructor } = a as { constructor?: unknown };
  if (constructor !== undefined && !hasOwn(a, "constructor")) return constructor === b.constructor;
  return getPrototypeOf(a) === getPrototypeOf(b);
}

const KINDS = [
  "isSet",
  "isMap",
  "isDate",
  "isRegExp",
  "isAnyArrayBuffer",
  "isBoxedPrimitive",
  "isNativeError",
] as const;

/** The language's type of a value. */
function kindOf(value: object): string {
  if (Array.isArray(value)) return "array";
  if (ArrayBuffer.isView(value)) return `${objects.toString.call(value)} view`;
  const kind = KINDS.find((name) => (types[name] as (value: unknown) => boolean)(value));
  return kind ?? (value instanceof Error ? "isNativeError" : "");
}

/** Compares state outside of properties. */
function isSameState(a: object, b: object, mode: Mode, open: Open): boolean {
  const kind = kindOf(a);
  if (kind !== kindOf(b) || objects.toString.call(a) !== objects.toString.call(b)) return false;
  switch (kind) {
    case "array":
      return isFitting((a as unknown[]).length, (b as unknown[]).length, mode);
    case "isSet":
      return isSameSet(a as Set<unknown>, b as Set<unknown>, mode, open);
    case "isMap":
      return isSameMap(a as Map<unknown, unknown>, b as Map<unknown, unknown>, mode, open);
    case "isDate":
      return Object.is(getTime.call(a), getTime.call(b));
    case "isRegExp":
      return isSameRegExp(a as RegExp, b as RegExp);
    case "isAnyArrayBuffer":
      return isSameBytes(new Uint8Array(a as ArrayBuffer), new Uint8Array(b as ArrayBuffer), mode);
    case "isBoxedPrimitive":
      return Object.is(unboxed(a), unboxed(b));
    case "isNativeError":
      return isSameError(a as Error, b as Error, mode, open);
    default:
  }
  if (ArrayBuffer.isView(a)) return isSameView(a, b as ArrayBufferView, mode);
  if (types["isPromise"]?.(a) || types["isWeakMap"]?.(a) || types["isWeakSet"]?.(a)) return false;
  return !(a instanceof URL) || (b instanceof URL && a.href === b.href);
}

function isFitting(has: number, wanted: number, mode: Mode): boolean {
  return mode === "partial" ? has >= wanted : has === wanted;
}

function isSameRegExp(a: RegExp, b: RegExp): boolean {
  return a.source === b.source && a.flags === b.flags && a.lastIndex === b.lastIndex;
}

function unboxed(value: object): unknown {
  for (const { prototype } of [Number, String, Boolean, BigInt, Symbol]) {
    try {
      return (prototype.valueOf as () => unknown).call(value);
    } catch {
      // It belongs to another class.
    }
  }
  return undefined;
}

function isSameError(a: Error, b: Error, mode: Mode, open: Open): boolean {
  const isSame = (name: string): boolean => {
    const [one, two]: unknown[] = [Reflect.get(a, name), Reflect.get(b, name)];
    if (isEnumerable(b, name)) return true;
    if (mode === "partial" && (two === undefined || (name === "message" && two === ""))) return true;
    return isDeepEqual(one, two, mode, open);
  };
  if (!["message", "name", "cause", "errors"].every(isSame)) return false;
  return hasOwn(a, "cause") === hasOwn(b, "cause") || (mode === "partial" && !hasOwn(b, "cause"));
}

function isSameView(a: ArrayBufferView, b: ArrayBufferView, mode: Mode): boolean {
  if (mode === "loose" && /Float/.test(objects.toString.call(a))) {
    const [one, two] = [a, b] as unknown as ArrayLike<number>[];
    return one?.length === two?.length && Array.prototype.every.call(one, (value, at) => value === two?.[at]);
  }
  const bytes = (view: ArrayBufferView): Uint8Array => new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  return isSameBytes(bytes(a), bytes(b), mode);
}

/** Whether bytes are the same; for `partial`, whether the others are among them in their order. */
function isSameBytes(a: Uint8Array, b: Uint8Array, mode: Mode): boolean {
  if (!isFitting(a.length, b.length, mode)) return false;
  let at = 0;
  for (const byte of a)
    if (byte === b[at]) at++;
    else if (mode !== "partial") return false;
  return at === b.length;
}

function isSameSet(a: ReadonlySet<unknown>, b: ReadonlySet<unknown>, mode: Mode, open: Open): boolean {
  if (!isFitting(a.size, b.size, mode)) return false;
  const left = new Set(a);
  const others = [...b].filter((item) => !left.delete(item));
  return others.every((item) => {
    if ((typeof item !== "object" || item === null) && mode !== "loose") return false;
    for (const one of left) if (isDeepEqual(one, item, mode, open)) return left.delete(one);
    return false;
  });
}

function isSameMap(
  a: ReadonlyMap<unknown, unknown>,
  b: ReadonlyMap<unknown, unknown>,
  mode: Mode,
  open: Open,
): boolean {
  if (!isFitting(a.size, b.size, mode)) return false;
  const left = new Map(a);
  const others = [...b].filter(([key, value]) => {
    if (!left.has(key) || !isDeepEqual(left.get(key), value, mode, open)) return true;
    left.delete(key);
    return false;
  });
  return others.every(([key, value]) => {
    if ((typeof key !== "object" || key === null) && mode !== "loose") return false;
    for (const [one, held] of left)
      if (isDeepEqual(one, key, mode, open) && isDeepEqual(held, value, mode, open)) return left.delete(one);
    return false;
  });
}

const INDEX = /^(?:0|[1-9]\d*)$/;

function membersOf(value: object, mode: Mode): PropertyKey[] {
  const isView = ArrayBuffer.isView(value) && !(value instanceof DataView);
  const names: PropertyKey[] = isView ? keys(value).filter((key) => !INDEX.test(key)) : keys(value);
  if (mode !== "loose")
    for (const symbol of Object.getOwnPropertySymbols(value)) if (isEnumerable(value, symbol)) names.push(symbol);
  return names;
}

function hasSameMembers(a: object, b: object, mode: Mode, open: Open): boolean {
  const names = membersOf(b, mode);
  if (mode === "partial" && Array.isArray(a) && Array.isArray(b)) return hasItems(a, b, names, open);
  if (mode !== "partial" && names.length !== membersOf(a, mode).length) return false;
  return names.every(
    (name) => isEnumerable(a, name) && isDeepEqual(Reflect.get(a, name), Reflect.get(b, name), mode, open),
  );
}

/** Whether a list has the items of another one in their order, with others between them, and its members. */
function hasItems(a: readonly unknown[], b: readonly unknown[], names: readonly PropertyKey[], open: Open): boolean {
  let at = 0;
  for (const item of a) if (at < b.length && isDeepEqual(item, b[at], "partial", open)) at++;
  if (at < b.length) return false;
  return names.every((name) => {
    if (typeof name === "string" && INDEX.test(name)) return true;
    return isEnumerable(a, name) && isDeepEqual(Reflect.get(a, name), Reflect.get(b, name), "partial", open);
  });
}
