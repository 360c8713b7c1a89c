import { type QueryEntry, QueryList, parseQuery, serializeQuery } from "./query-list.ts";
import { describeInterface } from "./web-interface.ts";

/** Values that parameters can be made from. */
export type SearchParamsInit = string | Iterable<Iterable<string>> | Readonly<Record<string, string>>;

/** Maps an entry to the iterator's value. */
type Select<T> = (entry: QueryEntry) => T;

/** The iterator of `URLSearchParams`: it sees entries that are added during the iteration. */
class SearchParamsIterator<T> extends Iterator<T, undefined> {
  readonly #list: QueryList;
  readonly #select: Select<T>;
  #index = 0;

  static {
    describeInterface(this, "URLSearchParams Iterator");
    // `harden` cannot reach this prototype, as no global leads to it. Tools must not construct an iterator.
    Reflect.deleteProperty(this.prototype, "constructor");
    for (const { value } of Object.values(Object.getOwnPropertyDescriptors(this.prototype))) Object.freeze(value);
    Object.freeze(this.prototype);
  }

  constructor(list: QueryList, select: Select<T>) {
    super();
    this.#list = list;
    this.#select = select;
  }

  override next(): IteratorResult<T, undefined> {
    const entry = this.#list.entries[this.#index];
    if (entry === undefined) return { value: undefined, done: true };
    this.#index += 1;
    return { value: this.#select(entry), done: false };
  }
}

/** The parameters of a query, in order. */
export class URLSearchParams {
  readonly #list: QueryList;

  static {
    describeInterface(this, "URLSearchParams");
    // The standard defines one function under both names.
    const entries = Object.getOwnPropertyDescriptor(this.prototype, "entries") ?? {};
    Object.defineProperty(this.prototype, Symbol.iterator, { ...entries, enumerable: false });
  }

  declare readonly [Symbol.iterator]: () => IteratorObject<[string, string], undefined>;

  constructor(init: SearchParamsInit | QueryList = "") {
    this.#list = QueryList.isList(init) ? init : new QueryList(readInit(init));
  }

  get size(): number {
    return this.#list.entries.length;
  }

  append(name: string, value: string): void {
    requireArguments(arguments.length, 2);
    const { entries } = this.#list;
    entries.push([toText(name), toText(value)]);
    this.#list.change(entries);
  }

  delete(name: string, ...[value]: [value?: string]): void {
    requireArguments(arguments.length, 1);
    const matches = matcher(name, value);
    this.#list.change(this.#list.entries.filter((entry) => !matches(entry)));
  }

  get(name: string): string | null {
    requireArguments(arguments.length, 1);
    return this.#list.entries.find(matcher(name))?.[1] ?? null;
  }

  getAll(name: string): string[] {
    requireArguments(arguments.length, 1);
    return this.#list.entries.filter(matcher(name)).map((entry) => entry[1]);
  }

  has(name: string, ...[value]: [value?: string]): boolean {
    requireArguments(arguments.length, 1);
    return this.#list.entries.some(matcher(name, value));
  }

  set(name: string, value: string): void {
    requireArguments(arguments.length, 2);
    const replacement: QueryEntry = [toText(name), toText(value)];
    const matches = matcher(name);
    const { entries } = this.#list;
    const first = entries.findIndex(matches);
    if (first < 0) this.#list.change([...entries, replacement]);
    else {
      this.#list.change(entries.flatMap((entry, i) => (i === first ? [replacement] : matches(entry) ? [] : [entry])));
    }
  }

  sort(): void {
    this.#list.change(this.#list.entries.toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
  }

  forEach(
    callback: (value: string, name: string, params: URLSearchParams) => void,
    ...[thisArg]: [thisArg?: unknown]
  ): void {
    if (typeof callback !== "function") throw new TypeError("The callback of forEach has to be a function");
    for (let index = 0; index < this.#list.entries.length; index += 1) {
      const [name, value] = this.#list.entries[index] ?? ["", ""];
      callback.call(thisArg, value, name, this);
    }
  }

  entries(): IteratorObject<[string, string], undefined> {
    return new SearchParamsIterator(this.#list, ([name, value]) => [name, value]);
  }

  keys(): IteratorObject<string, undefined> {
    return new SearchParamsIterator(this.#list, ([name]) => name);
  }

  values(): IteratorObject<string, undefined> {
    return new SearchParamsIterator(this.#list, ([, value]) => value);
  }

  toString(): string {
    return serializeQuery(this.#list.entries);
  }
}

function readInit(init: unknown): QueryEntry[] {
  if (init === null || (typeof init !== "object" && typeof init !== "function")) {
    return parseQuery(`${init as string}`.replace(/^\?/, ""));
  }
  const method: unknown = Reflect.get(init, Symbol.iterator);
  if (method !== undefined && method !== null) return Array.from(init as Iterable<unknown>, readPair);
  const record = new Map<string, string>();
  for (const key of Reflect.ownKeys(init)) {
    if (!Object.getOwnPropertyDescriptor(init, key)?.enumerable) continue;
    // A symbol is not a name: converting it to text throws, as the standard requires.
    record.set(toText(key), toText(Reflect.get(init, key)));
  }
  return [...record];
}

function readPair(pair: unknown): QueryEntry {
  if (typeof pair === "object" && pair !== null && Symbol.iterator in pair) {
    const [name, value, ...more] = Array.from(pair as Iterable<unknown>, toText);
    if (name !== undefined && value !== undefined && more.length === 0) return [name, value];
  }
  throw new TypeError("Each query pair has to be an iterable of a name and a value");
}

function matcher(name: unknown, value?: unknown): (entry: QueryEntry) => boolean {
  const wanted = toText(name);
  if (value === undefined) return (entry) => entry[0] === wanted;
  const wantedValue = toText(value);
  return (entry) => entry[0] === wanted && entry[1] === wantedValue;
}

function toText(value: unknown): string {
  return `${value as string}`.toWellFormed();
}

function requireArguments(given: number, needed: number): void {
  if (given < needed)
    throw new TypeError(`${needed} argument${needed === 1 ? "" : "s"} required, but only ${given} given`);
}
