import { isObject, pairsOf, requireArguments } from "./arguments.ts";
import { byteString, HeaderList, headerName, headerValue } from "./header-list.ts";
import { definePairs, type Pairs } from "./pair-iterator.ts";
import { describeInterface } from "./web-interface.ts";

/** Values that headers can be made from. */
export type HeadersInit = Iterable<Iterable<string>> | Readonly<Record<string, string>>;

let readList = (_headers: object): HeaderList => new HeaderList();

/** The headers of a request or a response. */
export class Headers {
  readonly #list: HeaderList;

  static {
    describeInterface(this, "Headers");
    readList = (headers) => (headers as Headers).#list;
  }

  declare readonly [Symbol.iterator]: Pairs<string>["entries"];
  declare readonly entries: Pairs<string>["entries"];
  declare readonly keys: Pairs<string>["keys"];
  declare readonly values: Pairs<string>["values"];
  declare readonly forEach: Pairs<string>["forEach"];

  constructor(...[init]: [init?: HeadersInit | HeaderList]) {
    this.#list = HeaderList.isList(init) ? init : new HeaderList();
    if (init !== undefined && init !== this.#list) fillHeaders(this.#list, init);
  }

  append(name: string, value: string): void {
    requireArguments(arguments.length, 2);
    const [key, text] = [headerName(name), headerValue(value)];
    this.#changeable().append(key, text);
  }

  delete(name: string): void {
    requireArguments(arguments.length, 1);
    const key = headerName(name);
    this.#changeable().delete(key);
  }

  get(name: string): string | null {
    requireArguments(arguments.length, 1);
    return this.#list.get(headerName(name));
  }

  getSetCookie(): string[] {
    return this.#list.all("set-cookie");
  }

  has(name: string): boolean {
    requireArguments(arguments.length, 1);
    return this.#list.has(headerName(name));
  }

  set(name: string, value: string): void {
    requireArguments(arguments.length, 2);
    const [key, text] = [headerName(name), headerValue(value)];
    this.#changeable().set(key, text);
  }

  #changeable(): HeaderList {
    if (this.#list.isImmutable) throw new TypeError("These headers cannot be changed");
    return this.#list;
  }
}

definePairs(Headers, "Headers", (headers) => readList(headers).sorted);

/** The list behind a `Headers` object; throws for any other object. */
export function headerListOf(headers: object): HeaderList {
  return readList(headers);
}

/** Adds the headers of an initializer: pairs, or the properties of an object. */
export function fillHeaders(list: HeaderList, init: unknown): void {
  if (!isObject(init)) throw new TypeError("Headers are made from pairs, or from an object with names and values");
  for (const [name, value] of pairsOf(init, "header", byteString)) list.append(headerName(name), headerValue(value));
}
