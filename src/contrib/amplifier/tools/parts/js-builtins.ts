/** Python's built-in functions that code is likely to use. */

type Sized = { readonly length: number } | { readonly size: number };

/** Items of an array, characters of a text, entries of a map or a set, keys of any other object. */
export function len(value: unknown): number {
  if (typeof value === "string") return Array.from(value).length;
  if (typeof value !== "object" || value === null) throw new TypeError(`${type(value)} has no len()`);
  if (isSized(value)) return "length" in value ? value.length : value.size;
  return Object.keys(value).length;
}

function isSized(value: object): value is Sized {
  return Array.isArray(value) || value instanceof Map || value instanceof Set;
}

const RANGE_MAX = 10_000_000;

/** `range(stop)`, `range(start, stop)`, `range(start, stop, step)`, as an array. */
export function range(start: number, stop?: number, step = 1): number[] {
  const [from, to] = stop === undefined ? [0, start] : [start, stop];
  if (step === 0) throw new RangeError("range() needs a step that is not zero");
  const length = Math.max(0, Math.ceil((to - from) / step));
  if (!(length <= RANGE_MAX)) throw new RangeError(`range() has at most ${RANGE_MAX} items`);
  return Array.from({ length }, (_item, at) => from + at * step);
}

export function enumerate<Item>(items: Iterable<Item>, start = 0): [number, Item][] {
  return Array.from(items, (item, at) => [start + at, item]);
}

/** As many items as the shortest list has. */
export function zip(...lists: readonly Iterable<unknown>[]): unknown[][] {
  const arrays = lists.map((list) => Array.from(list));
  const length = arrays.length === 0 ? 0 : Math.min(...arrays.map((array) => array.length));
  return range(length).map((at) => arrays.map((array) => array[at]));
}

export function sum(items: Iterable<number>, start = 0): number {
  let total = start;
  for (const item of items) total += item;
  return total;
}

export function min(...values: readonly unknown[]): unknown {
  return extreme("min", values, (one, other) => one < other);
}

export function max(...values: readonly unknown[]): unknown {
  return extreme("max", values, (one, other) => one > other);
}

type Ordered = number | string;

function extreme(
  name: string,
  values: readonly unknown[],
  isBetter: (one: Ordered, other: Ordered) => boolean,
): unknown {
  const [only] = values;
  const items = (values.length === 1 && isIterable(only) ? Array.from(only) : values) as readonly Ordered[];
  const [first, ...others] = items;
  if (first === undefined) throw new RangeError(`${name}() of nothing`);
  return others.reduce((best, item) => (isBetter(item, best) ? item : best), first);
}

function isIterable(value: unknown): value is Iterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.iterator in value;
}

export function round(value: number, digits = 0): number {
  const scale = 10 ** digits;
  return Math.round(value * scale) / scale;
}

/** Sorts numbers by value, anything else by its text. `key` returns the sort key of an item. */
export function sorted<Item>(items: Iterable<Item>, key: (item: Item) => unknown = (item) => item): Item[] {
  return Array.from(items).toSorted((one, other) => compare(key(one), key(other)));
}

function compare(one: unknown, other: unknown): number {
  if (typeof one === "number" && typeof other === "number") return one - other;
  const [first, second] = [String(one), String(other)];
  return first < second ? -1 : Number(first > second);
}

export function reversed<Item>(items: Iterable<Item>): Item[] {
  return Array.from(items).toReversed();
}

/** Whether a value is an instance of a class, or of one of several; also `isinstance(1, Number)`. */
export function isinstance(value: unknown, kinds: unknown): boolean {
  const list: readonly unknown[] = Array.isArray(kinds) ? kinds : [kinds];
  return list.some((kind) => typeof kind === "function" && Object(value) instanceof kind);
}

/** Type of a value: `number`, `string`, `null`, `array`, or an object's class such as `Map`. */
export function type(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value !== "object") return typeof value;
  const made: unknown = Reflect.get(value, "constructor");
  return typeof made === "function" && made !== Object ? made.name : "object";
}

/** Printed form of a value: text unchanged, other values as JSON if they have one. */
export function repr(value: unknown): string {
  if (typeof value !== "object" || value === null) return String(value);
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  const plain = value instanceof Map || value instanceof Set ? Array.from(value as Iterable<unknown>) : value;
  try {
    return JSON.stringify(plain) ?? Object.prototype.toString.call(value);
  } catch {
    return Object.prototype.toString.call(value);
  }
}
