/** A header: its lower-case name, and its value. */
export type HeaderEntry = readonly [name: string, value: string];

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** The headers behind a `Headers` object. A request or response shares its list with its `Headers`. */
export class HeaderList {
  readonly isImmutable: boolean;
  #entries: HeaderEntry[];
  #sorted: readonly HeaderEntry[] | undefined;

  constructor(entries: Iterable<HeaderEntry> = [], isImmutable = false) {
    this.#entries = Array.from(entries, ([name, value]) => [name.toLowerCase(), value]);
    this.isImmutable = isImmutable;
  }

  /** Whether a value is a real `HeaderList`: checks a private field, which cannot be forged. */
  static isList(value: unknown): value is HeaderList {
    return typeof value === "object" && value !== null && #entries in value;
  }

  /** The headers in the order in which they were added. */
  get entries(): readonly HeaderEntry[] {
    return this.#entries;
  }

  /** The headers in iteration order: by name, with values of the same name combined, except cookies. */
  get sorted(): readonly HeaderEntry[] {
    return (this.#sorted ??= this.#sort());
  }

  append(name: string, value: string): void {
    this.#change([...this.#entries, [name, value]]);
  }

  delete(name: string): void {
    this.#change(this.#entries.filter((entry) => entry[0] !== name));
  }

  get(name: string): string | null {
    const values = this.all(name);
    return values.length === 0 ? null : values.join(", ");
  }

  all(name: string): string[] {
    return this.#entries.filter((entry) => entry[0] === name).map((entry) => entry[1]);
  }

  has(name: string): boolean {
    return this.#entries.some((entry) => entry[0] === name);
  }

  set(name: string, value: string): void {
    const first = this.#entries.findIndex((entry) => entry[0] === name);
    if (first < 0) this.append(name, value);
    else {
      const others = this.#entries.filter((entry, index) => index <= first || entry[0] !== name);
      this.#change(others.map((entry, index) => (index === first ? [name, value] : entry)));
    }
  }

  #change(entries: HeaderEntry[]): void {
    this.#entries = entries;
    this.#sorted = undefined;
  }

  #sort(): HeaderEntry[] {
    const names = [...new Set(this.#entries.map(([name]) => name))].sort((a, b) => (a < b ? -1 : 1));
    return names.flatMap((name): HeaderEntry[] => {
      if (name === "set-cookie") return this.all(name).map((value) => [name, value]);
      return [[name, this.get(name) ?? ""]];
    });
  }
}

/** A header name in lower case; throws if it is invalid. */
export function headerName(name: unknown): string {
  const text = `${name as string}`;
  if (!TOKEN.test(text)) throw new TypeError(`${quote(text)} is an invalid header name`);
  return text.toLowerCase();
}

/** A header value without surrounding whitespace; throws if it is invalid. */
export function headerValue(value: unknown): string {
  const text = byteString(value).replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, "");
  if (/[\0\n\r]/.test(text)) throw new TypeError(`${quote(text)} is an invalid header value`);
  return text;
}

/** Whether a text is an HTTP token: a method or a header name. */
export function isToken(text: string): boolean {
  return TOKEN.test(text);
}

/** A value as text of byte characters; throws if a character exceeds a byte. */
export function byteString(value: unknown): string {
  const text = `${value as string}`;
  // oxlint-disable-next-line no-control-regex
  if (/[^\0-\xff]/.test(text)) throw new TypeError(`${quote(text)} has characters above U+00FF`);
  return text;
}

function quote(text: string): string {
  return JSON.stringify(text.slice(0, 100));
}
