import { isObject, pairsOf, requireArguments, toText } from "./arguments.ts";
import { type QueryEntry, QueryList, parseQuery, serializeQuery } from "./query-list.ts";
import { definePairs, type Pairs } from "./pair-iterator.ts";
import { describeInterface } from "./web-interface.ts";

/** Values that parameters can be made from. */
export type SearchParamsInit = string | Iterable<Iterable<string>> | Readonly<Record<string, string>>;

let readEntries = (_params: object): readonly QueryEntry[] => [];

/** The parameters of a query, in order. */
export class URLSearchParams {
  readonly #list: QueryList;

  static {
    describeInterface(this, "URLSearchParams");
    readEntries = (params) => (params as URLSearchParams).#list.entries;
  }

  declare readonly [Symbol.iterator]: Pairs<string>["entries"];
  declare readonly entries: Pairs<string>["entries"];
  declare readonly keys: Pairs<string>["keys"];
  declare readonly values: Pairs<string>["values"];
  declare readonly forEach: Pairs<string>["forEach"];

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

  toString(): string {
    return serializeQuery(this.#list.entries);
  }
}

definePairs(URLSearchParams, "URLSearchParams", (params) => readEntries(params));

function readInit(init: unknown): QueryEntry[] {
  if (!isObject(init)) return parseQuery(`${init as string}`.replace(/^\?/, ""));
  return pairsOf(init, "query", toText);
}

function matcher(name: unknown, value?: unknown): (entry: QueryEntry) => boolean {
  const wanted = toText(name);
  if (value === undefined) return (entry) => entry[0] === wanted;
  const wantedValue = toText(value);
  return (entry) => entry[0] === wanted && entry[1] === wantedValue;
}
