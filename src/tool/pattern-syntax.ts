/** Decides about one character: a code point in unicode mode, a UTF-16 unit otherwise. */
export interface CharTest {
  /** 1 where the character below 128 fits. */
  readonly ascii: Uint8Array;
  readonly other: (char: number) => boolean;
}

export type Edge = "start" | "end" | "word" | "notWord";

/** A pattern as a tree. Captures and laziness are dropped: they never change whether a string matches. */
export type PatternNode =
  | { readonly type: "empty" }
  | { readonly type: "char"; readonly test: CharTest }
  | { readonly type: "edge"; readonly edge: Edge }
  | { readonly type: "look"; readonly node: PatternNode; readonly negative: boolean }
  | { readonly type: "sequence"; readonly parts: readonly PatternNode[] }
  | { readonly type: "choice"; readonly options: readonly PatternNode[] }
  | { readonly type: "repeat"; readonly node: PatternNode; readonly min: number; readonly max: number };

/** A pattern that is no regular expression, or one that cannot be matched in time linear in the string. */
export class PatternError extends Error {
  override readonly name = "PatternError";
  readonly pattern: string;

  constructor(pattern: string, reason: string) {
    super(reason);
    this.pattern = pattern;
  }
}

const MAX_LENGTH = 10_000;
const MAX_DEPTH = 100;
const QUANTIFIER = /\{(\d+)(?:(,)(\d*))?\}/y;
const ESCAPED_SURROGATES = /\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}/y;
const ESCAPED_UNIT = /\\u[\da-fA-F]{4}/y;
const ESCAPED_BYTE = /\\x[\da-fA-F]{2}/y;
const ESCAPED_CONTROL = /\\c[A-Za-z]/y;
const BRACED = /\\[upP]\{[^}]*\}/y;
const EMPTY: PatternNode = { type: "empty" };

/**
 * Parses a JavaScript regular expression. V8 checks the syntax first, with the `u` flag that JSON Schema asks for and
 * without it where only that fails (many schemas say `\-`), so the parser here may rely on a valid pattern.
 */
export function parsePattern(pattern: string): { readonly node: PatternNode; readonly unicode: boolean } {
  if (pattern.length > MAX_LENGTH) throw new PatternError(pattern, `is longer than ${MAX_LENGTH} characters`);
  const unicode = isRegExp(pattern, "u");
  if (!unicode && !isRegExp(pattern, "")) throw new PatternError(pattern, "is not a valid regular expression");
  return { node: new Parser(pattern, unicode).parse(), unicode };
}

function isRegExp(pattern: string, flags: string): boolean {
  try {
    return new RegExp(pattern, flags) instanceof RegExp;
  } catch {
    return false;
  }
}

class Parser {
  readonly #source: string;
  readonly #unicode: boolean;
  readonly #tests = new Map<string, CharTest>();
  #at = 0;
  #depth = 0;

  constructor(source: string, unicode: boolean) {
    this.#source = source;
    this.#unicode = unicode;
  }

  parse(): PatternNode {
    return this.#choice();
  }

