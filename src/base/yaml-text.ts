import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument, visit } from "yaml";

/** A place in a text, both counted from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** One mistake in a text, and its place where it has one. */
interface YamlProblem {
  readonly message: string;
  readonly position?: Position;
}

/** What is wrong with a text that is no YAML, or more than is read. Its message is that of the first problem. */
export class YamlError extends Error {
  override readonly name = "YamlError";
  readonly problems: readonly YamlProblem[];

  constructor(message: string, problems: readonly YamlProblem[] = [{ message }]) {
    super(message);
    this.problems = problems;
  }
}

/** The value of a document, and where its parts stand. */
export interface YamlText {
  readonly value: unknown;
  /** Where the value at a path stands, or else the nearest one around it. `key`: where its name does. */
  readonly positionOf: (path: readonly string[], part?: "value" | "key") => Position;
  /** The last line of the value at a path; nothing where there is none. */
  readonly lastLineOf: (path: readonly string[]) => number | undefined;
}

/** Few: each may stand for many. */
const ALIASES_MAX = 100;
/** Of all: for each, the parser looks through the document. */
const ALIASES_IN_ALL_MAX = 1_000;
const TOO_DEEP = "it is nested too deeply";

/**
 * The value of a document that is hostile input, in time that grows as it does. JSON is YAML as well. Throws a
 * `YamlError` whose message names no file.
 */
export function readYaml(text: string): unknown {
  return valueOf(parse(text, new LineCounter(), true));
}

/** The same, with the places of its parts. What its errors say shows nothing of the text around their place. */
export function readYamlText(text: string): YamlText {
  const lines = new LineCounter();
  const document = parse(text, lines, false);
  return { value: valueOf(document), ...places(document, lines) };
}

function parse(text: string, lines: LineCounter, prettyErrors: boolean): Document {
  let document: Document;
  try {
    // The parser compares each key with all others, which takes minutes where there are very many.
    document = parseDocument(text, { uniqueKeys: false, prettyErrors, lineCounter: lines });
  } catch {
    throw new YamlError(TOO_DEEP);
  }
  const [error] = document.errors;
  // The parser follows nesting by calling itself, and takes for the text's mistake that it cannot go on.
  if (error?.message.startsWith("Maximum call stack") === true) throw new YamlError(TOO_DEEP);
  if (error !== undefined) {
    const problems = document.errors.map(({ message, pos }) => ({ message, position: positionAt(lines, pos[0]) }));
    throw new YamlError(error.message, problems);
  }
  checkNodes(document, lines);
  return document;
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

function places(document: Document, lines: LineCounter): Omit<YamlText, "value"> {
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
  return node.items.find(({ key }) => String(isScalar(key) ? key.value : key) === name);
}

function checkNodes(document: Document, lines: LineCounter): void {
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
  if (repeated[0] !== undefined) throw new YamlError(repeated[0].message, repeated);
}
