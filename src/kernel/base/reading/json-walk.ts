import type { ChunkedText, Pieces } from "./chunked-text.ts";

export type JsonKind = "object" | "list" | "string" | "number" | "boolean" | "null";

/** Receives the values in a JSON text, in their order. `depth`: number of containers around a value. */
export interface JsonVisitor {
  /** Whether it needs the names of an object's members, which have this depth. */
  wantsNames(depth: number): boolean;
  begin?(kind: JsonKind, at: number, depth: number): void;
  /** `at`: the index after the value. */
  end?(at: number, depth: number): void;
  /** A comma after a value. */
  comma?(at: number, depth: number): void;
}

const [QUOTE, COMMA, COLON, BACKSLASH] = [34, 44, 58, 92];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [91, 93, 123, 125];
const [LETTER_T, LETTER_F, LETTER_N] = [116, 102, 110];
/** Length of a written name from which visitors do not get it. */
const NAME_MAX = 1_024;

interface Level {
  readonly isObject: boolean;
  /** Number of values that have begun in it. */
  count: number;
  /** The name of the last one, as it is written; `null` if no visitor wanted it or it is too long. */
  name: string | null;
}

/** Walks through a text that is JSON, chunk by chunk, and makes no value of it. */
export class JsonWalk {
  readonly #visitors: readonly JsonVisitor[];
  readonly #levels: Level[] = [];
  /** Index of the text at which the next chunk begins. */
  #base = 0;
  #isInString = false;
  #isEscaped = false;
  #isInScalar = false;
  #isName = false;
  /** A name that is being read, if a visitor wants it. */
  #name: string | null = null;
  /** Whether a string that begins is a member's name. */
  #expectsName = false;

  constructor(visitors: readonly JsonVisitor[]) {
    this.#visitors = visitors;
  }

  /** Number of values in the container of this depth, so far. */
  countAt(depth: number): number {
    return this.#levels[depth]?.count ?? 0;
  }

  /** Whether the last value of this depth is an element of a list. */
  isList(depth: number): boolean {
    return this.#levels[depth - 1]?.isObject === false;
  }

  /** Name or index of the last value of this depth; `null` of a name that was not wanted. */
  nameAt(depth: number): string | null {
    const level = this.#levels[depth - 1];
    if (level === undefined) return null;
    if (!level.isObject) return String(level.count - 1);
    const { name } = level;
    return name === null || !name.includes("\\") ? name : (JSON.parse(`"${name}"`) as string);
  }

  feed(text: string): void {
    let at = 0;
    while (at < text.length) {
      if (this.#isInString) {
        at = this.#readString(text, at);
        continue;
      }
      this.#read(text.charCodeAt(at), this.#base + at);
      at++;
    }
    this.#base += text.length;
  }

  #readString(text: string, start: number): number {
    let at = start;
    while (at < text.length) {
      const code = text.charCodeAt(at++);
      if (this.#isEscaped) this.#isEscaped = false;
      else if (code === BACKSLASH) this.#isEscaped = true;
      else if (code === QUOTE) {
        this.#keepName(text, start, at - 1);
        this.#endString(this.#base + at);
        return at;
      }
    }
    this.#keepName(text, start, at);
    return at;
  }

  #keepName(text: string, start: number, end: number): void {
    if (this.#name === null) return;
    const isShort = this.#name.length + end - start <= NAME_MAX;
    this.#name = isShort ? this.#name + text.slice(start, end) : null;
  }

  #endString(at: number): void {
    this.#isInString = false;
    if (!this.#isName) return this.#end(at);
    const level = this.#levels.at(-1);
    if (level !== undefined) level.name = this.#name;
    this.#isName = false;
    this.#name = null;
  }

  #read(code: number, at: number): void {
    if (code === QUOTE) return this.#beginString(at);
    if (code <= 32 || code === COLON) return this.#endScalar(at);
    switch (code) {
      case COMMA: {
        this.#endScalar(at);
        const depth = this.#levels.length;
        for (const visitor of this.#visitors) visitor.comma?.(at, depth);
        this.#expectsName = this.#levels.at(-1)?.isObject === true;
        return;
      }
      case OPEN_LIST:
      case OPEN_OBJECT: {
        const isObject = code === OPEN_OBJECT;
        this.#begin(isObject ? "object" : "list", at);
        this.#levels.push({ isObject, count: 0, name: null });
        this.#expectsName = isObject;
        return;
      }
      case CLOSE_LIST:
      case CLOSE_OBJECT:
        this.#endScalar(at);
        this.#end(at + 1, this.#levels.length - 1);
        this.#levels.pop();
        this.#expectsName = false;
        return;
      default:
        if (this.#isInScalar) return;
        this.#begin(kindOf(code), at);
        this.#isInScalar = true;
    }
  }

  #beginString(at: number): void {
    this.#isInString = true;
    this.#isName = this.#expectsName;
    if (!this.#isName) return this.#begin("string", at);
    this.#expectsName = false;
    const depth = this.#levels.length;
    this.#name = this.#visitors.some((visitor) => visitor.wantsNames(depth)) ? "" : null;
  }

  #begin(kind: JsonKind, at: number): void {
    const depth = this.#levels.length;
    const level = this.#levels[depth - 1];
    if (level !== undefined) level.count++;
    for (const visitor of this.#visitors) visitor.begin?.(kind, at, depth);
  }

  #endScalar(at: number): void {
    if (!this.#isInScalar) return;
    this.#isInScalar = false;
    this.#end(at);
  }

  /** `depth`: that of a container that ends, whose level still exists. */
  #end(at: number, depth = this.#levels.length): void {
    for (const visitor of this.#visitors) visitor.end?.(at, depth);
  }

  /** Ends a number that is the whole text. */
  finish(): void {
    this.#endScalar(this.#base);
  }
}

function kindOf(code: number): JsonKind {
  switch (code) {
    case LETTER_T:
    case LETTER_F:
      return "boolean";
    case LETTER_N:
      return "null";
    default:
      return "number";
  }
}

/** Walks through a text until its end, or until the visitors are done. */
export function* walk(
  text: ChunkedText,
  visitors: readonly ((walker: JsonWalk) => JsonVisitor)[],
  isDone: () => boolean = () => false,
): Pieces<undefined> {
  const made: JsonVisitor[] = [];
  const walker = new JsonWalk(made);
  made.push(...visitors.map((make) => make(walker)));
  for (let index = 0; index < text.chunks && !isDone(); index++) {
    walker.feed(text.chunk(index));
    yield;
  }
  if (!isDone()) walker.finish();
}
