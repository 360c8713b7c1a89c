import { nodeError } from "./errors.ts";

/** `util.MIMEType` and `util.MIMEParams`: media types as the MIME Sniffing Standard reads and writes them. */

const NO_TOKEN = /[^!#$%&'*+\-.^_`|~A-Za-z0-9]/;
const NO_QUOTED = /[^\t\u0020-~\u0080-\u00FF]/;
/** One parameter, after the semicolon before it. */
const PARAMETER = /[\r\n\t ]*([^;=]*)(?:=(?:"((?:[^"\\]|\\(?:[^]|$))*)"?[^;]*|([^;]*)))?(?:;|$)/y;
const SPACE = "\r\n\t ";

function lower(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

function trimmedEnd(text: string): string {
  let end = text.length;
  while (end > 0 && SPACE.includes(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}

function trimmedStart(text: string): string {
  let start = 0;
  while (start < text.length && SPACE.includes(text.charAt(start))) start++;
  return text.slice(start);
}

/** Where a text is no token: -1 if all of it is missing, `null` if it is one. */
function faultOf(text: string): number | null {
  const at = text.search(NO_TOKEN);
  return text === "" || at >= 0 ? at : null;
}

function invalid(part: string, text: string, at: number): Error {
  const place = at < 0 ? "" : ` at ${at}`;
  return nodeError(
    TypeError,
    "ERR_INVALID_MIME_SYNTAX",
    `The MIME syntax for a ${part} in "${text}" is invalid${place}`,
  );
}

function checkToken(part: string, text: string, whole = text): void {
  const at = faultOf(text);
  if (at !== null) throw invalid(part, whole, at);
}

function quoted(value: string): string {
  return faultOf(value) === null ? value : `"${value.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
}

let take: (params: MIMEParams, source: string) => void;

export class MIMEParams {
  readonly #values = new Map<string, string>();

  static {
    take = (params, source) => params.#take(source);
  }

  /** Takes what is valid, and of each name the first. */
  #take(source: string): void {
    const text = trimmedEnd(source);
    const matcher = new RegExp(PARAMETER);
    while (matcher.lastIndex < text.length) {
      const [, given = "", inside, plain] = matcher.exec(text) ?? [];
      const name = lower(given);
      const value = inside?.replaceAll(/\\([^])/g, "$1") ?? trimmedEnd(plain ?? "");
      if (inside === undefined && value === "") continue;
      if (faultOf(name) === null && !NO_QUOTED.test(value) && !this.#values.has(name)) this.#values.set(name, value);
    }
  }

  delete(name: unknown): void {
    this.#values.delete(String(name));
  }

  get(name: unknown): string | null {
    return this.#values.get(String(name)) ?? null;
  }

  has(name: unknown): boolean {
    return this.#values.has(String(name));
  }

  set(name: unknown, value: unknown): void {
    const [key, text] = [String(name), String(value)];
    checkToken("parameter name", key);
    const at = text.search(NO_QUOTED);
    if (at >= 0) throw invalid("parameter value", text, at);
    this.#values.set(key, text);
  }

  *entries(): Generator<readonly [string, string]> {
    for (const [name, value] of this.#values) yield [name, value];
  }

  *keys(): Generator<string> {
    yield* this.#values.keys();
  }

  *values(): Generator<string> {
    yield* this.#values.values();
  }

  [Symbol.iterator](): Generator<readonly [string, string]> {
    return this.entries();
  }

  toString(): string {
    return [...this.#values].map(([name, value]) => `${name}=${quoted(value)}`).join(";");
  }

  toJSON(): string {
    return this.toString();
  }
}

export class MIMEType {
  #type: string;
  #subtype: string;
  readonly #params = new MIMEParams();

  constructor(given: unknown) {
    const text = String(given);
    const source = trimmedStart(text);
    const slash = source.indexOf("/");
    const type = slash < 0 ? source : source.slice(0, slash);
    checkToken("type", type, text);
    if (slash < 0) throw invalid("type", text, -1);
    const semicolon = source.indexOf(";", slash);
    const end = semicolon < 0 ? source.length : semicolon;
    const subtype = trimmedEnd(source.slice(slash + 1, end));
    checkToken("subtype", subtype, text);
    this.#type = lower(type);
    this.#subtype = lower(subtype);
    take(this.#params, source.slice(end + 1));
  }

  /** As the constructor, but `null` where that throws. */
  static parse(text: unknown): MIMEType | null {
    try {
      return new MIMEType(text);
    } catch {
      return null;
    }
  }

  get type(): string {
    return this.#type;
  }

  set type(given: unknown) {
    const type = String(given);
    checkToken("type", type);
    this.#type = lower(type);
  }

  get subtype(): string {
    return this.#subtype;
  }

  set subtype(given: unknown) {
    const subtype = String(given);
    checkToken("subtype", subtype);
    this.#subtype = lower(subtype);
  }

  get essence(): string {
    return `${this.#type}/${this.#subtype}`;
  }

  get params(): MIMEParams {
    return this.#params;
  }

  toString(): string {
    const params = String(this.#params);
    return params === "" ? this.essence : `${this.essence};${params}`;
  }

  toJSON(): string {
    return this.toString();
  }
}
