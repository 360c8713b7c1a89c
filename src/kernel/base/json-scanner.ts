import { NESTING_MAX, VALUES_MAX } from "./json.ts";

/** Verdict on a text: JSON within the bounds of `json.ts`, JSON beyond them or with too long a number, or anything else. */
export type JsonVerdict =
  { readonly kind: "json" } | { readonly kind: "excess"; readonly excess: string } | { readonly kind: "invalid" };

/** The `arguments` of a call within a text: a value's place, and the number of blanks between its tokens. */
export interface CutValue {
  readonly start: number;
  readonly end: number;
  readonly blanks: number;
}

/** Members to find: `arguments` of the text's own object, or of each object in its list `calls`. */
export type Cutting = "none" | "call" | "batch";

const JSON_TEXT: JsonVerdict = Object.freeze({ kind: "json" });
const INVALID: JsonVerdict = Object.freeze({ kind: "invalid" });
/** Maximum length of a number: it is the only token that is not read in pieces. */
const NUMBER_MAX = 4_096;
const LONG_NUMBER = excess(`not read, as a number in it has more than ${NUMBER_MAX} characters`);
/** Length within which a token ends that is not read in pieces. */
const TOKEN_MAX = NUMBER_MAX + 8;

const [VALUE, FIRST_VALUE, KEY, FIRST_KEY, COLON, NEXT, STRING, KEY_STRING] = [0, 1, 2, 3, 4, 5, 6, 7];
type State = number;

