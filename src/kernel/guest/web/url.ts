import { toText } from "./arguments.ts";
import { type QueryEntry, QueryList, parseQuery, serializeQuery } from "./query-list.ts";
import { URLSearchParams } from "./url-search-params.ts";
import { describeInterface } from "./web-interface.ts";

/** A URL, from a tool's side. */
export interface WebUrl {
  href: string;
  readonly origin: string;
  protocol: string;
  username: string;
  password: string;
  host: string;
  hostname: string;
  port: string;
  pathname: string;
  search: string;
  readonly searchParams: URLSearchParams;
  hash: string;
  toString(): string;
  toJSON(): string;
}

export interface UrlClass {
  new (url: string, base?: string): WebUrl;
  canParse(url: string, base?: string): boolean;
  parse(url: string, base?: string): WebUrl | null;
}

/** The classes of `createUrlClasses`. */
export interface UrlClasses {
  readonly URL: UrlClass;
  readonly URLSearchParams: typeof URLSearchParams;
}

/** Parses a URL; `base` is `NO_BASE` for no base. Returns its `UrlParts` as JSON, or "" if it is invalid. */
export type ParseUrl = (href: string, base: string) => string;

/** Sets a property of a URL as the standard does. Returns the parts as JSON, or "" if the URL would be invalid. */
export type UpdateUrl = (href: string, part: string, value: string) => string;

/** Marks an absent base: an empty base is a different case, and invalid. */
export const NO_BASE = "\0";

/** Maximum length of a URL with its base, in characters: longer ones are refused without a call to the host. */
const INPUT_MAX = 2 * 1024 * 1024;

/** Order of the parts in the host's result. */
const PARTS = [
  "href",
  "protocol",
  "username",
  "password",
  "host",
  "hostname",
  "port",
  "pathname",
  "search",
  "hash",
  "origin",
] as const;
const SEARCH = PARTS.indexOf("search");

type UrlPart = (typeof PARTS)[number];
type UrlParts = readonly string[];

/** Prepared parts, from which code in this file creates URLs. */
class ReadyParts {
  readonly parts: UrlParts;

  constructor(parts: UrlParts) {
    this.parts = parts;
  }
}

/** Creates the URL classes on the host's parser. */
export function createUrlClasses(parse: ParseUrl, update: UpdateUrl): UrlClasses {
  class URL {
    #parts: UrlParts;
    /** The parameters, created on first access. */
    #query: QueryList | undefined;
    #searchParams: URLSearchParams | undefined;
    /** Whether the parameters have changed since the last parse: the host updates the URL once its parts are read. */
    #queryChanged = false;

    static {
      for (const [index, part] of PARTS.entries()) {
        const read = (url: URL) => url.#current()[index] ?? "";
        const write = part === "origin" ? undefined : (url: URL, value: unknown) => url.#set(part, toText(value));
        defineAccessor(this.prototype, part, read, write);
      }
      describeInterface(this, "URL");
    }

    constructor(url: string | ReadyParts, ...[base]: [base?: string]) {
      if (arguments.length === 0) throw new TypeError("A URL needs at least 1 argument");
      this.#parts = url instanceof ReadyParts ? url.parts : (tryParse(parse, toText(url), toBase(base)) ?? refuse());
    }

    static canParse(url: string, ...[base]: [base?: string]): boolean {
      if (arguments.length === 0) throw new TypeError("URL.canParse needs at least 1 argument");
      return tryParse(parse, toText(url), toBase(base)) !== undefined;
    }

    static parse(url: string, ...[base]: [base?: string]): URL | null {
      if (arguments.length === 0) throw new TypeError("URL.parse needs at least 1 argument");
      const parts = tryParse(parse, toText(url), toBase(base));
      return parts === undefined ? null : new URL(new ReadyParts(parts));
    }

    get searchParams(): URLSearchParams {
      this.#query ??= new QueryList(queryEntries(this.#parts), () => {
        this.#queryChanged = true;
      });
      return (this.#searchParams ??= new URLSearchParams(this.#query));
    }

    toString(): string {
      return this.#current()[0] ?? "";
    }

    toJSON(): string {
      return this.#current()[0] ?? "";
    }

    /** The current parts, with changed parameters applied. */
    #current(): UrlParts {
      if (this.#queryChanged && this.#query !== undefined) {
        this.#parts = updated(update, this.#parts, "search", serializeQuery(this.#query.entries));
        this.#queryChanged = false;
      }
      return this.#parts;
    }

    #set(part: UrlPart, value: string): void {
      if (part === "href") this.#parts = tryParse(parse, value, NO_BASE) ?? refuse();
      // Setting the query discards pending changes of the parameters; setting any other part applies them first.
      else this.#parts = updated(update, part === "search" ? this.#parts : this.#current(), part, value);
      if (part !== "href" && part !== "search") return;
      if (this.#query !== undefined) this.#query.entries = queryEntries(this.#parts);
      this.#queryChanged = false;
    }
  }

  // The accessors of the parts are defined in a loop, which the type of the class does not show.
  return { URL: URL as unknown as UrlClass, URLSearchParams };
}

/** Defines a property that reads and writes a private field; its functions have the names that the standard gives. */
function defineAccessor<T extends object>(
  prototype: T,
  name: string,
  read: (self: T) => string,
  write: ((self: T, value: unknown) => void) | undefined,
): void {
  const accessor = {
    get [name](): string {
      return read(this as unknown as T);
    },
    set [name](value: unknown) {
      write?.(this as unknown as T, value);
    },
  };
  const descriptor = Object.getOwnPropertyDescriptor(accessor, name) ?? {};
  if (write === undefined) delete descriptor.set;
  Object.defineProperty(prototype, name, descriptor);
}

function tryParse(parse: ParseUrl, url: string, base: string): UrlParts | undefined {
  if (url.length + base.length > INPUT_MAX) return undefined;
  const json = parse(url, base);
  return json === "" ? undefined : (JSON.parse(json) as UrlParts);
}

/** The parts after one was set; unchanged if the standard ignores the value. */
function updated(update: UpdateUrl, parts: UrlParts, part: UrlPart, value: string): UrlParts {
  const href = parts[0] ?? "";
  if (href.length + value.length > INPUT_MAX) throw new TypeError("Invalid URL");
  const json = update(href, part, value);
  return json === "" ? parts : (JSON.parse(json) as UrlParts);
}

function refuse(): never {
  throw new TypeError("Invalid URL");
}

function queryEntries(parts: UrlParts): QueryEntry[] {
  return parseQuery((parts[SEARCH] ?? "").slice(1));
}

/** A base of one NUL is as invalid as an empty one, and must not be read as an absent base. */
function toBase(base: unknown): string {
  if (base === undefined) return NO_BASE;
  const text = toText(base);
  return text === NO_BASE ? "" : text;
}
