/** Arguments of the web's functions, as Web IDL reads them. */

/** Throws if a function was given fewer arguments than it needs. */
export function requireArguments(given: number, needed: number): void {
  if (given < needed)
    throw new TypeError(`${needed} argument${needed === 1 ? "" : "s"} required, but only ${given} given`);
}

/** A value as a `USVString`: text without lone surrogates. */
export function toText(value: unknown): string {
  return `${value as string}`.toWellFormed();
}

/** Pairs that an iterable lists, or the enumerable properties of another object. `what`: the noun for errors. */
export function pairsOf(init: object, what: string, read: (value: unknown) => string): (readonly [string, string])[] {
  const method: unknown = Reflect.get(init, Symbol.iterator);
  if (method !== undefined && method !== null)
    return Array.from(init as Iterable<unknown>, (pair) => readPair(pair, what, read));
  const record = new Map<string, string>();
  for (const key of Reflect.ownKeys(init)) {
    if (!Object.getOwnPropertyDescriptor(init, key)?.enumerable) continue;
    // A symbol is not a name: converting it to text throws, as the standard requires.
    record.set(read(key), read(Reflect.get(init, key)));
  }
  return [...record];
}

function readPair(pair: unknown, what: string, read: (value: unknown) => string): readonly [string, string] {
  if (typeof pair === "object" && pair !== null && Symbol.iterator in pair) {
    const [name, value, ...more] = Array.from(pair as Iterable<unknown>, (part) => read(part));
    if (name !== undefined && value !== undefined && more.length === 0) return [name, value];
  }
  throw new TypeError(`Each ${what} pair has to be an iterable of a name and a value`);
}

/** Whether a value is an object or a function. */
export function isObject(value: unknown): value is object {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}
