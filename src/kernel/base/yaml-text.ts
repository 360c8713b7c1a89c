import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument, visit } from "yaml";
import { DIGITS_MAX, rawDigits } from "./exact-json.ts";

/** A position in a text; line and column start at 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** One mistake in a text, with its position if known. */
export interface YamlProblem {
  readonly message: string;
  readonly position?: Position;
}

/** A text that is not YAML or exceeds the limits. The message is that of the first problem. */
export class YamlError extends Error {
  override readonly name = "YamlError";
  readonly problems: readonly YamlProblem[];

  constructor(message: string, problems: readonly YamlProblem[] = [{ message }]) {
    super(message);
    this.problems = problems;
  }
}

/** The value of a document, with the positions of its parts. */
export interface YamlText {
  /** Long integers are the nearest numbers. */
  readonly value: unknown;
  /** The value with the digits of long integers, as `readYaml` has them. Other numbers too large for JSON are infinite. */
  readonly exact: () => unknown;
  /** Position of the value at a path (`key`: of its name), or else of the nearest value around it. */
  readonly positionOf: (path: readonly string[], part?: "value" | "key") => Position;
  /** The range of the value at a path in the text, as offsets (`key`: its name); `undefined` if it does not exist. */
  readonly rangeOf: (
    path: readonly string[],
    part: "value" | "key",
  ) => readonly [start: number, end: number] | undefined;
  /** Names that an object has more than once. The last value counts. Empty unless they are tolerated. */
  readonly repeated: readonly YamlProblem[];
  /** The last line of the value at a path; `undefined` if it does not exist. */
  readonly lastLineOf: (path: readonly string[]) => number | undefined;
}

/** Maximum expansion of one alias: each alias may expand to many nodes. */
const ALIASES_MAX = 100;
/** Maximum number of aliases in a document: for each, the parser searches the document. */
const ALIASES_IN_ALL_MAX = 1_000;
const INFINITE = /^[-+]?\.inf$/i;
/** Integers of YAML 1.2. */
const INTEGER = /^(?:[-+]?\d+|0o[0-7]+|0x[\da-f]+)$/i;
const SHOWN_MAX = 40;
const TOO_DEEP = "it is nested too deeply";

/**
 * The value of a YAML or JSON document from hostile input, in linear time. Integers beyond 2^53 − 1 are objects that
 * `JSON.stringify` writes as their digits. Throws a `YamlError` whose message names no file.
 */
export function readYaml(text: string): unknown {
  // Documents of APIs use merge keys, which YAML 1.2 has no more.
  const document = parse(text, new LineCounter(), true, true);
  keepDigits(document, "value", true);
  return valueOf(document);
}

/**
 * The same with the positions of its parts. Error messages do not quote the text around the mistake.
 * `toleratesRepeated`: repeated names in an object are listed, instead of refused.
 */
export function readYamlText(text: string, toleratesRepeated = false): YamlText {
  const lines = new LineCounter();
  const repeated: YamlProblem[] = [];
  const document = parse(text, lines, false, false, toleratesRepeated ? repeated : undefined);
  const value = valueOf(document);
  const exact = (): unknown => {
    keepDigits(document, "value", false);
    return valueOf(document);
  };
  return { value, exact, repeated, ...places(document, lines) };
}

function parse(
  text: string,
  lines: LineCounter,
  prettyErrors: boolean,
  merge = false,
  tolerated?: YamlProblem[],
): Document {
  let document: Document;
  try {
    // The parser's own check compares each key with all others: quadratic time. `checkNodes` checks them instead.
    document = parseDocument(text, { uniqueKeys: false, prettyErrors, lineCounter: lines, merge });
  } catch {
    throw new YamlError(TOO_DEEP);
  }
  const [error] = document.errors;
  // The parser recurses into nested values and reports its own stack overflow as a mistake in the text.
  if (error?.message.startsWith("Maximum call stack") === true) throw new YamlError(TOO_DEEP);
  if (error !== undefined) {
    const problems = document.errors.map(({ message, pos }) => ({ message, position: positionAt(lines, pos[0]) }));
    throw new YamlError(error.message, problems);
  }
  keepDigits(document, "key", true);
  const repeated = checkNodes(document, lines);
  if (repeated[0] !== undefined && tolerated === undefined) throw new YamlError(repeated[0].message, repeated);
  tolerated?.push(...repeated);
  return document;
}