const [QUOTE, COMMA, MINUS, DOT, ZERO, NINE, COLON_SIGN, BACKSLASH] = [34, 44, 45, 46, 48, 57, 58, 92];
const [PLUS, CAPITAL_E, LETTER_E] = [43, 69, 101];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT, LETTER_U] = [91, 93, 123, 125, 117];
/** Length of a run of plain characters from which it is searched for its end. */
const SHORT = 64;
/** Characters of a string that are not plain. */
// oxlint-disable-next-line no-control-regex
const SPECIAL = /["\\\u0000-\u001f]/;
/** Characters that a backslash may precede, but for `u`. */
const ESCAPED: ReadonlySet<number> = new Set(Buffer.from('"\\/bfnrt'));
const LITERALS: ReadonlyMap<number, string> = new Map(
  ["true", "false", "null"].map((word) => [word.charCodeAt(0), word]),
);
const [LIST, OBJECT] = [0, 1];

/**
 * Proves that a text is JSON by the rules of `JSON.parse`, without making its value: a few nanoseconds a character for
 * any text, in pieces as short as the caller wants, and in constant memory. Numbers have at most 4,096 characters. Can
 * also find the positions of the arguments of calls.
 */
export class JsonScanner {
  #text: string;
  /** Parts that follow the text, in order. */
  readonly #following: readonly string[];
  #taken = 0;
  readonly #cutting: Cutting;
  readonly #valuesMax: number;
  /** Kinds of the open containers, outermost first. */
  readonly #kinds = new Uint8Array(NESTING_MAX + 1);
  readonly #cuts: CutValue[] = [];
  #at = 0;
  #state: State = VALUE;
  #depth = 0;
  #values = 0;
  #blanks = 0;
  #keyStart = 0;
  #isNumberLong = false;
  /** Whether the outermost object's member `calls` is being read. */
  #isInCalls = false;
  /** Depth of the object whose `arguments` are being read; 0 for none. */
  #cutDepth = 0;
  #cutStart = -1;
  #cutBlanks = 0;

  /** `text`: in parts only if `cutting` is `none`. */
  constructor(text: string | readonly string[], cutting: Cutting = "none", valuesMax = VALUES_MAX) {
    [this.#text = "", ...this.#following] = typeof text === "string" ? [text] : text;
    this.#cutting = cutting;
    this.#valuesMax = valuesMax;
  }

  /** Values that were found, in order. */
  get cuts(): readonly CutValue[] {
    return this.#cuts;
  }

  /** Reads about `units` more of the text; `null` while there is more to read. */
  scan(units = Number.POSITIVE_INFINITY): JsonVerdict | null {
    const isLast = this.#takeMore();
    const text = this.#text;
    // A token that may not end in this part is read with the next one.
    const until = Math.min(isLast ? text.length : text.length - TOKEN_MAX, this.#at + units);
    while (this.#at < until) {
      if (this.#state >= STRING) {
        if (!this.#readString(until)) return INVALID;
        continue;
      }
      const code = text.charCodeAt(this.#at);
      if (code === 32 || code === 10 || code === 13 || code === 9) {
        this.#blanks++;
        this.#at++;
        continue;
      }
      if (!this.#read(code)) return this.#isNumberLong ? LONG_NUMBER : INVALID;
      if (this.#depth > NESTING_MAX) return excess(`nested deeper than ${NESTING_MAX} levels`);
      if (this.#values > this.#valuesMax) return excess(`made of more than ${this.#valuesMax} values`);
    }
    if (!isLast || this.#at < text.length) return null;
    return this.#state === NEXT && this.#depth === 0 ? JSON_TEXT : INVALID;
  }

  /** Takes parts until there are tokens to read. Returns whether none follow. */
  #takeMore(): boolean {
    while (this.#taken < this.#following.length && this.#text.length - this.#at <= TOKEN_MAX) {
      this.#text = this.#text.slice(this.#at) + (this.#following[this.#taken++] ?? "");
      this.#at = 0;
    }
    return this.#taken === this.#following.length;
  }

  /** Reads a token, or the beginning of a string; `false` if it is not allowed here. */
  #read(code: number): boolean {
    switch (this.#state) {
      case FIRST_VALUE:
        if (code === CLOSE_LIST) return this.#close(LIST);
        return this.#readValue(code);
      case VALUE:
        return this.#readValue(code);
      case FIRST_KEY:
        if (code === CLOSE_OBJECT) return this.#close(OBJECT);
        return this.#beginKey(code);
      case KEY:
        return this.#beginKey(code);
      case COLON:
        this.#at++;
        this.#state = VALUE;
        return code === COLON_SIGN;
      default:
        return this.#readNext(code);
    }
  }

  #readNext(code: number): boolean {
    if (this.#depth === 0) return false;
    const kind = this.#kinds[this.#depth];
    if (code !== COMMA) return code === (kind === LIST ? CLOSE_LIST : CLOSE_OBJECT) && this.#close(kind);
    this.#at++;
    this.#state = kind === LIST ? VALUE : KEY;
    return true;
  }

  #readValue(code: number): boolean {
    this.#values++;
    if (this.#cutDepth === this.#depth && this.#cutStart < 0 && this.#depth > 0) {
      this.#cutStart = this.#at;
      this.#cutBlanks = this.#blanks;
    }
    if (code === OPEN_OBJECT || code === OPEN_LIST) {
      this.#at++;
      this.#state = code === OPEN_LIST ? FIRST_VALUE : FIRST_KEY;
      // The caller reports one level too many.
      this.#kinds[++this.#depth] = code === OPEN_LIST ? LIST : OBJECT;
      return true;
    }
    if (code === QUOTE) {
      this.#at++;
      this.#state = STRING;
      return true;
    }
    const isRead = code === MINUS || isDigit(code) ? this.#readNumber() : this.#readLiteral(code);
    if (isRead) this.#endValue();
    return isRead;
  }

  #beginKey(code: number): boolean {
    this.#keyStart = this.#at++;
    this.#state = KEY_STRING;
    return code === QUOTE;
  }

  #close(kind: number | undefined): boolean {
    if (this.#depth === 0 || this.#kinds[this.#depth] !== kind) return false;
    this.#at++;
    this.#depth--;
    this.#endValue();
    return true;
  }

  #endValue(): void {
    this.#state = NEXT;
    if (this.#cutStart < 0 || this.#depth !== this.#cutDepth) return;
    this.#cuts.push({ start: this.#cutStart, end: this.#at, blanks: this.#blanks - this.#cutBlanks });
    this.#cutStart = -1;
    this.#cutDepth = 0;
  }

  /** Reads a string up to its end, or to `until` and the end of an escape there. */
  #readString(until: number): boolean {
    const text = this.#text;
    let at = this.#at;
    let plain = 0;
    while (at < until) {
      if (++plain > SHORT) {
        // V8's own search is several times as fast as this loop, but starts more slowly.
        const found = text.slice(at, until).search(SPECIAL);
        at = found < 0 ? until : at + found;
        plain = 0;
        continue;
      }
      const code = text.charCodeAt(at++);
      if (code === QUOTE) {
        this.#at = at;
        if (this.#state === KEY_STRING) this.#endKey();
        else this.#endValue();
        return true;
      }
      if (code < 32) return false;
      if (code !== BACKSLASH) continue;
      plain = 0;
      const escaped = text.charCodeAt(at++);
      if (escaped === LETTER_U) {
        for (const end = at + 4; at < end; at++) if (!isHex(text.charCodeAt(at))) return false;
      } else if (!ESCAPED.has(escaped)) return false;
    }
    this.#at = at;
    return true;
  }

  #endKey(): void {
    this.#state = COLON;
    if (this.#cutting === "none" || this.#cutStart >= 0) return;
    const depth = this.#depth;
    if (this.#cutting === "call") {
      if (depth === 1) this.#cutDepth = this.#isKey("arguments") ? 1 : 0;
    } else if (depth === 1) this.#isInCalls = this.#isKey("calls");
    else if (depth === 3 && this.#isInCalls && this.#kinds[2] === LIST)
      this.#cutDepth = this.#isKey("arguments") ? 3 : 0;
  }

  /** Whether the key that has ended is `name`, however it is escaped. */
  #isKey(name: string): boolean {
    const length = this.#at - this.#keyStart;
    // An escape takes at most six characters.
    if (length < name.length + 2 || length > 6 * name.length + 2) return false;
    return JSON.parse(this.#text.slice(this.#keyStart, this.#at)) === name;
  }

  #readLiteral(code: number): boolean {
    const word = LITERALS.get(code);
    if (word === undefined || !this.#text.startsWith(word, this.#at)) return false;
    this.#at += word.length;
    return true;
  }

  #readNumber(): boolean {
    const end = this.#endOfNumber();
    this.#isNumberLong = end - this.#at > NUMBER_MAX;
    if (end < 0 || this.#isNumberLong) return false;
    this.#at = end;
    return true;
  }

  /** End of the number at this place; -1 if there is no number. Digits beyond the limit are not read. */
  #endOfNumber(): number {
    const text = this.#text;
    let at = this.#at;
    if (text.charCodeAt(at) === MINUS) at++;
    const whole = at;
    at = afterDigits(text, at);
    if (at === whole || (text.charCodeAt(whole) === ZERO && at > whole + 1)) return -1;
    if (text.charCodeAt(at) === DOT) {
      const fraction = ++at;
      at = afterDigits(text, at);
      if (at === fraction) return -1;
    }
    const mark = text.charCodeAt(at);
    if (mark === LETTER_E || mark === CAPITAL_E) {
      const sign = text.charCodeAt(++at);
      if (sign === PLUS || sign === MINUS) at++;
      const exponent = at;
      at = afterDigits(text, at);
      if (at === exponent) return -1;
    }
    return at;
  }
}

function afterDigits(text: string, start: number): number {
  const end = start + NUMBER_MAX + 1;
  let at = start;
  while (at < end && isDigit(text.charCodeAt(at))) at++;
  return at;
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= NINE;
}

function isHex(code: number): boolean {
  return isDigit(code) || (code >= 65 && code <= 70) || (code >= 97 && code <= 102);
}

function excess(text: string): JsonVerdict {
  return { kind: "excess", excess: text };
}