  #choice(): PatternNode {
    if (++this.#depth > MAX_DEPTH) throw this.#refuse(`nests groups deeper than ${MAX_DEPTH}`);
    const options = [this.#sequence()];
    while (this.#take("|")) options.push(this.#sequence());
    this.#depth--;
    return options.length === 1 ? (options[0] ?? EMPTY) : { type: "choice", options };
  }

  #sequence(): PatternNode {
    const parts: PatternNode[] = [];
    while (this.#at < this.#source.length && !this.#sees("|") && !this.#sees(")")) {
      parts.push(this.#quantified(this.#atom()));
    }
    return parts.length === 1 ? (parts[0] ?? EMPTY) : { type: "sequence", parts };
  }

  #quantified(node: PatternNode): PatternNode {
    let min: number;
    let max: number;
    const counted = this.#match(QUANTIFIER);
    if (counted !== null) {
      min = Number(counted[1]);
      max = counted[2] === undefined ? min : counted[3] === "" ? Infinity : Number(counted[3]);
    } else if (this.#take("*")) [min, max] = [0, Infinity];
    else if (this.#take("+")) [min, max] = [1, Infinity];
    else if (this.#take("?")) [min, max] = [0, 1];
    else return node;
    this.#take("?");
    return { type: "repeat", node, min, max };
  }

  #atom(): PatternNode {
    if (this.#take("(")) return this.#group();
    if (this.#take("^")) return { type: "edge", edge: "start" };
    if (this.#take("$")) return { type: "edge", edge: "end" };
    if (this.#sees("\\")) return this.#escape();
    if (this.#sees("[")) return this.#native(this.#classEnd());
    if (this.#sees(".")) return this.#native(this.#at + 1);
    return this.#literal();
  }

  #group(): PatternNode {
    let look: "ahead" | "not" | undefined;
    if (this.#take("?=")) look = "ahead";
    else if (this.#take("?!")) look = "not";
    else if (this.#sees("?<=") || this.#sees("?<!")) throw this.#refuse("looks behind");
    else if (this.#take("?<")) this.#at = this.#source.indexOf(">", this.#at) + 1;
    else if (!this.#take("?:") && this.#sees("?")) throw this.#refuse("changes flags inside the pattern");
    const node = this.#choice();
    this.#take(")");
    return look === undefined ? node : { type: "look", node, negative: look === "not" };
  }

  #escape(): PatternNode {
    const next = this.#source[this.#at + 1] ?? "";
    if (next === "b" || next === "B") {
      this.#at += 2;
      return { type: "edge", edge: next === "b" ? "word" : "notWord" };
    }
    if (/[1-9k]/.test(next)) throw this.#refuse("refers back to a group");
    if (next === "0" && /\d/.test(this.#source[this.#at + 2] ?? "")) throw this.#refuse("uses an octal escape");
    if (next === "c" && !this.#matches(ESCAPED_CONTROL)) throw this.#refuse("uses an unfinished \\c escape");
    return this.#native(this.#at + this.#escapeLength());
  }

  #escapeLength(): number {
    if (this.#unicode && this.#matches(ESCAPED_SURROGATES)) return 12;
    if (this.#matches(ESCAPED_UNIT)) return 6;
    if (this.#matches(ESCAPED_BYTE)) return 4;
    if (this.#matches(ESCAPED_CONTROL)) return 3;
    if (this.#unicode && this.#matches(BRACED)) return this.#source.indexOf("}", this.#at) + 1 - this.#at;
    return 2;
  }

  #classEnd(): number {
    let at = this.#at + 1;
    while (at < this.#source.length && this.#source[at] !== "]") at += this.#source[at] === "\\" ? 2 : 1;
    return at + 1;
  }

  #literal(): PatternNode {
    const char = this.#unicode ? (this.#source.codePointAt(this.#at) ?? 0) : this.#source.charCodeAt(this.#at);
    this.#at += char > 0xffff ? 2 : 1;
    const ascii = new Uint8Array(128);
    if (char < 128) ascii[char] = 1;
    return { type: "char", test: { ascii, other: (candidate) => candidate === char } };
  }

  /** One character's worth of pattern, from here to `end`: what it means is V8's to say, one character at a time. */
  #native(end: number): PatternNode {
    const text = this.#source.slice(this.#at, end);
    this.#at = end;
    let test = this.#tests.get(text);
    if (test === undefined) {
      const regExp = new RegExp(`^(?:${text})$`, this.#unicode ? "u" : "");
      const other = (char: number): boolean => regExp.test(String.fromCodePoint(char));
      test = { ascii: Uint8Array.from({ length: 128 }, (_, char) => Number(other(char))), other };
      this.#tests.set(text, test);
    }
    return { type: "char", test };
  }

  #sees(text: string): boolean {
    return this.#source.startsWith(text, this.#at);
  }

  #take(text: string): boolean {
    if (!this.#sees(text)) return false;
    this.#at += text.length;
    return true;
  }

  #matches(sticky: RegExp): boolean {
    sticky.lastIndex = this.#at;
    return sticky.test(this.#source);
  }

  #match(sticky: RegExp): RegExpExecArray | null {
    sticky.lastIndex = this.#at;
    const found = sticky.exec(this.#source);
    if (found !== null) this.#at += found[0].length;
    return found;
  }

  #refuse(what: string): PatternError {
    return new PatternError(this.#source, `${what}, which cannot be checked in bounded time; write it without`);
  }
}