/** Keeps the digits of long integers: as values for `JSON.stringify`, as names of members as text. */
function keepDigits(document: Document, of: "key" | "value", refuses: boolean): void {
  visit(document, {
    Scalar: (key, node) => {
      const { value, source = "" } = node;
      if ((key === "key") !== (of === "key")) return;
      if (typeof value !== "number" || Math.abs(value) <= Number.MAX_SAFE_INTEGER || INFINITE.test(source)) return;
      if (source.length > DIGITS_MAX) {
        if (!refuses) return;
        throw new YamlError(`it has a number of more than ${DIGITS_MAX} characters`);
      }
      if (!INTEGER.test(source)) {
        if (Number.isFinite(value) || !refuses) return;
        throw new YamlError(`it has the number ${source.slice(0, SHOWN_MAX)}, which is too large; write it as a text`);
      }
      const digits = String(BigInt(source.replace("+", "")));
      node.value = key === "key" ? digits : rawDigits(digits);
    },
  });
}

function positionAt(lines: LineCounter, offset: number): Position {
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(1, line), column: Math.max(1, col) };
}

function valueOf(document: Document): unknown {
  try {
    return document.toJS({ maxAliasCount: ALIASES_MAX }) as unknown;
  } catch (failure) {
    throw new YamlError(failure instanceof RangeError ? TOO_DEEP : "its aliases stand for too much");
  }
}

function places(document: Document, lines: LineCounter): Omit<YamlText, "value" | "exact" | "repeated"> {
  const find = (path: readonly string[]): { readonly keys: readonly Node[]; readonly isWhole: boolean } => {
    const keys: Node[] = [];
    let node: unknown = document.contents;
    for (const name of path) {
      const child = childOf(document, node, name);
      if (child === undefined) return { keys: [...keys, ...ofNode(node)], isWhole: false };
      keys.push(...ofNode(child.key));
      node = child.value;
    }
    return { keys: [...keys, ...ofNode(node)], isWhole: true };
  };
  return {
    positionOf: (path, part = "value") => {
      const { keys, isWhole } = find(path);
      const node = part === "key" && isWhole ? (keys.at(-2) ?? keys.at(-1)) : keys.at(-1);
      return positionAt(lines, node?.range?.[0] ?? 0);
    },
    rangeOf: (path, part) => {
      const { keys, isWhole } = find(path);
      const range = keys.at(part === "key" ? -2 : -1)?.range;
      return isWhole && range ? [range[0], range[1]] : undefined;
    },
    lastLineOf: (path) => {
      const { keys, isWhole } = find(path);
      const end = keys.at(-1)?.range?.[1];
      return isWhole && end !== undefined ? positionAt(lines, end).line : undefined;
    },
  };
}

function ofNode(node: unknown): readonly Node[] {
  return typeof node === "object" && node !== null && "range" in node ? [node as Node] : [];
}

function childOf(
  document: Document,
  given: unknown,
  name: string,
): { readonly key: unknown; readonly value: unknown } | undefined {
  const node = isAlias(given) ? given.resolve(document) : given;
  if (isSeq(node)) {
    const item = node.items[Number(name)];
    return item === undefined ? undefined : { key: item, value: item };
  }
  if (!isMap(node)) return undefined;
  return node.items.findLast(({ key }) => String(isScalar(key) ? key.value : key) === name);
}

/** The names that an object has more than once. Throws a `YamlError` if there are too many aliases. */
function checkNodes(document: Document, lines: LineCounter): readonly YamlProblem[] {
  let aliases = 0;
  const repeated: YamlProblem[] = [];
  visit(document, {
    Alias: () => {
      if (++aliases > ALIASES_IN_ALL_MAX) throw new YamlError(`it has more than ${ALIASES_IN_ALL_MAX} aliases`);
    },
    Map: (_key, { items }) => {
      const keys = new Set<unknown>();
      for (const { key } of items) {
        const name: unknown = isScalar(key) ? key.value : key;
        if (keys.has(name)) {
          const message = `map keys must be unique: ${JSON.stringify(String(name)).slice(0, 100)}`;
          repeated.push({ message, position: positionAt(lines, ofNode(key)[0]?.range?.[0] ?? 0) });
        }
        keys.add(name);
      }
    },
  });
  return repeated;
}
